"""Every drawn point of one GPU is stored times, added up; its bound is a walk's."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import one_gpu
from llmserve_lab.running_example import device, model
from tests.page import drawn

RATE, PEAK = float(device().hbm_bw), float(device().peak("bf16"))
PLACES = {"qkv": 32, "out": 32, "gate and up": 32, "down": 32, "head": 1}


def stored_s() -> dict[int, float]:
    """Seconds of all products by rows: each matrix as often as the model has it."""
    table = json.loads(Path(one_h100.DATA).read_text("utf8"))["product"]
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for row in table["rows"]:
        run = dict(zip(table["columns"], row, strict=True))
        if run["precision"] == "bf16" and run["matrix"] in PLACES:
            found[run["rows"]][run["matrix"]] = run["seconds"]
    return {
        rows: sum(PLACES[name] * seconds for name, seconds in by_name.items())
        for rows, by_name in found.items()
        if set(by_name) == set(PLACES)
    }


def lines() -> dict[str, list[tuple[float, float]]]:
    """Points of the picture by the name in the legend."""
    (panel,) = drawn.panels(one_gpu.reached)
    return {
        str(line.get_label()): [(float(x), float(y)) for x, y in line.get_xydata()]
        for line in panel.lines
        if not str(line.get_label()).startswith("_")
    }


def test_a_drawn_time_is_the_sum_of_the_stored_ones() -> None:
    shown, stored = dict(lines()["one GPU"]), stored_s()
    assert set(shown) == {rows for rows in stored if rows <= one_gpu.MOST}
    for rows, ms in shown.items():
        assert ms == pytest.approx(1e3 * stored[int(rows)], rel=1e-9)


def test_the_bound_is_reading_or_computing_by_a_walk_and_lies_below() -> None:
    assert set(lines()) == {"bound", "one GPU"}
    for rows, ms in [*lines()["bound"], *lines()["one GPU"]]:
        bill = walk(model(), batch=round(rows), context=0, chunk=1)
        least = max(bill.weight_bytes / RATE, bill.linear_flops / PEAK)
        assert one_gpu.least_s(rows) == pytest.approx(least, rel=2e-3)
        assert ms > 0.999e3 * one_gpu.least_s(rows)
