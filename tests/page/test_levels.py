"""A line across a panel of a still stands at what the page says that it stands for.

A limit, a target, a mean: each is asked for once more, in the units of its axis, and
not where the picture took it from. Panels that share a caption are easily exchanged.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from llmserve_lab.capacity import day
from llmserve_lab.capacity.trace import azure_hour
from llmserve_lab.catalog import ACCELERATORS, machine
from tests.page.drawn import PACKAGE, inks, lines, panels
from tests.page.stills import MADE_OF, STILLS

Level = tuple[str, float]  # "level" or "upright", and where in the units of its axis
H100 = machine(ACCELERATORS["h100-sxm"])
ONE = {("level", 1.0)}  # neither faster nor slower
PAPER = "#ffffff"  # lines that part cells


def levels(panel: Any) -> set[Level]:
    """Every line that runs from edge to edge."""
    found = set[Level]()
    for line in panel.lines:
        if line.get_transform() == panel.transData or line.get_color() == PAPER:
            continue
        (x, *_), (y, *_) = line.get_data()
        flat = line.get_transform() == panel.get_yaxis_transform(which="grid")
        found.add(("level", float(y)) if flat else ("upright", float(x)))
    return found


def said(panel: Any) -> str:
    """Every word of a panel."""
    return " ".join(text.get_text() for text in panel.texts)


def heights(panel: Any) -> Any:
    """Of each bar of stairs: where they are cut off, as they were before."""
    stairs = [np.asarray(patch.get_data().values) for patch in panel.patches]
    return max(stairs, key=np.sum)


def crossing(panel: Any) -> set[Level]:
    """Where INT4 is no longer ahead of FP8, by the lines in their inks; equality."""
    curves = {ink: dict(points[0]) for ink, points in lines(panel).items()}
    one, other = (curves[inks(panel)[f"{bits} weights"]] for bits in ("INT4", "FP8"))
    return ONE | {("upright", min(x for x in one if one[x] <= other[x]))}


def at_mean(times: float) -> Callable[[Any], set[Level]]:
    """A level at so many times the mean of all bars."""
    return lambda panel: {("level", float(times * heights(panel).mean()))}


def looked_at(_: Any) -> set[Level]:
    """Mean of what a slot holds: short requests and long ones come equally often."""
    held = [
        prompt + step for prompt, steps in ((4, 3), (14, 9)) for step in range(steps)
    ]
    return {("level", float(np.mean(held)))}


def hour(panel: Any) -> set[Level]:
    """Requests over the seconds in which they came; and as many times as is said."""
    arrivals = [each.arrival_s for each in azure_hour()]
    mean = len(arrivals) / max(arrivals)
    (times,) = re.findall(r"([\d.]+) times", said(panel))
    return {("level", mean), ("level", mean * float(times))}


def peak(_: Any) -> set[Level]:
    """As many replicas as the busiest hour needs."""
    rate = MADE_OF["capacity.stills.whole_day"]["replica_rate"]
    return {("level", rate * float(np.ceil(max(day.hourly_rates()) / rate)))}


def kept(panel: Any) -> set[Level]:
    """Nine in ten, and the rate at which that many keep both targets."""
    (both,) = (line for line in panel.lines if line.get_label() == "both")
    rates, shares = both.get_data()
    above = [rate for rate, share in zip(rates, shares, strict=True) if share >= 0.9]
    (at,) = (float(x) for way, x in levels(panel) if way == "upright")
    first_below = rates[list(rates).index(above[-1]) + 1]
    assert above[-1] <= at <= first_below
    return {("level", 0.9), ("upright", at)}


RIDGE = float(H100["peak_flops"]) / float(H100["hbm_bw"])
LEVELS: dict[tuple[str, int], Callable[[Any], set[Level]]] = {
    ("afd.pictures.looked_at", 0): looked_at,
    ("afd.pictures.over_targets", 0): lambda _: {("level", 0.0), ("upright", 38.0)},
    ("afd.pictures.over_targets", 1): lambda _: {("level", 0.0), ("upright", 44.0)},
    ("afd.speeds.over_speeds", 0): lambda _: {("level", 0.0)},
    ("capacity.stills.hour", 0): hour,
    ("capacity.stills.kept", 0): kept,
    ("capacity.stills.signals", 0): lambda _: {("upright", 0.1)},  # nine in ten
    ("capacity.stills.whole_day", 0): peak,
    ("continuous_batching.stills.budgets", 0): lambda _: {("level", 100.0)},  # ms
    ("flash_attention.pictures.rooms", 0): lambda _: {("upright", 227.0)},  # shared
    ("flash_attention.pictures.rooms", 1): lambda _: {("upright", 256.0)},  # registers
    ("how_wrong.pictures.held", 0): lambda _: {("upright", 90.0)},
    **{("moe.stills.balanced", i): at_mean(1.25) for i in range(3)},
    **{("moe.stills.loads", i): at_mean(1) for i in range(3)},
    ("quantization.stills.gains", 0): crossing,
    **{("quantization.stills.gains", i): lambda _: ONE for i in (1, 2)},
    ("roofline.one_gpu.reached", 0): lambda _: {("upright", RIDGE)},  # rows, in BF16
}
CALL = re.compile(r"\.ax[hv]line\(")
# Calls in a chapter's drawings, so that a new line is read here, too.
CALLS = {
    "afd.pictures": 3,
    "afd.speeds": 1,
    "capacity.stills": 5,
    "continuous_batching.stills": 1,
    "flash_attention.pictures": 1,
    "how_wrong.pictures": 2,  # one of them takes long; a test of the chapter reads it
    "moe.stills": 2,
    "quantization.stills": 2,
    "roofline.one_gpu": 1,
}
# Zero where errors are drawn, one where speeds are; pictures of a bench; deadlines,
# and lines between cells.
PLAIN = {
    "deepseek.evidence": 1,
    "deepseek.playground": 1,
    "how_wrong.playground": 1,
    "kv_memory.pictures": 1,
    "moe.overlap": 1,
    "quantization.playground": 1,
    "roofline.stills": 1,
    "speculative.stills": 2,
    "varlen.stills": 1,
}


@pytest.mark.parametrize("still", sorted({still for still, _ in LEVELS}))
def test_a_line_across_a_panel_stands_at_what_it_stands_for(still: str) -> None:
    for place, panel in enumerate(panels(STILLS[still])):
        want = LEVELS.get((still, place), lambda _: set())(panel)
        found = sorted(levels(panel))
        assert [way for way, _ in found] == [way for way, _ in sorted(want)]
        for (_, at), (_, right) in zip(found, sorted(want), strict=True):
            assert at == pytest.approx(right, rel=0.01), (place, at)


def test_every_line_across_a_panel_is_read() -> None:
    found = {
        f"{path.parts[-3]}.{path.stem}": len(CALL.findall(path.read_text("utf8")))
        for path in PACKAGE.glob("*/page/*.py")
    }
    assert {name: n for name, n in found.items() if n} == CALLS | PLAIN
