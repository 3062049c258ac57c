"""The check of the reader's placement says what is wrong, and when all is well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.moe.exercise import (
    GPUS,
    SEATS,
    Held,
    Place,
    batch_rows,
    check,
    heaviest_first,
    in_order,
)
from llmserve_lab.moe.placement import redundant
from tests.depth import examples


def placing_alone(rows: Sequence[int], num_gpus: int, seats: int) -> Held:
    """Heaviest first, no copies."""
    return [list(each) for each in redundant(rows, num_gpus).seats]


def copies_in_order(rows: Sequence[int], num_gpus: int, seats: int) -> Held:
    """Copies of the busiest, put where there is a seat, whatever the load."""
    held = in_order(rows, num_gpus, seats)
    popular = sorted(range(len(rows)), key=lambda e: -rows[e])
    for expert in popular[:num_gpus]:
        gpu = next(g for g in range(num_gpus) if len(held[g]) < seats)
        held[gpu] += [] if expert in held[gpu] else [expert]
    return held


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (in_order, "not yet: GPU"),
        (placing_alone, "not yet: GPU"),
        (copies_in_order, "not yet: GPU"),
        (heaviest_first, "well done"),
    ],
)
def test_the_check_tells_good_from_bad(place: Place, says: str) -> None:
    assert check(place).startswith(says)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([[0]], "place must return 32 lists"),
        ([list(range(10)), *([[]] * 31)], "a GPU must hold 9 experts at most"),
        ([[0, 0], *([[]] * 31)], "copies of an expert must be on different GPUs"),
        ([[0], *([[]] * 31)], "each expert must be held"),
    ],
)
def test_a_placement_that_breaks_a_rule_is_told_which(held: Held, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(lambda *_: held)


@settings(max_examples=examples(30), deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(50, 100), min_size=8, max_size=8), st.integers(2, 4))
def test_the_solution_is_the_placement_of_the_package(
    rows: list[int], gpus: int
) -> None:
    """Found by another function: the same loads, to the last seat."""
    seats = 8 // gpus + 1
    extra = gpus * seats - len(rows)
    other = redundant(rows, gpus, extra).loads(rows)
    held = heaviest_first(rows, gpus, seats)
    copies = [sum(e in each for each in held) for e in range(len(rows))]
    mine = [sum(rows[e] / copies[e] for e in each) for each in held]
    assert np.sort(mine) == pytest.approx(np.sort(other))


def test_the_batch_fills_all_seats() -> None:
    rows = batch_rows()
    assert sum(rows) == 4096 * 8 and len(rows) == 256
    held = heaviest_first(rows, GPUS, SEATS)
    assert [len(each) for each in held] == [SEATS] * GPUS
