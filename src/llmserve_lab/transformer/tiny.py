"""Models small enough for a test or a page, of every kind that the catalog knows."""

from __future__ import annotations

from typing import Literal

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import (
    Attention,
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.ffn import Ffn, MoeFfn, SwigluFfn


def tiny_latent(*, n_heads: int = 4, d_head: int = 8) -> LatentAttention:
    """MLA with a latent of 2·d_head and a rotary key of d_head."""
    return LatentAttention(
        n_heads=n_heads,
        d_head=d_head,
        d_v=d_head,
        d_latent=2 * d_head,
        d_rope=d_head,
        d_q=3 * d_head,
    )


def tiny_moe(
    *, d_ff: int = 16, n_experts: int = 4, top_k: int = 2, n_dense_layers: int = 1
) -> MoeFfn:
    """A mixture of experts with one shared one, and a biased router."""
    return MoeFfn(
        d_ff=d_ff,
        n_experts=n_experts,
        n_shared=1,
        top_k=top_k,
        n_dense_layers=n_dense_layers,
        d_ff_dense=4 * d_ff,
    )


def tiny_shape(
    *,
    n_layers: int = 2,
    d_model: int = 32,
    vocab: int = 61,
    n_heads: int = 4,
    n_kv_heads: int = 2,
    d_head: int = 8,
    attention: Attention | None = None,
    ffn: Ffn | None = None,
    norm: Literal["rms", "layer"] = "rms",
    tied: bool = False,
) -> ModelShape:
    """A Llama in miniature, or with another ``attention`` or ``ffn`` what they say.

    Raises:
        ValueError: the catalog's shape refuses the numbers.
    """
    return ModelShape(
        name="a tiny model",
        key="tiny",
        source="made up",
        n_layers=n_layers,
        d_model=d_model,
        vocab=vocab,
        attention=attention
        or GroupedQueryAttention(n_heads=n_heads, n_kv_heads=n_kv_heads, d_head=d_head),
        ffn=ffn or SwigluFfn(d_ff=2 * d_model),
        norm=norm,
        tied=tied,
    )
