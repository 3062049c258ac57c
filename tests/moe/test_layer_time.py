"""A whole layer by the size of the group, and what a hot GPU changes, found again."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.catalog import accelerator
from llmserve_lab.moe import (
    deadline,
    exchange_time,
    grouped_router,
    kernel_time,
    serving,
    token_time,
)
from llmserve_lab.moe import layer_time as module
from llmserve_lab.moe.hot_rank import popularity
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.moe.page import overlap
from llmserve_lab.moe.routing_sampler import draw
from llmserve_lab.validation.room import working_bytes

BANDWIDTH = 3.35e12 * 0.946  # an H800's, as reached
H200_BANDWIDTH = 4.8e12 * 0.946
EXPERT = 3 * 7168 * 2048  # bytes of one in FP8


def test_the_rest_is_read_tensor_by_tensor() -> None:
    """With one request everything but the routed experts is limited by reading."""
    own = [t for t in DEEPSEEK.tensors() if not t.name.startswith("experts.")]
    read = sum(t.params for t in own if t.name != "embed_tokens")
    cache = 1100 * 61 * (512 + 64) * 2
    attention = max(
        cache / BANDWIDTH, 1100 * DEEPSEEK.attn_flops_per_pair() / (989.4e12 * 0.72)
    )
    assert 58 * module.rest_s(1.0) == pytest.approx(
        read / BANDWIDTH + attention, rel=1e-3
    )
    assert module.rest_s(256.0) > 1.5 * module.rest_s(64.0)


def test_a_hot_gpu_costs_nothing_where_reading_stays_longer() -> None:
    for n_rows, printed in ((64.0, 1.0), (1024.0, 1.0), (8192.0, 1.7)):
        assert module.slower(8.0, n_rows, 0.1) == pytest.approx(printed, abs=0.05)
    assert module.slower(8.0, 1024.0, 0.0) == pytest.approx(1)
    equal = module.equal_layer_s(8.0, 64.0)["read"]  # the GPU that reads most
    assert equal == pytest.approx(30.5 * EXPERT / H200_BANDWIDTH, rel=0.01)


def test_what_the_experts_save_is_lost_in_sending_at_a_hundred_and_twenty_five() -> (
    None
):
    """The longer of reading and computing, found token by token."""

    def layer_s(ep: float, rows: float) -> float:
        read = 256 / ep * EXPERT / BANDWIDTH
        compute = 2 * EXPERT * 8 * rows / (1978.9e12 * 0.72)
        wire = 3 * 7168 * 8 * rows * (1 - 8 / ep) / 50e9
        return max(read, compute) + wire

    slower = [n for n in range(32, 257) if layer_s(64.0, n) > layer_s(16.0, n)]
    assert slower[0] == 125 and slower == list(range(125, 257))
    assert module.even_rows() == pytest.approx(125, abs=1)
    for rows in (1.0, 32.0, 100.0, 120.0, 128.0, 192.0):
        times = [module.in_turn_s(ep, rows) for ep in (16.0, 64.0)]
        assert (times[1] < times[0]) == (rows < module.even_rows())
    for rows, saved, lost in ((128.0, 159, 165), (64.0, 167, 83)):  # as printed
        assert round(1e6 * module.saved_s(rows)) == saved
        assert round(1e6 * rows * module.sent_more_s()) == lost


def test_the_hot_gpu_reads_what_is_drawn_to_it() -> None:
    favourite = popularity(0.1)
    seen = [
        len({e for e in draw(favourite, n_rows=64, top_k=8, seed=s).ravel() if e < 32})
        for s in range(60)
    ]
    read = float(np.mean(seen)) * EXPERT / H200_BANDWIDTH
    assert module.hot_layer_s(8.0, 64.0, 0.1)["read"] == pytest.approx(read, rel=0.03)


def test_a_router_uses_four_of_eight_groups() -> None:
    assert all(
        sum(n > 0 for n in grouped_router.routed(1, seed)) <= 4 for seed in range(50)
    )
    seen = [sum(grouped_router.routed(64, seed)) for seed in range(50)]
    assert np.mean(seen) == pytest.approx(222, abs=4)
    assert grouped_router.busiest_reads(1) * 8 > 2 * 8  # above the mean of one each
    assert grouped_router.busiest_reads(64) == pytest.approx(30.5, abs=0.5)


def test_a_kept_group_is_nearly_always_used() -> None:
    """Groups are ranked by their two best scores, here with plain loops."""
    rng = np.random.default_rng(7)
    ruled, blind = list[int](), list[int]()
    for _ in range(2_000):
        scores = rng.random((8, 32))
        order = sorted(range(8), key=lambda g: -sum(sorted(scores[g])[-2:]))
        for kept, found in ((order[:4], ruled), (list(range(4)), blind)):
            best = sorted((scores[g, e], g) for g in kept for e in range(32))[-8:]
            found.append(len({g for _, g in best}))
    assert np.mean(ruled) == pytest.approx(grouped_router.places_reached(8), abs=0.02)
    assert grouped_router.places_reached(8) == pytest.approx(3.95, abs=0.01)
    assert np.mean(blind) == pytest.approx(3.62, abs=0.04)  # groups drawn at random
    assert grouped_router.places_reached(1) == 1
    with pytest.raises(ValueError, match="places must divide 256 experts, got 7"):
        grouped_router.places_reached(7)
    with pytest.raises(ValueError, match="places must divide 256 experts, got 7"):
        grouped_router.routed(1, places=7)


def test_a_larger_group_leaves_memory_for_longer_requests() -> None:
    """Weights, working space and caches added up; one more request would not fit."""
    for ep in (16.0, 64.0, 256.0):
        weights = sum(
            t.params / (ep if t.name.startswith("experts.") else 1)
            for t in DEEPSEEK.tensors()
        )
        for tokens in module.LONG_CONTEXTS:
            cache = tokens * 61 * (512 + 64) * 2
            room = module.cache_room(ep, tokens)
            memory = 0.9 * float(accelerator("h800-sxm").usable_bytes)

            def taken(
                requests: int,
                each: int = cache,
                held: float = weights,
                group: float = ep,
            ) -> float:
                vocab, gpus = DEEPSEEK.vocab, int(group)
                beside = working_bytes(requests, vocab=vocab, n_gpus=gpus)
                return held + beside + requests * each

            assert taken(room) <= memory < taken(room + 1)
    assert module.cache_room(64.0, 32_768) > 2 * module.cache_room(16.0, 32_768)
    assert module.cache_room(8.0, 4_096) == 0
    assert len(module.cache_table().rows) == 3


def test_the_opening_is_the_product_that_is_written_out() -> None:
    for rows, reads, printed in ((1, 3.0, 1.7), (64, 30.5, 17.2)):
        assert grouped_router.busiest_reads(rows) == reads
        product = reads * EXPERT / H200_BANDWIDTH * 58 * 1e3
        assert product == pytest.approx(printed, abs=0.06)


def test_one_rule_of_memory_on_both_gpus() -> None:
    for gpu in serving.GPUS:
        seen = float(serving.setting(gpu)["hbm_bytes"])
        assert seen == float(accelerator(gpu).usable_bytes)
        assert seen > float(accelerator(gpu).hbm_bytes)  # GiB behind the label's GB


def test_the_table_closes_as_it_is_printed() -> None:
    """Each time is that of its part, and half a batch keeps a tenth to be doubled."""
    for each in module.layers_micro():
        parts = [
            1e6 * module.experts_s(each.ep, serving.ROWS),
            1e6 * module.rest_s(serving.ROWS),
            1e6 * exchange_time.exchange_s(each.ep),
        ]
        whole = [each.experts, each.rest, each.sending]
        assert whole == pytest.approx(parts, abs=0.5)
        assert each.in_sequence == sum(whole)
        assert each.halves == pytest.approx(2 * max(each.half_works, each.half_sends))
        kernels = 1e6 * kernel_time.layer_kernels_s()
        assert each.kernels == pytest.approx(kernels, abs=0.05)
        exact = 1e6 * sum(module.halves_s(each.ep, serving.ROWS)[:1])
        assert each.half_works == pytest.approx(exact, abs=0.05)
        turn, both = each.in_sequence + each.kernels, each.halves + 2 * each.kernels
        assert (each.whole_in_sequence, each.whole_halves) == (round(turn), round(both))
        exact = 1e6 * deadline.in_turn_s(each.ep, serving.ROWS) / 58
        assert turn == pytest.approx(exact, abs=1.6)  # three parts are rounded
        exact = 1e6 * deadline.halves_s(each.ep, serving.ROWS) / 58
        assert both == pytest.approx(exact, abs=0.3)


def test_the_layer_waits_for_the_gpu_that_reads_most() -> None:
    """Tokens draw eight of all experts; the busiest GPU's are counted."""
    for ep, rows in ((16, 1.0), (64, 1.0), (16, 4.0)):
        most = []
        for seed in range(200):
            chosen = draw(np.ones(256), n_rows=int(ep * rows), top_k=8, seed=seed)
            read = np.unique(chosen) // (256 // ep)
            most.append(np.bincount(read, minlength=ep).max())
        assert module.experts_s(ep, rows) == pytest.approx(
            np.mean(most) * EXPERT / BANDWIDTH, rel=0.05
        )
    full = module.experts_s(16.0, 64.0)  # all experts are read: busiest and mean alike
    assert full == pytest.approx(16 * EXPERT / BANDWIDTH, rel=1e-3)


