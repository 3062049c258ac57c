"""The printed budget of a step: what stands under each heading, by the notes below."""

import re

import pytest

from llmserve_lab.deepseek.page import budget

NOTE = re.compile(r"\[(\d)\]")
RATE = re.compile(r"([\d.,]+) T(?:B|FLOP)/s")
MOVED, WORKED = ("weights (GB)", "other (GB)"), ("FLOPs (TFLOP)",)


def printed() -> list[dict[str, str]]:
    """Rows of the table, each cell under its heading."""
    table = budget.budget()
    return [dict(zip(table.columns, map(str, row), strict=True)) for row in table.rows]


def total(row: dict[str, str], heads: tuple[str, ...]) -> float:
    """What stands under some headings together; nothing is a dash."""
    return sum(float(row[head]) for head in heads if row[head] != budget.NONE)


def test_times_stand_under_what_they_are_the_time_of() -> None:
    """Bytes over the bandwidth that the note says, FLOPs over its arithmetic."""
    notes = budget.budget().notes
    seen = []
    for row in printed():
        number = NOTE.search(row["time (ms)"])
        rates = RATE.findall(notes[int(number[1]) - 1]) if number else []
        if len(rates) == 2:
            bytes_per_s, flops_per_s = (float(each.replace(",", "")) for each in rates)
            moving = total(row, MOVED) / bytes_per_s  # GB over TB/s: milliseconds
            working = 1e3 * total(row, WORKED) / flops_per_s
            assert float(row["for bytes (ms)"]) == pytest.approx(moving, abs=0.02)
            assert float(row["for FLOPs, starts (ms)"]) == pytest.approx(
                working, abs=0.02
            )
            seen.append(row["part"])
    assert len(seen) == 4
