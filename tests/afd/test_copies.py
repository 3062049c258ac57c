"""The table of copies: nodes of drawn choices, counted, and a port beside the split."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.afd.page import copies
from llmserve_lab.afd.theory.same_speed import same_speed, wide_group
from llmserve_lab.moe.grouped_router import chosen
from tests.each import numbers, rows

EACH_KB = (7168 + 4 * 7168 / 128 + 2 * 7168) / 1e3  # a row there in FP8, back in BF16


def counted(nodes: int, *, own: bool) -> tuple[float, float]:
    """Nodes that hold experts of a row, and those of them that are not its own."""
    drawn = chosen(4000, seed=7)
    at = [set(each) for each in (drawn * nodes // 256).tolist()]
    home = np.random.default_rng(1).integers(0, nodes, len(at))
    away = [
        len(each - {int(i)} if own else each) for each, i in zip(at, home, strict=True)
    ]
    return float(np.mean([*map(len, at)])), float(np.mean(away))


def test_each_copy_goes_to_a_node_that_holds_an_expert_of_the_row() -> None:
    """Five nodes of 56A–40F hold no row's own node; the twelve of a group do."""
    *_, split, group = copies.sent()
    for found, nodes, own in ((split, 5, False), (group, 12, True)):
        many, away = counted(nodes, own=own)
        assert found.copies == pytest.approx(many, rel=0.01)
        assert found.leave == pytest.approx(away, rel=0.01)


def test_the_table_prints_what_leaves_and_its_bytes() -> None:
    for row, each in zip(rows(copies.copies_table()), copies.sent(), strict=True):
        shown = (row["copies"], row["leave the node"], row["kB"])
        found, leave, kilobytes = (numbers(cell)[0] for cell in shown)
        assert found == pytest.approx(each.copies, abs=0.051)
        assert leave == pytest.approx(each.leave, abs=0.051)
        assert kilobytes == pytest.approx(each.leave * EACH_KB, abs=0.51)
        places = 40 if "split" in row["by and to"] else 96
        if row["a row is sent"] == "once to each node":
            places //= 8
        assert f"to {places} " in row["by and to"]
        assert ("its own" in row["by and to"]) is (each.leave < each.copies)


@pytest.mark.parametrize(("ratio", "behind"), [(8, 0.054), (7, 0.012)])
def test_with_one_port_for_all_rows_the_example_has_no_lead(
    ratio: int, behind: float
) -> None:
    """The wire is that of all rows; the group has as long and loses nothing."""
    found = same_speed(2, ratio=ratio, one_port=True)
    ffn, wire = 100 + 0.083 * 256 * ratio, 20 + 0.022 * 256 * ratio
    turn = max(2 * 303.44, 303.44 + ffn + wire)
    assert found.turn == pytest.approx(turn, rel=1e-4)
    requests = (turn - 2 * (50 + 100 / (ratio + 1))) / 1.073
    assert wide_group(turn, ratio + 1).requests == pytest.approx(requests, rel=1e-3)
    split = 256 * ratio / (ratio + 1) / (turn / 2)
    assert found.split == pytest.approx(split, rel=1e-4)
    assert 1 - split / (requests / turn) == pytest.approx(behind, abs=0.001)
