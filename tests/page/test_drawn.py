"""A time that is written into a drawing has the unit of its axis, or is a readout's."""

import re
from pathlib import Path
from typing import Any

import pytest

import llmserve_lab
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from tests.page import drawn

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
TIME = re.compile(r"(?:even at )?([\d.,]+) (µs|ms|s)( without a token)?")
PACKAGE = Path(llmserve_lab.__file__).parent
WRITES = re.compile(r"' (?:µs|ms|s)\b")  # in an expression of a chart
ROOMS = {
    p.parts[-3] for p in PACKAGE.glob("*/page/*.py") if WRITES.search(p.read_text())
}
TIMED = [name for name in registry.figures() if name.split(".")[0] in ROOMS]


def written(figure: LiveFigure, **changes: Any) -> list[tuple[float, str]]:
    """Every number with a unit of time that is written into a drawing."""
    found = (TIME.fullmatch(text) for text in drawn.texts(figure, **changes))
    return [(float(m[1].replace(",", "")), m[2]) for m in found if m]


def units(figure: LiveFigure) -> set[str]:
    """Units of time in the titles of the axes."""
    titles = drawn.titles(figure)
    return {unit for unit in SECONDS if any(f"({unit})" in each for each in titles)}


@pytest.mark.parametrize("name", TIMED)
def test_a_time_in_a_drawing_has_the_unit_of_its_axis_or_of_its_signal(
    name: str,
) -> None:
    figure = registry.figures()[name]()
    signals = [v for v in figure.values().values() if isinstance(v, int | float)]
    told = {
        unit
        for number, unit in written(figure)
        for each in signals
        if number * SECONDS[unit] == pytest.approx(float(each), rel=0.006)
    }
    assert {unit for _, unit in written(figure)} <= units(figure) | told


@pytest.mark.parametrize(
    ("name", "signals"),
    [
        ("flash_attention.decode_splits", ["decode_attn_s"]),
        ("quantization.few_bits", ["few_bits_step_s", "wide_few_bits_step_s"]),
        ("roofline.iteration_time", ["decode_iteration_s", "prefill_iteration_s"]),
        ("parallelism.pipe_rate", ["pipe_token_s"]),
        ("tensor_parallel.tp_time", ["tp_s"]),
    ],
)
def test_what_a_step_takes_stands_beside_it(name: str, signals: list[str]) -> None:
    figure = registry.figures()[name]()
    times = [number * SECONDS[unit] for number, unit in written(figure)]
    for signal in signals:
        seconds = float(figure.values()[signal])
        assert any(each == pytest.approx(seconds, rel=0.006) for each in times), signal
