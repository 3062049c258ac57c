"""Random small models of every kind, for hypothesis to choose from."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape, model
from llmserve_lab.catalog.records.attention import (
    Attention,
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.ffn import Ffn, GeluFfn, MoeFfn, SwigluFfn
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Integers

few = st.integers(1, 3)
flag = st.booleans()


@st.composite
def grouped(draw: st.DrawFn) -> GroupedQueryAttention:
    n_kv_heads = draw(few)
    return GroupedQueryAttention(
        n_heads=n_kv_heads * draw(few),
        n_kv_heads=n_kv_heads,
        d_head=2 * draw(few),
        qkv_bias=draw(flag),
        out_bias=draw(flag),
        qk_norm=draw(flag),
    )


latents = st.builds(
    LatentAttention,
    n_heads=few,
    d_head=few,
    d_v=few,
    d_latent=st.integers(1, 5),
    d_rope=st.sampled_from([2, 4]),
    d_q=st.none() | few,
)


@st.composite
def experts(draw: st.DrawFn, n_layers: int) -> MoeFfn:
    n_experts = draw(st.integers(1, 5))
    return MoeFfn(
        d_ff=draw(few),
        n_experts=n_experts,
        n_shared=draw(st.integers(0, 2)),
        top_k=draw(st.integers(1, n_experts)),
        n_dense_layers=draw(st.integers(0, n_layers)),
        d_ff_dense=draw(few),
        router_bias=draw(flag),
    )


@st.composite
def shapes(
    draw: st.DrawFn,
    attention: st.SearchStrategy[Attention] | None = None,
    ffn: st.SearchStrategy[Ffn] | None = None,
    most_layers: int = 3,
) -> ModelShape:
    n_layers = draw(st.integers(1, most_layers))
    dense = st.builds(GeluFfn, d_ff=few) | st.builds(SwigluFfn, d_ff=few)
    return tiny_shape(
        n_layers=n_layers,
        d_model=draw(st.integers(2, 6)),
        vocab=draw(st.integers(5, 9)),
        attention=draw(grouped() | latents if attention is None else attention),
        ffn=draw(dense | experts(n_layers) if ffn is None else ffn),
        norm=draw(st.sampled_from(["rms", "layer"])),
        tied=draw(flag),
    )


@st.composite
def models(draw: st.DrawFn, /, **kinds: Any) -> Transformer:
    return Transformer(
        draw(shapes(**kinds)),
        seed=draw(st.integers(0, 99)),
        absorbed=draw(flag),
        router_scores=draw(st.sampled_from(["softmax", "sigmoid"])),
    )


seeds = st.integers(0, 2**32 - 1)


@cache
def articles_model() -> Transformer:
    """One layer of the 512-wide model of articles 03 and 04, drawn once."""
    return Transformer(replace(model("tiny-512"), n_layers=1))


def prompt(of: Transformer, num_tokens: int, seed: int) -> Integers:
    return np.random.default_rng(seed).integers(of.shape.vocab, size=num_tokens)
