"""The same model in plain Python: one number at a time, one row at a time, no NumPy.

Rotary angles are turned as complex numbers, and a row of attention visits only what it
may see, so nothing is computed here the way the package computes it.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.transformer import Transformer

Row = list[float]


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(left, right, strict=True))


def times(row: Row, matrix: list[Row], bias: Row | None = None) -> Row:
    columns = [dot(row, column) for column in zip(*matrix, strict=True)]
    return [c + b for c, b in zip(columns, bias or [0.0] * len(columns), strict=True)]


def softmax(scores: Row) -> Row:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def normed(row: Row, gain: Row, bias: Row | None = None) -> Row:
    mean = 0.0 if bias is None else math.fsum(row) / len(row)
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in row) / len(row) + 1e-6)
    shift = bias or [0.0] * len(row)
    return [
        (x - mean) / spread * g + b for x, g, b in zip(row, gain, shift, strict=True)
    ]


def rotated(vector: Row, position: int) -> Row:
    half = len(vector) // 2
    turned = [
        complex(vector[p], vector[p + half])
        * cmath.exp(1j * position / 10_000 ** (2 * p / len(vector)))
        for p in range(half)
    ]
    return [z.real for z in turned] + [z.imag for z in turned]


def attended(query: Row, keys: list[Row], values: list[Row], scale: float) -> Row:
    """One query of one head over the keys that it may see, and no others."""
    weights = softmax([scale * dot(query, key) for key in keys])
    return [dot(weights, column) for column in zip(*values, strict=True)]


def pieces(row: Row, width: int) -> list[Row]:
    return [row[start : start + width] for start in range(0, len(row), width)]


def heads(spec: Any, w: dict[str, Any], row: Row, position: int) -> list[list[Row]]:
    """Queries, keys and values of one row, each a list of heads."""
    if isinstance(spec, GroupedQueryAttention):
        q, k, v = (
            pieces(times(row, w[f"{p}_proj"], w.get(f"{p}_proj.bias")), spec.d_head)
            for p in "qkv"
        )
        if spec.qk_norm:
            q = [normed(head, w["q_norm"]) for head in q]
            k = [normed(head, w["k_norm"]) for head in k]
        return [[rotated(x, position) for x in q], [rotated(x, position) for x in k], v]
    cut = spec.d_head
    if spec.d_q is None:
        flat = times(row, w["q_proj"])
    else:
        low = normed(times(row, w["q_a_proj"]), w["q_a_layernorm"])
        flat = times(low, w["q_b_proj"])
    both = times(row, w["kv_a_proj_with_mqa"])
    latent = normed(both[: spec.d_latent], w["kv_a_layernorm"])
    shared = rotated(both[spec.d_latent :], position)
    made = pieces(times(latent, w["kv_b_proj"]), cut + spec.d_v)
    queries = pieces(flat, cut + spec.d_rope)
    return [
        [q[:cut] + rotated(q[cut:], position) for q in queries],
        [kv[:cut] + shared for kv in made],
        [kv[cut:] for kv in made],
    ]


def swiglu(
    row: Row, w: dict[str, Any], kind: str = "", index: int | None = None
) -> Row:
    gate, up, down = (
        w[f"{kind}{name}_proj"] if index is None else w[f"{kind}{name}_proj"][index]
        for name in ("gate", "up", "down")
    )
    wide = zip(times(row, gate), times(row, up), strict=True)
    return times([g / (1 + math.exp(-g)) * u for g, u in wide], down)


def gelu(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def fed(model: Transformer, w: dict[str, Any], row: Row) -> Row:
    """The FFN on one row: dense, or one chosen expert after the other."""
    spec: Any = model.shape.ffn
    if isinstance(spec, GeluFfn):
        return times([gelu(x) for x in times(row, w["up_proj"])], w["down_proj"])
    if "router" not in w:
        return swiglu(row, w)
    raw = times(row, w["router"])
    sigmoids = [1 / (1 + math.exp(-x)) for x in raw]
    score = softmax(raw) if model.block.router_scores == "softmax" else sigmoids
    bias = w.get("router.bias", [0.0] * len(raw))
    order = sorted(range(len(raw)), key=lambda e: (-(score[e] + bias[e]), e))
    chosen = order[: spec.top_k]
    total = math.fsum(score[e] for e in chosen)
    parts = [(score[e] / total, swiglu(row, w, "experts.", e)) for e in chosen]
    parts += [(1, swiglu(row, w, "shared_experts.", e)) for e in range(spec.n_shared)]
    return [math.fsum(s * part[i] for s, part in parts) for i in range(len(row))]


def logits(model: Transformer, tokens: Sequence[int]) -> list[Row]:
    """Logits of one request, a list of rows."""
    weights, spec = model.weights, model.shape.attention
    rows = [weights.embedding[token].tolist() for token in tokens]
    for layer in range(model.shape.n_layers):
        w = {name: array.tolist() for name, array in weights.layer(layer).items()}
        first, second = (
            (w[name], w.get(f"{name}.bias"))
            for name in ("input_layernorm", "post_attention_layernorm")
        )
        made = [heads(spec, w, normed(row, *first), i) for i, row in enumerate(rows)]
        for i, row in enumerate(rows):
            out: Row = []
            for head, query in enumerate(made[i][0]):
                own = head * len(made[0][1]) // len(made[i][0])
                seen = made[: i + 1]
                keys, values = [s[1][own] for s in seen], [s[2][own] for s in seen]
                out += attended(query, keys, values, 1 / math.sqrt(len(query)))
            delta = times(out, w["o_proj"], w.get("o_proj.bias"))
            row = [x + y for x, y in zip(row, delta, strict=True)]
            delta = fed(model, w, normed(row, *second))
            rows[i] = [x + y for x, y in zip(row, delta, strict=True)]
    gain, bias = weights.final_norm
    last = (gain.tolist(), None if bias is None else bias.tolist())
    head_ = weights.lm_head.tolist()
    return [times(normed(row, *last), head_) for row in rows]
