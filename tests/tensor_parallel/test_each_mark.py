"""Each bar, line, dot and rule of the live charts stands for what it is called."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence.collectives import ENGINE_LIMITS, ENGINE_RUNS
from llmserve_lab.collectives import calibration
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.live import registry
from llmserve_lab.tensor_parallel import published
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import DEVICE, MODEL, all_reduce_times
from llmserve_lab.tensor_parallel.page import charts, playground, stills
from tests.page import drawn
from tests.page.cells import says
from tests.page.plot import Plot

ROW = 2 * 8192  # bytes of a token vector
FIGURES = registry.figures()


def engine_ms(gpus: int, batch: int, context: int) -> float:
    load = IterationLoad.of(chunk=1, context=context).times(batch)
    return 1e3 * running_example.served_by(MODEL, DEVICE, tp=gpus).seconds(load)


@pytest.mark.parametrize(("gpus", "batch"), [(4, 1), (8, 64)])
def test_each_bar_of_an_iteration_is_its_part_at_its_degree(
    gpus: int, batch: int
) -> None:
    """Work, then all-reduces, then the rest up to the engine's time of all."""
    figure = FIGURES["tensor_parallel.tp_time"]()
    plot = Plot(figure, n_ranks=float(gpus), batch=float(batch))
    bars: dict[int, list[tuple[float, str]]] = {}
    for x, y, item in plot.of("rect"):
        at = int(plot.x.near(x + item["width"] / 2))
        whole = round(plot.y.at(y) - plot.y.at(y + item["height"]), 2)
        ink = item["ink"]
        name = plot.legend.get(ink, ink) if item.get("fill") != "transparent" else ink
        bars.setdefault(at, []).append((whole, name))
    said = {int(plot.x.near(x)): item["text"] for x, _, item in plot.of("text")}
    assert {*bars} == {*said} == {1, 2, 4, 8}
    for at, found in bars.items():
        room = at > 1 and batch * 1000 < worked.cached_tokens(at)
        assert (said[at] == "no room") != room
        if not room:
            (only,) = found
            assert only[1] == "grey"  # an outline
            continue
        all_ms = engine_ms(at, batch, 1000)
        work, sends = (
            1e3 * worked.work_s(at, batch=batch),
            160e3 * all_reduce_times(at, batch * ROW)["fastest_s"],
        )
        assert says(said[at], all_ms / 1e3)
        parts = {"work of each GPU": work, "all-reduces": sends}
        parts["the rest"] = all_ms - work - sends
        framed = [size for size, name in found if name == "ink"]
        assert framed == ([pytest.approx(all_ms, abs=0.05)] if at == gpus else [])
        shown = {name: size for size, name in found if name != "ink"}
        assert shown == pytest.approx(parts, abs=0.05), at


def test_one_gpu_alone_adds_nothing_up() -> None:
    figure = FIGURES["tensor_parallel.tp_time"]()
    plot = Plot(figure, model="Llama-3.1-8B", n_ranks=2.0)
    sends = {
        int(plot.x.near(x + item["width"] / 2)): item["height"]
        for x, _, item in plot.of("rect")
        if plot.legend.get(item["ink"]) == "all-reduces"
    }
    assert sends[1] == 0 < sends[2] and len(sends) == 4


def test_each_readout_of_an_iteration_is_what_it_is_called() -> None:
    figure = FIGURES["tensor_parallel.tp_time"]()
    names = {each.label: each.name for each in figure.readouts}
    for gpus, batch, context in ((4, 1, 1000), (8, 128, 8192), (2, 32, 1000)):
        changes = {"n_ranks": gpus, "batch": batch, "context": context}
        known = figure.values(**{k: float(v) for k, v in changes.items()})
        held = worked.stored_bytes() + batch * context * 327_680
        fits = held / gpus < known["hbm_bytes"]
        told = {
            "Iteration": engine_ms(gpus, batch, context) / 1e3,
            "All-reduces": 160 * all_reduce_times(gpus, batch * ROW)["fastest_s"],
            "In its memory": float(not fits),
        }
        if context == 1000:
            told["Work of each GPU"] = worked.work_s(gpus, batch=batch)
        assert told.keys() <= names.keys() <= {*told, "Work of each GPU"}
        for label, want in told.items():
            assert known[names[label]] == pytest.approx(want, rel=1e-6), label
        said = figure.caption(**{k: float(v) for k, v in changes.items()})
        assert (": it fits." in said) == fits and (": it does not fit." in said) != fits


WAYS = {
    "NCCL all-reduce": "all_reduce_s",
    "one-shot": "one_shot_s",
    "in-switch": "in_switch_s",
}


@pytest.mark.parametrize("gpus", [8, 4])
def test_each_line_dot_and_rule_of_an_all_reduce(gpus: int) -> None:
    """Lines are the fitted ways, dots an engine's runs, rules its limits."""
    figure = FIGURES["tensor_parallel.all_reduce"]()
    plot = Plot(figure, n_ranks=float(gpus), n_rows=16.0)
    lines = plot.lines()
    two = charts.two_shots("g", "b")
    assert {*lines} == {*WAYS} | ({"two-shot (two steps)"} if gpus == 4 else set())
    for name, points in lines.items():
        for nbytes, micro in points[::7]:
            if not (4100 < nbytes < 9e7 and 2.1 < micro < 1900):
                continue
            if name in WAYS:
                want = all_reduce_times(gpus, nbytes)[WAYS[name]]
            else:
                want = two.value({"g": float(gpus), "b": nbytes})
            assert micro == pytest.approx(1e6 * want, rel=0.01), (name, nbytes)
    runs = {
        (float(run.nbytes), 1e6 * float(run.seconds))
        for run in ENGINE_RUNS
        if run.n_gpus == gpus and 4096 <= run.nbytes <= calibration.LARGEST
    }
    dots = sorted((x, plot.y.at(y)) for _, x, y in plot.points())
    assert len(dots) == len(runs)
    for dot, run in zip(dots, sorted(runs), strict=True):
        assert dot == pytest.approx(run, rel=0.01)
    limits = ENGINE_LIMITS[gpus]
    sizes = {float(n) for n in (limits.one_shot, limits.two_shot, limits.in_switch)}
    rules = plot.rules()
    assert rules.pop("the tokens chosen") == pytest.approx(16 * ROW, rel=0.01)
    told = {"KiB": 1024, "MiB": 1024**2}
    said = {
        float(text.split()[0]) * told[text.split()[1]]: x for text, x in rules.items()
    }
    assert {*said} == sizes
    assert said == pytest.approx({size: size for size in sizes}, rel=0.01)


