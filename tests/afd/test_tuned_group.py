"""A group that may choose, played by hand: its shared expert, and its size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from llmserve_lab.afd import coupled, tuned_group

H100, FULL = "h100-sxm", 1 / 0.779
READ, MUL, EXPERT = 2.8686e12, 1.1886e15, 3 * 7168 * 2048


def turn_of(layer: dict[str, float], ends: tuple[bool, ...]) -> float:
    """Two halves of one layer, played: ``ends`` say when a shared expert computes.

    Of each half, whether it waits until the FFN of both is through.
    """
    free, back = 0.0, [0.0, 0.0]
    starts = []
    for _ in range(60):
        starts.append(max(free, back[0]))
        arrived = []
        for half in (0, 1):
            free = max(free, back[half]) + layer["attn"]
            arrived.append(free + layer["there"])
        for half in (0, 1):
            free = max(free, arrived[half]) + layer["ffn"]
            free += 0 if ends[half] else layer["alone"]
            back[half] = free + layer["back"]
        free += sum(ends) * layer["alone"]
    return (starts[-1] - starts[-21]) / 20


@pytest.mark.parametrize("copies", ["expert", "node"])
def test_a_group_s_shared_expert_fills_its_waiting(copies: coupled.Copies) -> None:
    """The layer by hand, played: 44 MB less in the FFN, and once alone."""
    twin = coupled.group(H100, 96, "ideal halves")
    known = twin.arguments(batch=102, context=4096.0)
    known["dispatched_copies"] = coupled.copies_of_row(twin, copies)
    block = {name: float(each) for name, each in twin.blocks_of(known).items()}
    there, back = (float(each) / 58 for each in coupled.transfers_s(twin, known))
    alone = float(np.hypot(EXPERT / READ, 2 * EXPERT * 51 / MUL))
    products = [
        np.hypot(held * EXPERT + 17e6, 2 * EXPERT * rows_ * READ / MUL) / READ
        for held, rows_ in ((4, 51 * (8 * FULL + 1)), (3, 51 * 8 * FULL))
    ]
    ffn = (block["experts_s"] + block["moe_elementwise_s"]) / 58
    layer = {
        "attn": (block["mla_s"] + block["attn_elementwise_s"]) / 61,
        "ffn": ffn - float(products[0] - products[1]),
        "alone": alone,
        "there": there,
        "back": back,
    }
    step = float(tuned_group.apart_s(twin, known))
    plain = float(coupled.step_s(twin, known))
    turns = [turn_of(layer, ends) for ends in product((False, True), repeat=2)]
    whole = turn_of(layer | {"ffn": ffn, "alone": 0.0}, (False, False))
    assert (plain - step) / 58 == pytest.approx(whole - min(turns), abs=1.5e-6)
    assert (step < plain) is (copies == "expert")  # else there is no room for it


def test_smaller_groups_hold_more_experts_and_pay_where_loads_count() -> None:
    """Three of 32 GPUs, in one batch, at 38 ms and a copy for each node."""
    found = tuned_group.tuned_group(
        H100, 96, 0.038, shared=True, even=True, copies="node"
    )
    assert (found.n_gpus, found.n_batches) == (32, 1)
    one = tuned_group.tuned_group(
        H100, 96, 0.038, shared=True, even=False, copies="node"
    )
    assert one.n_gpus == 96 and found.gpu_tokens_per_s > 1.05 * one.gpu_tokens_per_s
    with pytest.raises(ValueError, match="tpot_s must be"):
        tuned_group.tuned_group(H100, 96, 0.0, shared=True, even=True)
