"""A time that is written into a drawing has the unit of its axis, or is a readout's.

A size is that of the signal that it is called after, in the unit that stands beside it.
"""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import llmserve_lab
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from tests.page import drawn
from tests.page.seen import notes

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
        ("tensor_parallel.tp_time", ["tp_s"]),
    ],
)
def test_what_a_step_takes_stands_beside_it(name: str, signals: list[str]) -> None:
    figure = registry.figures()[name]()
    times = [number * SECONDS[unit] for number, unit in written(figure)]
    for signal in signals:
        seconds = float(figure.values()[signal])
        assert any(each == pytest.approx(seconds, rel=0.006) for each in times), signal


BYTES = {
    **{f"{prefix}B": 1000.0**power for power, prefix in enumerate("kMGT", 1)},
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", 1)},
}
SIZE = re.compile(rf"(?:(\w+)\n)?([\d.,]+) ({'|'.join(BYTES)})")
# Of each chart with sizes what they are sizes of, by the word above each.
SIZES: dict[str, dict[str, Callable[[dict[str, float]], float]]] = {
    "kv_memory.capacity": {
        "weights": lambda at: at["stored_bytes"],
        "cache": lambda at: at["cache_bytes"],
        "other": lambda at: (
            at["usable_bytes"] * at["n_ranks"] - at["stored_bytes"] - at["cache_bytes"]
        ),
    },
    # Where others' programs change their algorithm: at powers of two alone.
    "tensor_parallel.all_reduce": {},
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_in_a_drawing_is_its_signal_in_its_unit(name: str) -> None:
    figure, read = registry.figures()[name](), dict[str, str]()
    known = {k: v for k, v in figure.values().items() if isinstance(v, int | float)}
    sizes = [m for m in map(SIZE.fullmatch, drawn.texts(figure)) if m]
    for what, number, unit in (each.groups() for each in sizes):
        if what in SIZES[name]:
            size = SIZES[name][what](known) / BYTES[unit]
            read[what] = f"{size:.{len(number.partition('.')[2])}f}"
            assert number == read[what], (what, number, unit)
        else:
            assert math.log2(float(number) * BYTES[unit]).is_integer()
    assert sizes and {*read} == {*SIZES[name]}


def test_every_chart_with_a_size_was_read() -> None:
    """By the notes of all charts."""
    sized = {
        name
        for chapter in {each.split(".")[0] for each in registry.figures()}
        for name, note in notes(chapter).items()
        if name in registry.figures()
        and any(re.search(r"# [kKMGT]i?B\b", w) for w in note["opens"]["words"])
    }
    assert sized == {*SIZES}
