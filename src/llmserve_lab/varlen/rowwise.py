"""Which steps can tell whose row it is? Send every row through alone, and see.

A step that works row by row returns the same bits for a row in any company. Sums are
taken in a fixed order here, so that a difference is one of meaning, not of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.checks import whole
from llmserve_lab.transformer import ORDERED, Transformer, attend, causal_mask
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rope import rotate
from llmserve_lab.transformer.rowwise import (
    gelu,
    linear,
    merge_heads,
    norm,
    split_heads,
)

Step = Callable[[Array], Array]


def steps(model: Transformer, layer: int = 0) -> Iterator[tuple[str, Step]]:
    """Steps of a block, each from rows [n, ·] to rows [n, ·], in order.

    Attention takes queries, keys and values side by side, [n, (h + 2·h_kv)·d_h]. It
    and the positions are told of no boundary: all rows are one sequence to them. A
    residual adds a row to itself: it does not look at another row.

    Raises:
        ValueError: the attention is latent, or the FFN is not of the GeLU kind, or no
            such layer is there.
    """
    whole(first=0, layer=layer)
    if layer >= model.shape.n_layers:
        raise ValueError(f"layer must be below {model.shape.n_layers}, got {layer}")
    spec, ffn = model.shape.attention, model.shape.ffn
    if not isinstance(spec, GroupedQueryAttention):
        raise ValueError(f"model must have heads that cache, got {spec.kind}")
    if not isinstance(ffn, GeluFfn):
        raise ValueError(f"model must have a GeLU FFN, got {type(ffn).__name__}")
    weights = model.weights.layer(layer)

    def normed(name: str) -> Step:
        gain, bias = weights[name], weights.get(f"{name}.bias")
        return lambda rows: norm(rows, gain, bias, run=ORDERED)

    def times(*names: str) -> Step:
        matrix = np.concatenate([weights[name] for name in names], axis=1)
        return lambda rows: linear(rows, matrix, run=ORDERED)

    yield "LayerNorm", normed("input_layernorm")
    yield "QKV projection", times("q_proj", "k_proj", "v_proj")
    yield "rotary positions", lambda rows: _turned(rows, spec)
    yield "attention", lambda rows: _one_sequence(rows, spec)
    yield "output projection", times("o_proj")
    yield "residual add", lambda rows: rows + rows
    yield "LayerNorm, second", normed("post_attention_layernorm")
    yield "FFN up", times("up_proj")
    yield "GeLU", gelu
    yield "FFN down", times("down_proj")
    yield "residual add, second", lambda rows: rows + rows


def _turned(rows: Array, spec: GroupedQueryAttention) -> Array:
    """Queries and keys turned by their place in the stack, values as they are."""
    turn = (spec.n_heads + spec.n_kv_heads) * spec.d_head
    heads = split_heads(rows[:, :turn], spec.d_head)
    turned = merge_heads(rotate(heads, np.arange(len(rows))))
    return np.concatenate([turned, rows[:, turn:]], axis=1)


def _one_sequence(rows: Array, spec: GroupedQueryAttention) -> Array:
    cuts = np.cumsum([spec.n_heads, spec.n_kv_heads]) * spec.d_head
    query, key, value = (
        split_heads(part, spec.d_head) for part in np.split(rows, cuts, axis=1)
    )
    mask = causal_mask(len(rows), len(rows))
    return merge_heads(attend(query, key, value, mask, run=ORDERED))


def same_alone(step: Step, rows: Array) -> int:
    """How many of the rows [n, ·] come out bit for bit the same when sent alone."""
    together = step(rows)
    return sum(
        np.array_equal(together[i], step(rows[i : i + 1])[0]) for i in range(len(rows))
    )
