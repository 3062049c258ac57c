"""The printed budget of a step: what stands under each heading, by the notes below."""

import re

import pytest

from llmserve_lab.deepseek.evaluation.worked_example import MANY, PLACE
from llmserve_lab.deepseek.model.elementwise_kernels import (
    ABSORBED,
    AT_HOME,
    OF_A_COPY,
    moved,
    row_traffic,
)
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
            assert float(row["for FLOPs, launches (ms)"]) == pytest.approx(
                working, abs=0.02
            )
            seen.append(row["part"])
    assert len(seen) == 4


def test_a_part_has_the_rows_and_the_copies_that_its_name_says() -> None:
    """Attention knows no copies: a part of it has the rows of all layers, and those of
    the experts have rows and copies of the layers with experts.
    """
    layers, sparse, giga = 61, 58, 1e9
    rows = {row["part"]: total(row, ("other (GB)",)) for row in printed()}
    of = row_traffic(PLACE, "absorbed")
    inside = layers * moved(ABSORBED, PLACE, "attention")
    attention = layers * moved(ABSORBED, PLACE) - inside - of["attn_gemm_row_bytes"]
    assert rows["attention, elementwise"] == pytest.approx(
        MANY * attention / giga, abs=0.006
    )
    assert rows["projections"] == pytest.approx(
        MANY * of["attn_gemm_row_bytes"] / giga, abs=0.006
    )
    copies = float(budget.known()["dispatched_copies"] / budget.known()["balancedness"])
    home = sparse * moved(AT_HOME, PLACE) - of["moe_gemm_row_bytes"]
    each = sparse * moved(OF_A_COPY, PLACE) - of["moe_gemm_copy_bytes"]
    assert rows["experts, elementwise"] == pytest.approx(
        MANY * (home + copies * each) / giga, abs=0.006
    )


def test_bytes_and_starts_stand_under_their_own_headings() -> None:
    """What has no FLOPs: bytes over memory or port, starts one by one."""
    known = budget.known()
    starts = {
        "attention, elementwise": known["attn_launches"] * known["launch_s"],
        "experts, elementwise": known["moe_launches"] * known["launch_s"],
        "all-to-alls": known["transfer_starts_s"],
    }
    seen = {row["part"]: row for row in printed()}
    for part, start_s in starts.items():
        memory = "read_rate" if "elementwise" in part else "far_rate"
        moving = 1e12 * float(seen[part]["other (GB)"]) / known[memory]
        assert float(seen[part]["for bytes (ms)"]) == pytest.approx(moving, rel=0.005)
        printed_ms = float(seen[part]["for FLOPs, launches (ms)"])
        assert printed_ms == pytest.approx(1e3 * start_s, abs=0.006)
