"""Multi-head, grouped-query and multi-query attention, from rows to rows.

How many heads there are is read off the weights, so a rank that holds the columns of
some heads (and the rows of ``o_proj`` that belong to them) calls the same function and
gets its part of the sum.
"""

from __future__ import annotations

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Integers
from llmserve_lab.transformer.attention_context import AttentionContext, Entries
from llmserve_lab.transformer.rope import rotate
from llmserve_lab.transformer.rowwise import linear, merge_heads, rms_norm, split_heads


def project(
    rows: Array,
    weights: Entries,
    spec: GroupedQueryAttention,
    positions: Integers,
    *,
    run: Execution = PLAIN,
) -> tuple[Array, Array, Array]:
    """Query [n, h, d_h], key and value [n, h_kv, d_h] of rows [n, d], rotated."""
    heads = {}
    for part in "qkv":
        weight, bias = weights[f"{part}_proj"], weights.get(f"{part}_proj.bias")
        flat = linear(rows, weight, bias, run=run)
        run.note(f"{part}_proj", "n h·d_h" if part == "q" else "n h_kv·d_h", flat)
        heads[part] = split_heads(flat, spec.d_head)
    if spec.qk_norm:
        for part in "qk":
            heads[part] = rms_norm(heads[part], weights[f"{part}_norm"], run=run)
    return rotate(heads["q"], positions), rotate(heads["k"], positions), heads["v"]


def grouped_query(
    rows: Array,
    weights: Entries,
    spec: GroupedQueryAttention,
    view: AttentionContext,
    *,
    run: Execution = PLAIN,
) -> Array:
    """Rows [n, d] → [n, d]: project, attend within each request, project back."""
    query, key, value = project(rows, weights, spec, view.positions, run=run)
    run.note("query", "n h d_h", query)
    run.note("key", "n h_kv d_h", key)
    run.note("value", "n h_kv d_h", value)
    all_keys = view.recall({"key": key, "value": value})
    heads = view.attend(query, all_keys["key"], all_keys["value"], run=run)
    run.note("attention output", "n h d_h", heads)
    merged = merge_heads(heads)
    run.note("concatenated heads", "n h·d_h", merged)
    return linear(merged, weights["o_proj"], weights.get("o_proj.bias"), run=run)
