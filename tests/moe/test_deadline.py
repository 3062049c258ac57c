"""A whole token by the size of the group, and requests that meet a deadline."""

from __future__ import annotations

import pytest

from llmserve_lab.moe import deadline as module
from llmserve_lab.moe import exchange_time, kernel_time, layer_time, serving, token_time

FIXED_S = kernel_time.kernels_s()


def test_halves_read_and_start_kernels_twice_and_hide_the_shorter_of_two() -> None:
    for ep in serving.GROUPS[1:]:
        for rows in (16.0, 128.0):
            half = rows / 2
            work = layer_time.experts_s(ep, half) + layer_time.rest_s(half)
            sent = exchange_time.exchange_s(ep, half)
            halves = 58 * 2 * max(work, sent) + 2 * FIXED_S
            turn = 58 * layer_time.in_turn_s(ep, rows) + FIXED_S
            assert module.halves_s(ep, rows) == pytest.approx(halves)
            assert module.in_turn_s(ep, rows) == pytest.approx(turn)
            found = module.overlapped_s(ep, rows)
            assert found == pytest.approx(min(halves, turn))
    gains = {ep: module.overlapped_s(ep, 128.0) / module.in_turn_s(ep, 128.0)
             for ep in serving.GROUPS[1:]}  # fmt: skip
    assert 0.97 < gains.pop(32.0) < 0.99  # as printed, and nothing in other groups
    assert set(gains.values()) == {1.0}


@pytest.mark.long
def test_a_promise_is_kept_up_to_the_printed_number() -> None:
    for token in (module.in_turn_s, module.overlapped_s):
        for ep in serving.GROUPS[1:]:
            most = module.promised_rows(token, ep)
            assert 0 < most < module.room(ep)
            assert token(ep, float(most)) <= 30e-3 < token(ep, most + 1.0)


def test_a_large_group_pays_by_speed_and_not_by_throughput() -> None:
    rates = [module.rate(module.in_turn_s, ep, 128.0) for ep in serving.GROUPS[1:]]
    assert max(rates) / min(rates) < 1.08 and rates.index(max(rates)) < 2
    kept = {
        ep: module.promised_rows(module.in_turn_s, ep) for ep in (16.0, 64.0, 128.0)
    }
    assert kept[64.0] >= 4 * kept[16.0]
    assert kept[128.0] < 1.2 * kept[64.0]


def test_the_order_of_groups_turns_with_the_deadline() -> None:
    """Small batches are faster on many GPUs, large ones on few."""
    kept = [
        [module.promised_rows(module.in_turn_s, ep, due) for ep in (16.0, 64.0)]
        for due in (25e-3, 30e-3, 40e-3, 48e-3, 58e-3)
    ]
    assert [large > small for small, large in kept] == [True, True, True, False, False]
    assert kept[0] == [0, 12] and kept[2] == [62, 87]
    assert kept[3] == pytest.approx([126, 125], abs=1)


def test_the_larger_group_is_ahead_whatever_the_constant() -> None:
    for token in (module.half_start_s, module.in_turn_s, module.double_start_s):
        small, large = (module.promised_rows(token, ep) for ep in (16.0, 64.0))
        assert large > 5 + 2 * small
    more = module.double_start_s(16.0, 8.0) - module.in_turn_s(16.0, 8.0)
    assert more == pytest.approx(58 * 2 * exchange_time.start_s())


@pytest.mark.long
def test_a_published_decode_is_slower_than_the_model() -> None:
    """128 requests a GPU, 18,598 tokens a second of a node; none drafted."""
    took, said = token_time.profiled_s(), token_time.predicted_s()
    assert took == pytest.approx(128 / (18_598 / 8))
    assert said["hidden"] < said["halves"] < took < said["in turn"]
    bare = said["halves"] - 2 * FIXED_S
    assert 1 - said["halves"] / took == pytest.approx(0.05, abs=0.01)
    assert 1 - bare / took == pytest.approx(0.36, abs=0.01)
    assert 1 - said["hidden"] / took == pytest.approx(0.21, abs=0.01)
    for ep in (16.0, 64.0):
        check_overlap_never_takes_fewer(ep)


def check_overlap_never_takes_fewer(ep: float) -> None:
    """Overlap is a choice; tests/deep asks for the groups of other sizes."""
    for due in (25e-3, 40e-3, 50e-3):
        in_turn = module.promised_rows(module.in_turn_s, ep, due)
        assert module.promised_rows(module.overlapped_s, ep, due) >= in_turn
