"""The picture of batches that go round: steady rounds, and what they show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from llmserve_lab.afd.page import going_round


def test_the_ffn_computes_five_batches_in_the_time_of_four() -> None:
    for n_batches, count in ((2, 4), (3, 5)):
        drawn = [s for lane, _, s, _ in going_round.bars(n_batches) if lane == 4]
        assert len([s for s in drawn if s < going_round.shown() - 1]) == count
    assert "five batches in the time of four" in going_round.going_round().title


def test_a_third_batch_halves_the_ffn_s_waiting_in_the_picture() -> None:
    two, three = (going_round.waits(m) for m in (2, 3))
    assert two == pytest.approx((0.255, 0.332), abs=0.005)
    assert three == pytest.approx((0.118, 0.169), abs=0.005)
    said = [going_round.going_round().logs["both"].frames[-1].counters]
    assert said == [("Attention 26%, FFN 33%", "Attention 14%, FFN 17%")]


def test_with_three_batches_the_slowest_machine_never_waits() -> None:
    busy = going_round.busy(going_round.bars(3), range(2, 3), going_round.shown())
    assert busy == pytest.approx(1)


@pytest.mark.parametrize("n_batches", [2, 3])
def test_the_picture_is_of_rounds_that_go_on_alike(n_batches: int) -> None:
    """Rounds before and after take as long, so nothing is left of the start."""
    machine, _ = going_round.played(n_batches)
    begins: dict[int, float] = {}
    for (n, i), end in machine.attn_end.items():
        since = (end - machine.attn_s[n, i]) * 1e6
        begins[n] = min(since, begins.get(n, since))
    at = [begins[n * n_batches] for n in range(8)]
    rounds = np.diff(at)[going_round.FIRST :]
    assert rounds == pytest.approx(np.full(len(rounds), rounds[0]), rel=0.03)
    begin, length = going_round.window(n_batches)
    assert begin == at[going_round.FIRST]
    assert length == pytest.approx(rounds[:2].sum())


@pytest.mark.parametrize("n_batches", [2, 3])
def test_the_picture_shows_what_ran(n_batches: int) -> None:
    """No machine has two batches, no batch is in the FFN and on a machine at once."""
    rows = going_round.bars(n_batches)
    for lane in (0, 1, 2, 4):
        own = sorted((s, e) for at, _, s, e in rows if at == lane)
        assert all(a[1] <= b[0] + 1e-6 for a, b in itertools.pairwise(own))
    for batch in range(n_batches):
        inside = [(s, e) for at, b, s, e in rows if at == 4 and b == batch]
        others = [(s, e) for at, b, s, e in rows if at != 4 and b == batch]
        assert not [
            1 for s, e in inside for t, f in others if t < e - 1e-6 and s < f - 1e-6
        ]
