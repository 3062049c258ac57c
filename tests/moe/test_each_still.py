"""Each bar, line and word of the stills stands for what it is called."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.moe import (
    deadline,
    exchange_time,
    kernel_time,
    layer_time,
    load_balancing,
)
from llmserve_lab.moe.page import overlap, playground, stills
from llmserve_lab.moe.routing_sampler import popular
from tests.page import drawn, seen
from tests.page.cells import number, says
from tests.page.plot import pictured
from tests.page.stills import MADE_OF


def ink_of(text: Any) -> str:
    return str(seen._name(text.get_color()))


def test_each_curve_of_the_deadlines_is_the_group_of_its_ink() -> None:
    """At a deadline a GPU writes as many tokens as requests that fit; dots say so."""
    (panel,), said = pictured(overlap.deadlines)
    inks = {t.get_text(): ink_of(t) for t in panel.texts}
    curves = drawn.lines(panel)
    fixed_s = kernel_time.kernels_s()

    def token_s(gpus: float, requests: float) -> float:
        return 58 * layer_time.in_turn_s(gpus, requests) + fixed_s

    for gpus in (16.0, 64.0):
        ink = inks[f"{gpus:.0f} GPUs"]
        most = deadline.promised_rows(deadline.in_turn_s, gpus)
        assert inks[f"{most} request{'s' * (most > 1)}"] == ink
        assert token_s(gpus, float(most)) <= 30e-3 < token_s(gpus, float(most + 1))
        line, dot = sorted(curves[ink], key=len, reverse=True)
        ((due_ms, rate),) = dot
        assert due_ms == 30 and rate == pytest.approx(1e3 * most / 30)
        at = dict(line)
        assert at[30.0] * 30e-3 == pytest.approx(most, abs=1.01)
        due = token_s(gpus, at[48.0] * 48e-3)
        assert due == pytest.approx(48e-3, rel=0.01)
    small, large = (
        dict(sorted(curves[inks[f"{g} GPUs"]], key=len)[-1]) for g in (16, 64)
    )
    assert small[25.0] == 0 and large[25.0] * 25e-3 == pytest.approx(12, abs=1)
    assert small[48.0] == pytest.approx(large[48.0], rel=0.02)
    uprights = sorted(
        p[0][0]
        for each in curves.values()
        for p in each
        if p[0][0] == p[-1][0] and len(p) == 2
    )
    assert uprights == [30, 48] and {"30 ms", "48 ms"} <= inks.keys()
    for text in panel.texts:
        if text.get_text().endswith(" ms"):
            assert 0 < float(text.get_text()[:-3]) - text.get_position()[0] < 1
    few, many = (deadline.promised_rows(deadline.in_turn_s, g) for g in (16.0, 64.0))
    assert f"takes {few} request in a group of 16 and {many} in one of 64" in said


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
