"""Each bar, line and word of the stills stands for what it is called."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.moe import exchange_time, layer_time, load_balancing
from llmserve_lab.moe.page import overlap, playground, stills
from llmserve_lab.moe.routing_sampler import popular
from tests.page import drawn, seen
from tests.page.cells import lines as table_lines
from tests.page.cells import number, says
from tests.page.plot import pictured
from tests.page.stills import MADE_OF


def ink_of(text: Any) -> str:
    return str(seen._name(text.get_color()))


def test_each_bar_of_a_layer_s_time() -> None:
    """Named, as long as its number, after the one before; both panels of the table."""
    table = {row["GPUs"]: row for row in table_lines(layer_time.rate_table())}
    panels, said = pictured(overlap.timeline)
    assert [p.get_title(loc="left") for p in panels] == ["16 GPUs", "32 GPUs"]
    for panel in panels:
        row = table[panel.get_title(loc="left").split()[0]]
        lanes = {
            t: label.get_text()
            for t, label in zip(
                panel.get_yticks(), panel.get_yticklabels(), strict=True
            )
        }
        found: dict[str, list[tuple[float, float, str, Any]]] = {}
        for bar in panel.patches:
            lane = lanes[bar.get_y() + bar.get_height() / 2]
            x, wide = bar.get_x(), bar.get_width()
            (text,) = (
                t.get_text()
                for t in panel.texts
                if x < t.get_position()[0] < x + wide
                and abs(t.get_position()[1] - bar.get_y() - 0.45) < 0.1
            )
            found.setdefault(lane, []).append((x, wide, text, bar.get_facecolor()))
        parts = found["in sequence"]
        heads = ("experts", "rest", "sending")
        for head, (_, wide, text, _) in zip(heads, parts, strict=True):
            assert says(row[head], wide) and says(text.split()[-1], wide)
            assert text.split()[0] in (head, row[head])
        assert all(a[0] + a[1] == pytest.approx(b[0]) for a, b in pairwise(parts))
        beat = max(float(row["half works"]), float(row["half sends"]))
        for lane, head, words in (
            ("halves: GPU", "half works", ("work on half 1", "work on half 2")),
            ("halves: links", "half sends", ("send half 2", "send half 1")),
        ):
            for i, (x, wide, text, _) in enumerate(found[lane]):
                assert x == pytest.approx(i * beat) and says(row[head], wide)
                assert text == f"{words[i]}: {row[head]}"
        assert found["halves: links"][0][3] == parts[2][3]  # sending has one colour
        assert len({p[3] for p in parts}) == 3
        ends = {t.get_text() for t in panel.texts if t.get_fontweight() == "bold"}
        assert {row["in sequence"], f"{2 * beat:.0f}"} == ends
    for gpus, row in table.items():
        if f"on {gpus} GPUs" in said:
            one, both = row["in sequence"], row["overlapped"]
            told = f"on {gpus} GPUs {one} µs in sequence, {both} µs overlapped"
            assert told in said


def test_each_curve_of_the_deadlines_is_the_group_of_its_ink() -> None:
    """At a deadline a GPU writes as many tokens as requests that fit; dots say so."""
    (panel,), said = pictured(overlap.deadlines)
    inks = {t.get_text(): ink_of(t) for t in panel.texts}
    curves = drawn.lines(panel)
    for gpus in (16, 64):
        ink = inks[f"{gpus} GPUs"]
        most = layer_time.promised_rows(layer_time.in_turn_s, float(gpus))
        assert inks[f"{most} requests"] == ink
        took = 58 * layer_time.in_turn_s(float(gpus), float(most))
        again = 58 * layer_time.in_turn_s(float(gpus), float(most + 1))
        assert took <= 25e-3 < again
        line, dot = sorted(curves[ink], key=len, reverse=True)
        ((due_ms, rate),) = dot
        assert due_ms == 25 and rate == pytest.approx(1e3 * most / 25)
        at = dict(line)
        assert at[25.0] * 25e-3 == pytest.approx(most, abs=1.01)
        due = 58 * layer_time.in_turn_s(float(gpus), at[40.0] * 40e-3)
        assert due == pytest.approx(40e-3, rel=0.01)
    uprights = sorted(
        p[0][0]
        for each in curves.values()
        for p in each
        if p[0][0] == p[-1][0] and len(p) == 2
    )
    assert uprights == [25, 40] and {"25 ms", "40 ms"} <= inks.keys()
    for text in panel.texts:
        if text.get_text().endswith(" ms"):
            assert 0 < float(text.get_text()[:-3]) - text.get_position()[0] < 1
    small, large = (
        layer_time.promised_rows(layer_time.in_turn_s, g) for g in (16.0, 64.0)
    )
    assert f"takes {small} requests in a group of 16 and {large} in one of 64" in said


def test_each_panel_of_the_loads_is_the_placement_that_it_is_called() -> None:
    """In order, GPU by GPU; sorted, more level; with replicas most, of all choices."""
    known = MADE_OF["moe.stills.loads"]
    panels, said = pictured(lambda: stills.loads(**known))
    rows, gpus = known["rows"], known["num_ranks"]
    found = {p.get_title(): np.asarray(p.patches[0].get_data().values) for p in panels}
    in_order = np.asarray(rows).reshape(gpus, -1).sum(axis=1)
    assert sorted(in_order, reverse=True) == found["in order"].tolist()
    assert [*found] == ["in order", "heaviest first", f"{known['extra']} replicas more"]
    assert all(load.sum() == pytest.approx(sum(rows)) for load in found.values())
    level = {name: load.mean() / load.max() for name, load in found.items()}
    assert [*level.values()] == sorted(level.values()) and level["in order"] < 0.9
    for name, balance in level.items():
        assert says(re.findall(rf"{name} ([\d.]+)", said)[0], balance)


def test_each_line_of_the_exchange_is_the_way_that_is_written_at_its_end() -> None:
    (panel,), said = pictured(stills.exchange)
    start = exchange_time.start_s()
    styles = {"model": ("-", start), "wire alone": (":", 0.0)}
    named = 0
    for text in panel.texts:
        way, _, what = text.get_text().partition(", ")
        style, start_s = styles[what]
        mine = [x for x in panel.lines if seen._name(x.get_color()) == ink_of(text)]
        (line,) = (x for x in mine if x.get_linestyle() == style)
        (dots,) = (x for x in mine if x.get_linestyle() == "None")
        assert text.xy[1] == line.get_ydata()[-1]
        for run, (gpus, micro), (at, took) in zip(
            ALL_TO_ALL, line.get_xydata(), dots.get_xydata(), strict=True
        ):
            seconds = exchange_time.seconds(way, gpus, start_s=start_s)
            assert micro == pytest.approx(1e6 * seconds) and gpus == at == run.ep
            published = {"dispatch": run.dispatch_s, "combine": run.combine_s}[way]
            assert took == pytest.approx(1e6 * float(published))
        named += 1
    assert named == 4
    errors = [e.error for e in exchange_time.compared()]
    worst = max(errors, key=abs)
    assert f"{100 * np.mean(np.abs(errors)):.0f} % off on average" in said
    assert (
        f"the worst, {100 * abs(worst):.1f} %, is too {'low' if worst < 0 else 'high'}"
        in said
    )


def test_each_panel_of_the_routers_drops_what_is_above_the_capacity() -> None:
    found = load_balancing.methods()
    panels, said = pictured(stills.balanced)
    assert [panel.get_title() for panel in panels] == [*found]
    for panel in panels:
        loads = np.sort(found[panel.get_title()].loads)[::-1]
        capacity = 1.25 * loads.mean()
        whole, kept = (np.asarray(p.get_data().values) for p in panel.patches)
        assert whole.tolist() == loads.tolist()
        assert kept == pytest.approx(np.minimum(loads, capacity))
        dropped = 100 * (whole - kept).sum() / whole.sum()
        assert f"{panel.get_title()}: {dropped:.0f} % dropped" in said.lower()
    (text,) = (t for t in panels[0].texts if t.get_text() == "dropped")
    assert text.get_position()[1] > 1.25 * np.mean(found["left alone"].loads)


def test_each_column_of_the_bench_is_of_its_placement() -> None:
    settings = {"n_experts": 64, "top_k": 4, "num_ranks": 16, "n_rows": 512}
    settings |= {"steepness": 100, "extra": 16, "seed": 3}
    rows = popular(n_experts=64, n_rows=512, top_k=4, steepness=1.0, seed=3)
    in_order = np.asarray(rows).reshape(16, -1).sum(axis=1)
    html = playground._show(**settings)
    cells = [
        each
        for each in re.findall(
            r"<t[dh][^>]*>(?:<[^>]+>)*([^<]*)", html.partition("<thead")[2]
        )
        if each.strip()
    ]
    at = cells.index("in order")
    assert cells[:4] == [
        "experts housed",
        "rows, mean",
        "rows, busiest",
        "balancedness",
    ]
    mean, busiest, level = (number(cell)[0] for cell in cells[at + 1 : at + 4])
    assert mean == pytest.approx(in_order.mean(), rel=1e-3)
    assert busiest == pytest.approx(in_order.max(), rel=1e-3)
    assert level == pytest.approx(in_order.mean() / in_order.max(), rel=1e-3)
