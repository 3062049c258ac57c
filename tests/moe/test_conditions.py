"""What a larger group costs, under other constants, links and shares of overlap."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.moe import deadline, exchange_time, layer_time, serving
from llmserve_lab.moe.page import overlap


def test_joined_by_nvlink_a_group_sends_all_but_its_own_copies_over_it() -> None:
    """Every copy through one port, bytes counted one by one."""
    for gpus in (16, 64):
        copies = serving.ROWS * serving.SPEC.top_k * (1 - 1 / gpus)
        bare = copies * 7168 * (1 + 2) / 200e9
        said = exchange_time.joined_s(gpus)
        assert said == pytest.approx(bare + 2 * exchange_time.start_s())
        assert said < exchange_time.exchange_s(gpus)


def test_the_large_group_stays_ahead_whatever_the_constant_and_the_overlap() -> None:
    for way in (deadline.half_start_s, deadline.double_start_s, deadline.overlapped_s):
        small, large = (deadline.promised_rows(way, g) for g in (16, 64))
        assert large > 5 + 2 * small
    due_s = deadline.PROMISED_S / overlap.late()
    assert deadline.promised_rows(deadline.overlapped_s, 16, due_s) <= 1
    assert deadline.promised_rows(deadline.overlapped_s, 64, due_s) == 29


def test_two_numbers_fit_the_transfers_no_worse_than_one() -> None:
    """Shares and remainders are tried on a grid; the best is near the one found."""
    runs = [
        (
            exchange_time.seconds(w, run.ep, start_s=0.0),
            exchange_time.measured_s(run, w),
        )
        for run in ALL_TO_ALL
        for w in exchange_time.WAYS
    ]

    def loss(share: float, remainder: float) -> float:
        return sum(((b / share + remainder) / took - 1) ** 2 for b, took in runs)

    tried = [
        (loss(share, micro / 1e6), share, micro)
        for share in np.arange(0.8, 1.01, 0.005)
        for micro in np.arange(20, 60, 0.5)
    ]
    least, share, micro = min(tried)
    found, remainder = exchange_time.two_numbers()
    assert found == pytest.approx(share, abs=0.006)
    assert 1e6 * remainder == pytest.approx(micro, abs=0.6)
    assert loss(found, remainder) <= least < loss(1.0, exchange_time.start_s())


def test_ten_transfers_leave_alike_and_two_combines_more() -> None:
    left = sorted(exchange_time.compared(), key=exchange_time.left_s)
    times = [1e6 * exchange_time.left_s(run) for run in left]
    assert times[0] > 44 and times[9] < 58 and times[10] > 75
    assert {(run.way, run.ep) for run in left[10:]} == {
        ("combine", 128),
        ("combine", 256),
    }


def test_the_redundant_experts_of_the_command_fill_the_gpus_evenly() -> None:
    assert '"num_redundant_experts": 16' in serving.commands()[1]
    assert (serving.SPEC.n_experts + 16) % 16 == 0


def test_the_embedding_is_held_but_not_read() -> None:
    held = serving.stored()["replicated_bytes"] - layer_time.own_read_bytes()
    assert held == 129_280 * 7168


def test_what_sends_with_deepep_is_what_the_page_says() -> None:
    """A server that also prefills must not get the kernels that are for decode."""
    first, second = serving.commands()
    vllm, sglang = first.split("# SGLang")
    assert "all2all" not in vllm and "--moe-a2a-backend deepep" in sglang
    assert "decode" in second and "deepep_low_latency" in second
    assert "--data-parallel-size 8" in vllm and "--ep-size 8" in sglang


def test_what_watches_the_load_switches_the_balancer_on() -> None:
    vllm, sglang = serving.watching().split("# SGLang")
    assert "--enable-eplb" in vllm and '"log_balancedness": true' in vllm
    assert "metrics" in sglang and "eplb" not in sglang  # it counts without