def test_each_readout_of_an_all_reduce_is_its_way() -> None:
    figure = FIGURES["tensor_parallel.all_reduce"]()
    labels = {"One-shot": "one_shot_s", "In-switch": "in_switch_s"}
    labels["NCCL all-reduce"] = "all_reduce_s"
    for gpus, rows in ((8, 1), (4, 64)):
        known = figure.values(n_ranks=float(gpus), n_rows=float(rows))
        times = all_reduce_times(gpus, rows * ROW)
        assert {each.label for each in figure.readouts} == {*labels}
        for each in figure.readouts:
            assert known[each.name] == pytest.approx(times[labels[each.label]])
        said = figure.caption(n_ranks=float(gpus), n_rows=float(rows))
        places = [
            said.find(words) for words in ("in one shot", "in the switch", "by NCCL")
        ]
        assert places == sorted(places) and min(places) > 0
        order = ("one_shot_s", "in_switch_s", "all_reduce_s")
        for place, name in zip(places, order, strict=True):
            before = said[:place].replace(" and ", ", ").rstrip().split(", ")[-1]
            assert says(before.split("takes ")[-1], times[name]), said


def known_at(gpus: int, batch: int, context: int) -> dict[str, Any]:
    load = {"batch": batch, "context": context}
    _, known = playground._picture(
        model=MODEL.name, accelerator=DEVICE.name, tp=gpus, **load
    )
    return known


def test_each_bar_of_the_bench_is_its_part_at_its_degree() -> None:
    """Work below, the rest above; dashed and called so where nothing has room."""
    known = known_at(4, 16, 1000)
    (panel,) = drawn.panels(lambda: stills.degrees("t", known, (1, 2, 4, 8)))
    bars = [bar for bars in panel.containers for bar in bars]
    names = [label.get_text() for label in panel.get_xticklabels()]
    assert names == ["1", "2", "4", "8"]
    kinds = [text.get_text() for text in panel.get_legend().get_texts()]
    inks = [h.get_facecolor() for h in panel.get_legend().get_patches()]
    full = [t.get_text() for t in panel.texts]
    assert full == ["no room"]
    for place, name in enumerate(names):
        low, high = (
            b for b in bars if abs(b.get_x() + b.get_width() / 2 - place) < 0.1
        )
        all_ms = engine_ms(int(name), 16, 1000)
        assert low.get_height() == pytest.approx(
            1e3 * worked.work_s(int(name), batch=16)
        )
        assert high.get_y() + high.get_height() == pytest.approx(all_ms)
        if int(name) > 1:
            called = [kinds[inks.index(b.get_facecolor())] for b in (low, high)]
            assert called == ["work of each GPU", "overhead"]
        assert low.get_fill() == high.get_fill() == (int(name) > 1)
    said = stills.degrees("t", known, (4,)).sentence
    assert says(said.partition("takes ")[2], engine_ms(4, 16, 1000) / 1e3)


def test_the_bench_says_what_fits_and_whether_its_goal_is_reached() -> None:
    for gpus, batch, context in (
        (2, 16, 1000),
        (8, 64, 8192),
        (4, 64, 8192),
        (1, 1, 0),
    ):
        known = known_at(gpus, batch, context)
        said = playground.verdict(MODEL.name, known)
        held = (worked.stored_bytes() + batch * context * 327_680) / gpus
        assert says(said.partition("holds ")[2], held)
        assert ("does not fit" in said) == (held > float(known["hbm_bytes"]))
        asked = batch >= 64 and context >= 8192 and held <= float(known["hbm_bytes"])
        fast = engine_ms(gpus, batch, context) <= 30
        assert ("goal is reached" in said) == (asked and fast)


def test_each_mark_of_the_gains_is_of_its_doubling() -> None:
    """Ink, marker and name go together, from few GPUs to many."""
    (panel,) = drawn.panels(stills.gains)
    named = {line.get_label(): line for line in panel.lines}
    diagonal = named.pop("predicted = measured")
    assert all(x == y for x, y in diagonal.get_xydata())
    assert {*named} == {"1 → 2 GPUs", "2 → 4 GPUs", "4 → 8 GPUs"}
    for name, line in named.items():
        degree = int(name.split()[2])
        assert line.get_marker() == stills.MARKS[degree]
        pairs = [
            p for p in published.doublings() if f"{p.row.tp} → {p.n_gpus} GPUs" == name
        ]
        near = {
            (round(50 * p.measured) / 50, round(50 * p.predicted) / 50) for p in pairs
        }
        assert {(float(x), float(y)) for x, y in line.get_xydata()} == near
    means = [sum(x for x, _ in line.get_xydata()) for line in named.values()]
    assert len(means) == 3 and len({*pairwise(means)}) == 2
    assert catalog.model("llama-3.1-70b") == MODEL
