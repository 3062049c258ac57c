"""Prefill with the same formulas: thousands of rows, no cache, the vanilla form.

Three things differ from decode. Keys and values are made once for all rows, so
absorbing would only widen them. The kernels for many rows send one copy of a row to a
node, which hands it on inside, however many of its experts live there. And they run on
multiprocessors that the products then lack.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.setup import Setup
from llmserve_lab.deepseek.shares import generation
from llmserve_lab.deepseek.twin import Twin

NODE_LIMIT = 4  # DeepSeek-V3 sends a row to at most that many nodes


def nodes_touched(setup: Setup) -> float:
    """Nodes that hold an expert of a row, on average, at most four of them."""
    experts, nodes = setup.experts, setup.n_nodes
    elsewhere = int(experts.n_experts * (1 - 1 / nodes))
    missed = comb(elsewhere, experts.top_k) / comb(experts.n_experts, experts.top_k)
    return min(NODE_LIMIT, nodes * (1 - missed))


def prefill_blocks(
    twin: Twin, *, prompt: float, rows: Any, **more: Any
) -> dict[str, Any]:
    """Seconds of each block of a pass over ``rows`` rows a GPU, prompts whole.

    ``more`` are arguments of the formulas that differ from the twin's.
    """
    choices = replace(twin.choices, form="vanilla", near_copies="near")
    at_once = replace(twin, choices=choices)
    known = at_once.arguments(batch=rows / prompt, context=0.0)
    known |= {"chunk": prompt, "sent_copies": nodes_touched(twin.setup)} | more
    shares = choices.shares[generation(twin.setup.accelerator)]
    known["attn_rate"] *= shares.attention_in(prompt) / shares.attention
    for rate in ("gemm_rate", "attn_rate"):
        known[rate] *= 1 - choices.lent_share
    return at_once.blocks_of(known)


def prefill_s(twin: Twin, *, prompt: float, rows: Any, **more: Any) -> Any:
    """Seconds of that pass."""
    blocks = prefill_blocks(twin, prompt=prompt, rows=rows, **more)
    if twin.choices.overlap == "none":
        return f.TURN_S(**blocks)
    return f.HIDDEN_S(n_batches=twin.choices.n_batches, **blocks)
