"""A block on ranks: widen by columns, and then there are two ways to narrow again.

Both halves of a block widen a row and narrow it. Gathered, every matrix is cut by
columns (Strategy A), so what was widened must be whole before it is narrowed, and what
was narrowed must be whole before it is added: four gathers. Paired, the narrowing
matrix is cut by rows (Strategy B) and takes the part just as it is: two all-reduces.
The two differ in one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import Rank
from llmserve_lab.tensor_parallel.steps import Log
from llmserve_lab.transformer import AttentionContext
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.grouped_query import project
from llmserve_lab.transformer.rowwise import gelu, linear, merge_heads, norm, silu
from llmserve_lab.transformer.shard import COLUMNS, ROWS, Axis, shard

Layer = Mapping[str, Array]
Narrow = Callable[[Rank, str, Array, Layer, Log], Array]


@dataclass(frozen=True)
class Strategy:
    """A name, the axis along which narrowing matrices are cut, and their use."""

    name: str
    axis: Axis
    narrow: Narrow


def gather_narrow_gather(
    rank: Rank, name: str, part: Array, layer: Layer, log: Log
) -> Array:
    """Columns after columns: [n, k/g] → [n, k] → [n, d/g] → [n, d], two gathers."""
    whole = log("all-gather", part.shape, rank.all_gather(part, axis=1))
    weight = layer[name]
    some = linear(whole, weight, layer.get(f"{name}.bias"))
    log(f"{name} (columns)", whole.shape, some, weight)
    return log("all-gather", some.shape, rank.all_gather(some, axis=1))


def narrow_and_reduce(
    rank: Rank, name: str, part: Array, layer: Layer, log: Log
) -> Array:
    """Rows after columns: [n, k/g] → [n, d], a partial sum, one all-reduce."""
    weight = layer[name]
    partial = linear(part, weight, layer.get(f"{name}.bias"))
    log(f"{name} (rows)", part.shape, partial, weight, "partial sum")
    return log("all-reduce", partial.shape, rank.all_reduce(partial))


GATHERED = Strategy("Columns everywhere", COLUMNS, gather_narrow_gather)
PAIRED = Strategy("Columns, then rows", ROWS, narrow_and_reduce)
STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {"gathered": GATHERED, "paired": PAIRED}
)


def block(
    rank: Rank,
    rows: Array,
    layer: Layer,
    shape: ModelShape,
    view: AttentionContext,
    strategy: Strategy,
    log: Log | None = None,
) -> Array:
    """Rows [n, d] → [n, d], the same on every rank; ``layer`` holds all the weights.

    Raises:
        ValueError: the model cannot be cut for so many ranks.
        TypeError: it has latent attention or experts, whose steps are others.
    """
    attention_of(shape)
    if isinstance(shape.ffn, MoeFfn):
        raise TypeError(f"shape must have a dense FFN, got that of {shape.name}")
    mine = shard(layer, shape, rank, narrow=strategy.axis)
    log = log or Log()
    log("input", rows.shape, rows)
    normed = _norm("input_layernorm", rows, mine, log)
    heads = _attend(rank, normed, mine, shape, view, log)
    rows = rows + strategy.narrow(rank, "o_proj", heads, mine, log)
    log("+ residual", rows.shape, rows)
    normed = _norm("post_attention_layernorm", rows, mine, log)
    bent = _widen(normed, mine, log)
    rows = rows + strategy.narrow(rank, "down_proj", bent, mine, log)
    return log("+ residual", rows.shape, rows)


def attention_of(shape: ModelShape) -> GroupedQueryAttention:
    """The model's attention, if its heads have keys and values of their own.

    Raises:
        TypeError: it is latent attention.
    """
    if not isinstance(shape.attention, GroupedQueryAttention):
        raise TypeError(
            f"shape must have grouped-query attention, got {shape.attention.kind}"
        )
    return shape.attention


def _norm(name: str, rows: Array, layer: Layer, log: Log) -> Array:
    """Pointwise glue: every rank does it on its own copy."""
    normed = norm(rows, layer[name], layer.get(f"{name}.bias"))
    return log("norm (redundant)", rows.shape, normed)


def _attend(
    rank: Rank,
    rows: Array,
    layer: Layer,
    shape: ModelShape,
    view: AttentionContext,
    log: Log,
) -> Array:
    """Rows [n, d] → the rank's heads side by side, [n, h/g · d_h]; nothing is sent."""
    query, key, value = project(rows, layer, attention_of(shape), view.positions)
    fused = np.concatenate([layer[f"{part}_proj"] for part in "qkv"], axis=1)
    flat = np.concatenate([merge_heads(part) for part in (query, key, value)], axis=1)
    first = rank.index * query.shape[1] + 1
    heads = f"heads {first}–{first + query.shape[1] - 1}"
    log("QKV projection (columns)", rows.shape, flat, fused, heads)
    mixed = merge_heads(view.attend(query, key, value))
    return log("attention", flat.shape, mixed, remark=heads)


def _widen(rows: Array, layer: Layer, log: Log) -> Array:
    """Rows [n, d] → the rank's features [n, d_ff/g], bent; nothing is sent."""
    wide = log(
        "up_proj (columns)",
        rows.shape,
        linear(rows, layer["up_proj"]),
        layer["up_proj"],
    )
    if "gate_proj" not in layer:
        return log("GeLU", wide.shape, gelu(wide))
    gate = linear(rows, layer["gate_proj"])
    log("gate_proj (columns)", rows.shape, gate, layer["gate_proj"])
    return log("SiLU(gate) ⊙ up", gate.shape, silu(gate) * wide)
