"""Auxiliary loss, bias and capacity: what each changes, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.moe import load_balancing as b
from llmserve_lab.moe.layer import batch
from llmserve_lab.moe.routing_sampler import rows_of_experts


def test_both_cures_level_the_load_and_only_one_moves_the_scores() -> None:
    alone, by_loss, by_bias = b.methods().values()
    assert alone.hottest > 2.5
    assert max(by_loss.hottest, by_bias.hottest) < 1.25
    assert by_bias.moved == 0 < 0.1 < by_loss.moved
    assert b.dropped_share(alone.loads) > 0.2
    assert b.dropped_share(by_loss.loads) == b.dropped_share(by_bias.loads) == 0


def loss(router: b.Router, rows: np.ndarray, share: np.ndarray) -> float:
    """The auxiliary loss with the choices held fixed."""
    return float(b.EXPERTS * (share * router.probabilities(rows).mean(axis=0)).sum())


def test_the_step_of_the_auxiliary_loss_is_its_gradient() -> None:
    """Each offset nudged by hand, the choices held fixed."""
    router, rows = b.with_favourites(), batch(64, d_model=b.WIDTH, seed=3)
    share = router.loads(rows) / (b.TOP_K * len(rows))
    scores = router.probabilities(rows)
    slope = (b.EXPERTS * scores * (share - scores @ share[:, None])).mean(axis=0)
    for expert in range(0, b.EXPERTS, 5):
        nudge = 1e-6 * np.eye(b.EXPERTS)[expert]
        up, down = (
            loss(replace(router, offset=router.offset + s * nudge), rows, share)
            for s in (1, -1)
        )
        assert (up - down) / 2e-6 == pytest.approx(slope[expert], abs=1e-7)


def test_a_bias_chooses_and_leaves_the_scores() -> None:
    router, rows = b.with_favourites(), batch(32, d_model=b.WIDTH)
    pulled = b.Router(router.weights, router.offset, np.eye(b.EXPERTS)[7])
    assert (pulled.choose(rows)[:, 0] == 7).all()
    assert (pulled.probabilities(rows) == router.probabilities(rows)).all()


def test_what_is_dropped_is_counted_seat_by_seat() -> None:
    chosen = b.with_favourites().choose(batch(100, d_model=b.WIDTH))
    loads = rows_of_experts(chosen, b.EXPERTS)
    room = int(1.28 * loads.mean())  # 12.5 choices an expert: sixteen seats
    seats, dropped = dict.fromkeys(range(b.EXPERTS), room), 0
    for expert in chosen.ravel().tolist():
        dropped += seats[expert] == 0
        seats[expert] -= seats[expert] > 0
    assert b.dropped_share(loads, 1.28) == pytest.approx(dropped / chosen.size)
    assert b.dropped_share(loads, 16.0) == 0
    with pytest.raises(ValueError, match="capacity_factor must be"):
        b.dropped_share(loads, 0.0)
