"""Multi-head latent attention (MLA): one latent and one rotary key serve all heads.

Vanilla, keys and values of every head are made from the latents, all of them, each
time. Absorbed, the matrix that would make them moves over to the query and the result:
every head works on the latent itself, as if it were the one key–value head of MQA. The
outputs are equal, since (q·W)·c = q·(W·c) (DeepSeek-V2, arXiv 2405.04434, section 2.1).
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Integers
from llmserve_lab.transformer.attention_context import AttentionContext, Entries
from llmserve_lab.transformer.rope import rotate
from llmserve_lab.transformer.rowwise import linear, merge_heads, rms_norm, split_heads


def latent_query(
    rows: Array,
    weights: Entries,
    spec: LatentAttention,
    positions: Integers,
    *,
    run: Execution = PLAIN,
) -> tuple[Array, Array]:
    """Query of rows [n, d]: plain part [n, h, d_h] and rotary part [n, h, d_r]."""
    if spec.d_q is None:
        flat = linear(rows, weights["q_proj"], run=run)
    else:
        latent = linear(rows, weights["q_a_proj"], run=run)
        run.note("query latent", "n d_q", latent)
        latent = rms_norm(latent, weights["q_a_layernorm"], run=run)
        flat = linear(latent, weights["q_b_proj"], run=run)
    heads = split_heads(flat, spec.d_head + spec.d_rope)
    plain, rotary = np.split(heads, [spec.d_head], axis=-1)
    return plain, rotate(rotary, positions)


def latent_entries(
    rows: Array,
    weights: Entries,
    spec: LatentAttention,
    positions: Integers,
    *,
    run: Execution = PLAIN,
) -> dict[str, Array]:
    """What rows [n, d] leave in the cache: latent [n, d_c], rotary key [n, d_r]."""
    both = linear(rows, weights["kv_a_proj_with_mqa"], run=run)
    latent, rotary = np.split(both, [spec.d_latent], axis=-1)
    return {
        # The norm goes in before the cache and the rotation too, so that nothing has to
        # be redone when the entry is read; only the rotary key carries its position.
        "latent": rms_norm(latent, weights["kv_a_layernorm"], run=run),
        "rotary_key": rotate(rotary[:, None], positions)[:, 0],
    }


def latent_attention(
    rows: Array,
    weights: Entries,
    spec: LatentAttention,
    view: AttentionContext,
    *,
    absorbed: bool = False,
    run: Execution = PLAIN,
) -> Array:
    """Rows [n, d] → [n, d], through keys and values or, absorbed, through latents."""
    plain, rotary = latent_query(rows, weights, spec, view.positions, run=run)
    run.note("query", "n h d_h", plain)
    run.note("rotary query", "n h d_r", rotary)
    entries = latent_entries(rows, weights, spec, view.positions, run=run)
    run.note("latent", "n d_c", entries["latent"])
    run.note("rotary key", "n d_r", entries["rotary_key"])
    form = absorbed_form if absorbed else vanilla_form
    known = view.recall(entries)
    heads = form(plain, rotary, known, weights["kv_b_proj"], spec, view, run)
    run.note("attention output", "n h d_v", heads)
    return linear(merge_heads(heads), weights["o_proj"], run=run)


def vanilla_form(
    plain: Array,
    rotary: Array,
    known: Entries,
    kv_b_proj: Array,
    spec: LatentAttention,
    view: AttentionContext,
    run: Execution,
) -> Array:
    """Make keys and values of all m latents, then attend as if they had been cached."""
    made = linear(known["latent"], kv_b_proj, run=run)
    key, value = np.split(
        split_heads(made, spec.d_head + spec.d_v), [spec.d_head], axis=-1
    )
    run.note("key", "ℓ+n h d_h", key)
    run.note("value", "ℓ+n h d_v", value)
    shared = known["rotary_key"][:, None]
    shared = np.broadcast_to(shared, (*key.shape[:2], spec.d_rope))
    query = np.concatenate([plain, rotary], axis=-1)
    return view.attend(query, np.concatenate([key, shared], axis=-1), value, run=run)


def absorbed_form(
    plain: Array,
    rotary: Array,
    known: Entries,
    kv_b_proj: Array,
    spec: LatentAttention,
    view: AttentionContext,
    run: Execution,
) -> Array:
    """Bring the query into the space of the latents, and only the result back."""
    by_head = split_heads(kv_b_proj, spec.d_head + spec.d_v).transpose(1, 0, 2)
    to_key, to_value = np.split(by_head, [spec.d_head], axis=-1)  # [h, d_c, d_h | d_v]
    turned = run.linear(plain.transpose(1, 0, 2), to_key.transpose(0, 2, 1))
    query = np.concatenate([turned.transpose(1, 0, 2), rotary], axis=-1)
    run.note("query on latents", "n h d_c+d_r", query)
    latent = known["latent"][:, None]
    key = np.concatenate([latent, known["rotary_key"][:, None]], axis=-1)
    # The latent is wider than a head, but the score is still that of d_h + d_r
    # features: scaling by the width of what is multiplied would change the softmax.
    scale = (spec.d_head + spec.d_rope) ** -0.5
    mixed = view.attend(query, key, latent, scale=scale, run=run)
    run.note("mixed latents", "n h d_c", mixed)
    return run.linear(mixed.transpose(1, 0, 2), to_value).transpose(1, 0, 2)
