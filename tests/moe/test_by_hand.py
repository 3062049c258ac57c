"""The lines that are worked out by hand, worked out again from the digits printed."""

from __future__ import annotations

import json
import re
from functools import cache
from math import comb
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.moe import grouped_router, prefill_time, serving, token_time
from llmserve_lab.moe import layer_time as module
from llmserve_lab.moe.page import group_charts, overlap
from tests.formula.javascript import evaluate

PAGE = Path(__file__).resolve().parents[2] / "chapters" / "mixture_of_experts.ipynb"
WAYS = ("out", "back")
NUMBER = re.compile(r"\[([^\[\]]+)\]\(#num-(\w+)\)")


@cache
def shown() -> dict[str, str]:
    """Every number of the page's prose, as it is printed."""
    cells = json.loads(PAGE.read_text("utf8"))["cells"]
    texts = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return {name: said for text in texts for said, name in NUMBER.findall(text)}


def printed(name: str) -> float:
    """A printed number; a percentage as a share."""
    value = float(re.sub(r"[^\d.]", "", shown()[name].replace("PFLOP", "")))
    return value / 100 if shown()[name].endswith("%") else value


def gives(found: float, name: str) -> None:
    """What is found rounds to the printed number, and the digits tried are its own."""
    digits = shown()[name].split(" ")[0].rstrip("%").partition(".")[2]
    scale = 100 if shown()[name].endswith("%") else 1
    assert f"{scale * found:.{len(digits)}f}".rstrip("%") == re.sub(
        r"[^\d.]", "", shown()[name]
    )


def test_the_smallest_group_follows_from_what_is_printed() -> None:
    left = printed("h800_gb") - printed("rest") - printed("kept")
    gives(left, "free")
    gives(printed("routed") / printed("free"), "quotient")
    gives(printed("rest") + printed("routed") / 8, "on8")
    h200 = printed("h200_gb") - printed("rest") - printed("kept")
    assert printed("exact_h200") == np.ceil(printed("routed") / h200)


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


def test_the_small_group_needs_nearly_its_deadline_for_any_batch() -> None:
    fixed = printed("read16") + printed("own_part") + 2 * printed("start")
    gives(fixed * printed("layers") / 1e3, "floor16")
    assert printed("floor16") < printed("promised")


def test_with_half_the_tokens_reading_decides_in_the_three_groups_only() -> None:
    times = {g: serving.layer_s(float(g), 64.0) for g in (16, 32, 64, 128, 256)}
    decides = [t["read"] > t["compute"] for t in times.values()]
    assert decides == [True, True, True, False, False]


def gaps_ms() -> float:
    """A kernel's time, for those of each layer, from the digits printed."""
    found = printed("one_gap") * printed("layer_kernels") * printed("all_layers") / 1e3
    assert printed("gaps") == pytest.approx(found, abs=0.5)
    return found


def test_the_opening_adds_up_and_its_last_column_divides() -> None:
    for crowd in ("alone", "crowd"):
        parts = [printed(f"{name}{crowd}") for name in ("", "rest_", "sent_")]
        gives(sum(parts), f"sum_{crowd}")
        whole = printed(f"sum_{crowd}") + gaps_ms()
        assert printed(f"token_{crowd}") == pytest.approx(whole, abs=0.5)
    gives(printed("most_crowd") / printed("most_alone"), "times_experts")
    gives(printed("rest_crowd") / printed("rest_alone"), "times_rest")
    gives(printed("sent_crowd") / printed("sent_alone"), "times_sent")
    gives(printed("sum_crowd") / printed("sum_alone"), "times_all")
    ratio = printed("token_crowd") / printed("token_alone")
    assert printed("times_token") == pytest.approx(ratio, abs=0.1)
    gives(printed("layers") * 2 * printed("start") / 1e3, "fixed")
    wire = 64 / 8 * 8 * 7 / 8 * 3 * 7168 / (printed("h200_near") * 1e9)
    gives(1e3 * printed("layers") * wire, "wire_crowd")


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
    halves = sum(printed(n) for n in ("read16", "own_part", "half_attention"))
    gives(halves, "works16")
    gives(overlap.gained(16.0), "gained16")
    assert 0.005 < overlap.gained(16.0) < 0.015  # little, but not nothing


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


def test_a_server_in_slices_adds_up_as_it_is_written_out() -> None:
    """One request; the parts are multiplied and added from the digits printed."""
    layers = printed("layers")
    gives(printed("one_expert") * layers / 1e3, "sliced_experts")
    own = printed("sliced_whole") + (printed("own_read") - printed("sliced_whole")) / 8
    gives(own, "sliced_read")
    gives(printed("sliced_read") / printed("h200_reached"), "sliced_weights")
    gives(printed("reduces") * printed("reduce_us") / 1e3, "sliced_sent")
    assert printed("reduces") == 2 * printed("all_layers")
    parts = [printed(f"sliced_{name}") for name in ("experts", "weights", "sent")]
    gives(sum(parts) + gaps_ms(), "sliced1")
    for shared, crowd in (("shared1", "alone"), ("shared64", "crowd")):
        whole = printed(f"sum_{crowd}") + gaps_ms()
        assert printed(shared) == pytest.approx(whole, abs=0.11)


def test_the_log_is_one_that_this_server_could_write() -> None:
    """Choices of a GPU over all layers, the busiest a whole number of them."""
    gives(printed("layers") * printed("rows") * printed("k"), "log_mean")
    gives(printed("log_mean") / printed("log_most"), "log_balance")


def test_tokens_a_second_are_requests_over_the_deadline() -> None:
    for gpus in (16, 64):
        gives(printed(f"most{gpus}") / (printed("promised") / 1e3), f"rate{gpus}")
        found = overlap.written(module.in_turn_s, float(gpus), 25.0)
        assert found == pytest.approx(printed(f"rate{gpus}"), rel=0.09)
    later = [
        module.promised_rows(module.in_turn_s, g, module.LATER_S) / module.LATER_S
        for g in (16, 64)
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