def test_the_opening_closes_and_only_experts_grow() -> None:
    alone, crowd = token_time.opening_s(1), token_time.opening_s(64)
    grown = {name: crowd[name] - alone[name] for name in alone}
    assert grown["experts"] > 0.95 * sum(grown.values())
    for parts, printed in ((alone, 10.9), (crowd, 26.7)):  # sums of what is printed
        assert round(1e3 * sum(parts.values()), 1) == printed
        shown = sum(round(1e3 * each, 1) for each in parts.values())
        assert shown == pytest.approx(printed)


def test_a_measured_server_is_nearly_as_slow_as_the_opening_says() -> None:
    """Without the gaps between kernels it would be a fifth too fast."""
    run = token_time.measured_crowd()
    assert run.ep * run.requests_per_gpu == 64
    said = token_time.predicted_crowd_s()
    assert sum(token_time.opening_s(64).values()) < 0.8 * run.tpot_s
    assert said / run.tpot_s - 1 == pytest.approx(0.06, abs=0.01)


def test_two_more_servers_hardly_help_three_requests() -> None:
    """The busiest of many GPUs reads a few experts whatever their number."""
    reads = [grouped_router.busiest_reads(3, gpus) for gpus in (8, 16, 32)]
    assert reads == [6.0, 4.1, 2.9]
    saved = 58 * (reads[1] - reads[2]) * EXPERT / H200_BANDWIDTH
    fixed = 58 * (2 * exchange_time.start_s() + module.rest_s(1.0, gpu="h200-sxm"))
    assert saved == pytest.approx(0.7e-3, abs=0.05e-3) and fixed > 10 * saved


def test_the_traced_gpu_that_waits_shows_a_longer_transfer() -> None:
    late_experts = overlap.traced((2.0, 2.0), (2.0, 4.4))
    late_attention = overlap.traced((2.0, 4.4), (2.0, 2.0))

    def lengths(parts: list[tuple[float, float]]) -> list[float]:
        return [end - start for start, end in parts]

    first, late = map(lengths, late_experts)
    assert first[3] > late[3] and first[1] == late[1]
    first, late = map(lengths, late_attention)
    assert first[1] > late[1] and first[3] == late[3]
    for gpus in (late_experts, late_attention):
        assert gpus[0][-1][1] == gpus[1][-1][1]  # the layer ends on all at once
