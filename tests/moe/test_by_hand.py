"""The lines that are worked out by hand, worked out again from the digits printed."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from llmserve_lab.moe import deadline, grouped_router, prefill_time, serving, token_time
from llmserve_lab.moe import layer_time as module
from llmserve_lab.moe.page import group_charts, overlap
from tests.formula.javascript import evaluate
from tests.moe.digits import gives, printed

WAYS = ("out", "back")


def test_a_hot_gpu_slows_the_transfers_of_its_own_group() -> None:
    """Loads dealt out on 16 GPUs, the group of the dispatch; eight would give less."""
    gpus = int(printed("small"))
    loads = np.full(gpus, (1 - printed("hot")) / gpus)
    loads[0] += printed("hot")
    gives(float(loads.max() / loads.mean()), "hot16_times")
    slow = printed("hot16_times") * printed("bytes16") + 2 * printed("start")
    gives(slow, "hot16_sent")
    gives(printed("bytes16") + 2 * printed("start"), "sent16")
    gives(printed("bare16") + printed("start"), "dispatch16")
    gives(1 / (printed("hot") * 8 + 1 - printed("hot")), "hot_balance")
    assert printed("hot16_times") > printed("hot_slower")


def test_a_hot_gpu_may_compute_longer_where_the_mean_one_reads() -> None:
    """Loads dealt out; "only where computing decides" would lose nothing on 32."""
    times = {}
    for gpus, read in ((16, "read16"), (32, "read32")):
        loads = np.full(gpus, (1 - printed("hot")) / gpus)
        loads[0] += printed("hot")
        computes = loads.max() / loads.mean() * printed("compute_fine")
        assert printed("compute_fine") < printed(read)  # the mean GPU is memory-bound
        times[gpus] = max(printed(read), computes) / printed(read)
        found = module.slower(gpus, 128.0 * gpus, printed("hot"), serving.GPUS[0])
        assert found == pytest.approx(times[gpus], rel=0.01)
    assert times[16] == 1 and times[32] > 2
    gives(times[32], "hot32")
    gives(printed("above32") * printed("compute_fine"), "hot32_compute")
    gives(printed("hot16_times") * printed("compute_fine"), "hot16_compute")
    gives(32 * printed("hot") + 1 - printed("hot"), "above32")


def test_a_hot_gpu_slows_the_layer_even_where_its_experts_lose_nothing() -> None:
    """Copies are dealt out and every transfer is timed anew; the constant stays."""
    for gpus, experts in ((16, "read16"), (32, "hot32_compute")):
        copies = np.full(gpus, gpus * 128 * 8 * (1 - printed("hot")) / gpus)
        copies[0] += gpus * 128 * 8 * printed("hot")
        far = copies.max() * (gpus - 8) / gpus
        bytes_us = far * 7168 * (1 + 2) / 50e3  # 50 GB/s: 50,000 bytes a microsecond
        sent = bytes_us + 2 * printed("start")
        assert sent == pytest.approx(printed(f"hot{gpus}_sent"), abs=0.6)
        whole = printed(experts) + printed(f"hot{gpus}_sent") + printed("rest_us")
        gives(whole, f"hot{gpus}_layer")
        even = module.in_turn_s(gpus, 128.0)
        assert token_time.hot_in_turn_s(gpus, 128.0, 0.0) == pytest.approx(even)
    assert printed("hot16_layer") > 1.4 * printed("turn16")
    lost = [printed(f"hot{g}_sent") - printed(f"sent{g}") for g in (16, 32)]
    whole_lost = [printed(f"hot{g}_layer") - printed(f"turn{g}") for g in (16, 32)]
    assert all(s > 0.8 * w for s, w in zip(lost, whole_lost, strict=True))


def test_a_replica_pays_where_the_links_of_two_nodes_carry_the_copies() -> None:
    gives(printed("expert16_mb") / printed("reached"), "expert_h800")
    gives(3 * printed("bare16"), "bytes16")
    quarter = (1 / printed("log_balance") - 1) * printed("bytes16")
    gives(quarter, "quarter16")
    assert printed("quarter16") > printed("expert_h800")
    one_server_us = 1e3 * printed("wire_crowd") / printed("layers")
    assert one_server_us / 4 < printed("one_expert")


def test_the_small_group_is_too_late_with_any_batch_that_reads_all() -> None:
    layer = printed("read16") + printed("own_part") + 2 * printed("start")
    gives(layer * printed("layers") / 1e3 + printed("kernels"), "floor16")
    assert printed("floor16") > printed("promised")
    assert printed("floor16") < printed("later")


def test_with_half_the_tokens_reading_decides_in_the_three_groups_only() -> None:
    times = {g: serving.layer_s(float(g), 64.0) for g in (16, 32, 64, 128, 256)}
    decides = [t["read"] > t["compute"] for t in times.values()]
    assert decides == [True, True, True, False, False]


def test_what_is_called_nearly_all_is_not_read_by_dozens() -> None:
    """A few hundred tokens miss nearly none; dozens leave out a tenth or more."""
    gives(1 - (1 - 8 / 256) ** 64, "hit")
    for tokens, least, most in ((24, 0.5, 0.6), (48, 0.7, 0.8), (64, 0.86, 0.88)):
        assert least < 1 - (1 - 8 / 256) ** tokens < most
    assert 1 - (1 - 8 / 256) ** 300 > 0.999


def test_a_layer_has_one_sum_in_table_figure_and_text() -> None:
    rest = printed("own_part") + printed("attention_part")
    gives(rest, "rest_us")
    for gpus, experts in ((16, "read16"), (32, "read32"), (64, "compute")):
        gives(printed(experts) + printed(f"sent{gpus}") + rest, f"turn{gpus}")
    gives(printed("turn32") + printed("one_layer"), "whole32")
    both = printed("halves32") + 2 * printed("one_layer")
    assert printed("both32") == pytest.approx(both, abs=1)
    assert 0.01 < 1 - printed("both32") / printed("whole32") < 0.025
    works = printed("read16") + printed("own_part") + printed("attention_part") / 2
    assert 2 * (works + printed("one_layer")) > printed("turn16") + 200  # on 16: slower


def test_the_curve_of_the_rest_is_the_rest() -> None:
    expr = group_charts.own_s(module.rest_parts_s(1.0))
    for rows in (8.0, 64.0, 128.0, 160.0, 4096.0):
        found = evaluate(expr, gpu_rows=rows)
        assert found == pytest.approx(module.rest_s(rows))


def test_the_evening_keeps_the_rule_of_the_opening() -> None:
    """Scores are drawn and groups kept with plain loops; the busiest GPU is counted."""
    rng = np.random.default_rng(11)
    most = list[int]()
    for _ in range(300):
        read = set[int]()
        for scores in rng.random((16, 8, 32)):
            worth = [sum(sorted(group)[-2:]) for group in scores.tolist()]
            kept = sorted(range(8), key=lambda g: -worth[g])[:4]
            best = sorted((scores[g, e], 32 * g + e) for g in kept for e in range(32))
            read |= {expert for _, expert in best[-8:]}
        most.append(max(sum(e // 16 == gpu for e in read) for gpu in range(16)))
    assert grouped_router.busiest_reads(16, 16) == pytest.approx(
        np.mean(most), abs=0.15
    )


def test_the_log_is_one_that_this_server_could_write() -> None:
    """Choices of a GPU over all layers, the busiest a whole number of them."""
    gives(printed("layers") * printed("rows") * printed("k"), "log_mean")
    gives(printed("log_mean") / printed("log_most"), "log_balance")


def test_tokens_a_second_are_requests_over_the_deadline() -> None:
    for gpus in (16, 64):
        gives(printed(f"most{gpus}") / (printed("promised") / 1e3), f"rate{gpus}")
        found = overlap.written(deadline.in_turn_s, float(gpus), printed("promised"))
        assert 0 <= found * printed("promised") / 1e3 - printed(f"most{gpus}") < 1
    due_s = deadline.LATER_S
    later = [
        deadline.promised_rows(deadline.in_turn_s, g, due_s) / due_s for g in (16, 64)
    ]
    assert later == pytest.approx([printed("rate_later")] * 2, rel=0.02)
    gives(1e3 * 256 / printed("sglang_rate"), "sglang_ms")  # requests on each GPU
    assert 1e3 / 22 < printed("day6_ms") < 1e3 / 20  # tokens a second of a user


def test_prefill_is_sixty_four_times_the_decode() -> None:
    times = printed("prompt_rows") / printed("rows")
    gives(times, "prompt_times")
    gives(times * printed("compute") / 1e3, "prompt_compute")
    gives(times * printed("bare16") / 1e3, "prompt_out")
    gives(16 * printed("prompt_rows") * 8 / 256, "prompt_each")
    gives(3 * printed("prompt_near"), "prompt_both")
    experts = prefill_time.experts_s()
    assert experts["compute"] > 10 * experts["read"]
    own = experts["compute"] + prefill_time.products_s()
    assert printed("prompt_both") < 1e3 * own < 3 * printed("prompt_out")
    head = 2 * 129_280 * 7168 * printed("prompt_rows") / printed("reached_flops") / 58
    whole = 1e3 * module.rest_parts_s(printed("prompt_rows"))["weights computed"]
    gives(whole - head / 1e12, "prompt_products")  # the head: once per prompt


def test_measured_links_are_slower_than_those_of_the_datasheets() -> None:
    """A rate counts a copy per node, so twice of nearly every token's on two nodes."""
    sizes = printed("prompt_rows") * 7168 * np.array([1, 2])
    nodes = 2 * (1 - comb(128, 8) / comb(256, 8))  # if any experts may be chosen
    first = 1e3 * nodes * sizes / (printed("first_rate") * 1e9)
    second = 1e3 * nodes * sizes / [printed(f"second_{n}") * 1e9 for n in WAYS]
    assert first == pytest.approx([printed("told_out"), printed("told_back")], rel=0.02)
    gives(printed("told_out") + printed("told_back"), "told_both")
    assert sum(second) == pytest.approx(printed("told_second"), rel=0.03)
    computing = printed("prompt_compute") + printed("prompt_products")
    assert printed("told_second") < computing < printed("told_both")
    assert printed("told_both") > 1.5 * printed("prompt_both")
    for tokens, name, longer in ((1000, "pairs", False), (8192, "long", True)):
        pairs = printed("prompt_rows") / tokens * sum(range(1, tokens + 1))
        flops = 61 / 58 * pairs * 2 * 128 * (128 + 64 + 128)  # 128 heads
        took = 1e3 * flops / (989.4e12 * 0.72045)
        gives(took, f"prompt_{name}")
        assert (computing + took > printed("told_both")) is longer


def test_a_token_crosses_to_the_other_node_once() -> None:
    """Ports filled copy by copy; tokens live on all GPUs in turn."""
    chosen = grouped_router.chosen(4_000)
    far, near = 0, 0
    for home, experts in enumerate(chosen.tolist()):
        own, homes = home % 16, {e // 16 for e in experts}
        other = {gpu for gpu in homes if gpu // 8 != own // 8}
        far += bool(other)
        entry = (own + 8) % 16  # the GPU of the other node that takes the copy
        near += len(homes - other - {own}) + len(other - {entry})
    rows, width = prefill_time.ROWS, 7168
    found = prefill_time.by_node_s()
    assert found["far"] == pytest.approx(rows * far / 4_000 * width / 50e9, rel=0.02)
    assert found["near"] == pytest.approx(rows * near / 4_000 * width / 200e9, rel=0.02)
    assert 1 - comb(4, 4) * 2 / comb(8, 4) == pytest.approx(
        grouped_router.places_reached(2) - 1, abs=0.01
    )
