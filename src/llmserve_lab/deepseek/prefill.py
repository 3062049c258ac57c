"""Prefill with the same formulas: thousands of rows, no cache, the vanilla form.

Two things differ from decode. Keys and values are made once for all rows, so absorbing
would only widen them. And the kernels for many rows send one copy of a row to a node,
which hands it on inside, however many of its experts live there.
"""

from __future__ import annotations

from math import comb
from typing import Any

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.setup import Setup
from llmserve_lab.deepseek.twin import BLOCKS, Twin, computed

NODE_LIMIT = 4  # DeepSeek-V3 sends a row to at most that many nodes


def nodes_touched(setup: Setup) -> float:
    """Nodes that hold an expert of a row, on average, at most four of them."""
    experts, nodes = setup.experts, setup.n_nodes
    elsewhere = int(experts.n_experts * (1 - 1 / nodes))
    missed = comb(elsewhere, experts.top_k) / comb(experts.n_experts, experts.top_k)
    return min(NODE_LIMIT, nodes * (1 - missed))


def prefill_blocks(twin: Twin, *, prompt: float, rows: float) -> dict[str, Any]:
    """Seconds of each block of a pass over ``rows`` rows a GPU, prompts whole."""
    known = twin.arguments(batch=rows / prompt, context=0.0)
    known |= {"chunk": prompt, "sent_copies": nodes_touched(twin.setup)}
    pairs = {"attn_flops_per_pair": known["vanilla_pair_flops"]}
    known["mla_compute_s"] = f.MLA_COMPUTE_S.at(known, pairs)
    return {part.name: computed(part, known) for part in BLOCKS}


def prefill_s(twin: Twin, *, prompt: float, rows: float) -> float:
    """Seconds of that pass."""
    blocks = prefill_blocks(twin, prompt=prompt, rows=rows)
    if twin.choices.overlap == "none":
        return float(f.TURN_S(**blocks))
    return float(f.HIDDEN_S(n_batches=twin.choices.n_batches, **blocks))
