"""The points of the chapter: their middle is one, and the title says where they lie."""

import csv
import io
import re
from collections import defaultdict

import pytest

from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page import charts, controls, figures
from llmserve_lab.how_wrong.record import SWITCHES
from llmserve_lab.validation import dense_rows
from tests.page import drawn


@pytest.mark.parametrize("column", charts._columns())
def test_as_many_points_lie_above_a_diamond_as_below_it(column: str) -> None:
    """At most half of an engine's rows with as many clients are on either side."""
    lines = csv.DictReader(io.StringIO("\n".join(charts._lines())))
    own = defaultdict[tuple[str, float], list[float]](list)
    for line, row in zip(lines, dense_rows(), strict=True):
        if line[column]:
            engine = list(charts.ENGINE_INKS).index(row.engine)
            place = row.clients * 2 ** (charts.APART * (engine - 1))
            own[NAMES[row.engine], round(place, 6)].append(float(line[column]))
    diamonds = {
        (each["g"], round(each["c"], 6)): each[column]
        for each in charts._medians()
        if column in each
    }
    assert set(diamonds) == set(own)
    for where, middle in diamonds.items():
        above = sum(error > middle + 1 for error in own[where])
        below = sum(error < middle - 1 for error in own[where])
        assert max(above, below) <= len(own[where]) / 2, where


def test_the_title_names_the_side_to_which_each_engine_leans() -> None:
    """A prediction that is too short has a negative error."""
    figure = figures.residuals()
    said = re.findall(r"[Tt]oo (short|long) for ([\w-]+)", figure.title)
    known = figure.values()
    leans = {"vLLM": known["vllm_bias"], "TensorRT-LLM": known["tensorrt_bias"]}
    assert {name: side for side, name in said} == {
        name: "short" if lean < 0 else "long" for name, lean in leans.items()
    }


def bars(place: int) -> list[dict[str, dict[str, float]]]:
    """Bars from top to bottom by kind, the switches as on a rung: lengths and texts.

    The kind of an ink is that of the legend.
    """
    scale = figures.ladder().spec["layer"][0]["encoding"]["color"]["scale"]
    kinds = dict(zip(scale["range"], scale["domain"], strict=True))
    on = [controls.ON] * place + [controls.OFF] * (len(SWITCHES) - place)
    turned = dict(zip(SWITCHES, on, strict=True))
    rects = drawn.marks(figures.ladder(), "rect", **turned)
    words = drawn.marks(figures.ladder(), "text", **turned)
    found = []
    for one, other in zip(rects[::2], rects[1::2], strict=True):
        pair = {}
        for bar in (one, other):
            (said,) = (w for w in words if abs(w["y"] - _middle(bar)) < 2)
            pair[kinds[bar["fill"]]] = {
                "long": bar["width"],
                "said": float(said["text"]),
            }
        found.append(pair)
    return found


def _middle(bar: dict[str, float]) -> float:
    return bar["y"] + bar["height"] / 2


@pytest.mark.parametrize("place", range(len(SWITCHES) + 1))
def test_the_own_bars_are_those_of_the_rung_with_the_same_switches(place: int) -> None:
    """By kind; and every length is the number beside it, on one scale."""
    *rungs, own = bars(place)
    assert len(rungs) == len(SWITCHES) + 1
    for kind in ("TPOT", "TTFT"):
        assert own[kind]["said"] == pytest.approx(rungs[place][kind]["said"], abs=0.06)
        assert own[kind]["long"] == pytest.approx(rungs[place][kind]["long"], abs=0.5)
        for rung, step in zip(rungs, figures.steps(), strict=True):
            mean = 100 * step[1 if kind == "TPOT" else 2]
            assert rung[kind]["said"] == pytest.approx(mean, abs=0.06)
    scales = [b["long"] / b["said"] for pair in (*rungs, own) for b in pair.values()]
    assert max(scales) == pytest.approx(min(scales), rel=0.01)


def test_the_own_bars_are_the_readouts() -> None:
    known, own = figures.ladder().values(), bars(1)[-1]
    shown = {r.label.split()[-1]: known[r.name] for r in figures.ladder().readouts}
    assert {kind: bar["said"] for kind, bar in own.items()} == pytest.approx(shown)


@pytest.mark.parametrize("left", ["the engine", "all rows (datasheet, no fit)"])
@pytest.mark.parametrize(
    "kind", ["time per output token (TPOT)", "time to first token (TTFT)"]
)
def test_nearly_all_points_are_on_the_axis_and_spread_over_it(
    kind: str, left: str
) -> None:
    """What lies beyond an end of the axis is cut off."""
    points = [
        each["y"]
        for each in drawn.marks(figures.residuals(), "symbol", kind=kind, left=left)
        if each["shape"] == "square"
    ]
    height = figures.residuals().spec["height"]
    inside = [y for y in points if 0 <= y <= height]
    assert len(inside) > 0.8 * len(points) > 300
    assert max(inside) - min(inside) > 0.4 * height
