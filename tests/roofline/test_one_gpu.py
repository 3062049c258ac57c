"""Every drawn point of one GPU is a stored time: its size over its rate, undone."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.roofline.page import one_gpu
from llmserve_lab.running_example import device
from tests.page import drawn

RATE, PEAK = float(device().hbm_bw), float(device().peak("bf16"))
STORED = json.loads(Path(one_h100.DATA).read_text("utf8"))
ABOVE = {"product: gate and up": "gate and up", "product: output": "out"}


class Timed(NamedTuple):
    """What a kernel reads and writes, what it computes, and how long it took."""

    moved: float
    flops: float
    seconds: float


def rows_of(kind: str) -> Iterator[dict[str, Any]]:
    table = STORED[kind]
    for row in table["rows"]:
        yield dict(zip(table["columns"], row, strict=True))


def copied() -> list[Timed]:
    """Each byte is read once and written once."""
    return [Timed(r["bytes"] + r["bytes"], 0, r["seconds"]) for r in rows_of("copy")]


def read_alone() -> list[Timed]:
    """By as many blocks as any run had; nothing is written."""
    runs = [*rows_of("read")]
    most = max(run["blocks"] for run in runs)
    return [Timed(r["bytes"], 0, r["seconds"]) for r in runs if r["blocks"] == most]


def multiplied(matrix: str = "", rows: int = 0) -> list[Timed]:
    """Two bytes a number: rows and weights read, results written."""
    found = []
    for r in rows_of("product"):
        if r["precision"] != "bf16" or r["matrix"] == "square":
            continue
        if (not matrix or r["matrix"] == matrix) and rows in (0, r["rows"]):
            m, k, n = r["rows"], r["n_in"], r["n_out"]
            moved = 2.0 * (m * k + k * n + m * n)
            found.append(Timed(moved, 2.0 * m * k * n, r["seconds"]))
    return found


@cache
def points(panel: int) -> dict[str, list[tuple[float, float]]]:
    """Dots of a panel by the name in the legend."""
    found = drawn.panels(one_gpu.reached)[panel].lines
    return {
        str(line.get_label()): [(float(x), float(y)) for x, y in line.get_xydata()]
        for line in found
        if line.get_marker() not in ("", "None", None)
    }


@pytest.mark.parametrize(
    ("name", "timed"),
    [
        ("copy", copied()),
        ("reading alone", read_alone()),
        ("product of one row", multiplied(rows=1)),
    ],
)
def test_bytes_over_the_drawn_bandwidth_are_the_stored_time(
    name: str, timed: list[Timed]
) -> None:
    shown = [(size, size / (share / 100 * RATE)) for size, share in points(1)[name]]
    want = [(each.moved, each.seconds) for each in timed]
    assert len(shown) == len(want)
    for one, other in zip(sorted(shown), sorted(want), strict=True):
        assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("name", ABOVE)
def test_flops_over_the_drawn_share_of_the_roof_are_the_stored_time(name: str) -> None:
    timed = sorted(multiplied(ABOVE[name]), key=lambda each: each.flops / each.moved)
    shown = sorted(points(0)[name])
    assert len(shown) == len(timed)
    for (intensity, share), each in zip(shown, timed, strict=True):
        assert intensity == pytest.approx(each.flops / each.moved, rel=1e-9)
        reached = share / 100 * min(PEAK, RATE * intensity)
        assert each.flops / reached == pytest.approx(each.seconds, rel=1e-9)


def test_nothing_else_is_drawn_as_a_point() -> None:
    assert set(points(0)) == set(ABOVE)
    assert set(points(1)) == {"copy", "reading alone", "product of one row"}
