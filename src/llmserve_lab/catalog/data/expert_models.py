"""Mixtures of experts by key, shapes from their public config.json.

Where layers look back through a window only (gpt-oss, Llama 4), the cache of a long
context is smaller than a shape says, which has the size of a token's entry alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.shape import ModelShape

MIXTRAL = "Mixtral of Experts, arXiv 2401.04088"
QWEN_3 = "Qwen3 Technical Report, arXiv 2505.09388"
GPT_OSS = "gpt-oss-120b and gpt-oss-20b Model Card, arXiv 2508.10925"
GLM = "GLM-4.5, arXiv 2508.06471, table 1"
LLAMA_4 = "Llama-4-Maverick-17B-128E model card"
MINIMAX = "MiniMax-M2.5 model card"

_params = partial(Cited, unit="parameter", kind="paper")


def _config_of(repository: str) -> str:
    return f"config.json of {repository}"


MIXTRAL_8X7B = ModelShape(
    name="Mixtral 8x7B",
    key="mixtral-8x7b",
    source=_config_of("mistralai/Mixtral-8x7B-v0.1"),
    n_layers=32,
    d_model=4096,
    vocab=32_000,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=8, d_head=128),
    ffn=MoeFfn(
        d_ff=14_336,
        n_experts=8,
        n_shared=0,
        top_k=2,
        n_dense_layers=0,
        d_ff_dense=14_336,
        router_bias=False,
    ),
    max_context=32_768,
    published={
        "params_total": _params(47e9, source=MIXTRAL),
        "params_active": _params(13e9, source=MIXTRAL),
    },
)
QWEN_3_235B = ModelShape(
    name="Qwen3-235B-A22B",
    key="qwen3-235b-a22b",
    source=_config_of("Qwen/Qwen3-235B-A22B"),
    n_layers=94,
    d_model=4096,
    vocab=151_936,
    attention=GroupedQueryAttention(n_heads=64, n_kv_heads=4, d_head=128, qk_norm=True),
    ffn=MoeFfn(
        d_ff=1536,
        n_experts=128,
        n_shared=0,
        top_k=8,
        n_dense_layers=0,
        d_ff_dense=12_288,
        router_bias=False,
    ),
    max_context=40_960,
    published={
        "params_total": _params(235e9, source=QWEN_3),
        "params_active": _params(22e9, source=QWEN_3),
    },
)
GPT_OSS_120B = ModelShape(
    name="gpt-oss-120b",
    key="gpt-oss-120b",
    source=_config_of("openai/gpt-oss-120b"),
    n_layers=36,
    d_model=2880,
    vocab=201_088,
    attention=GroupedQueryAttention(
        n_heads=64, n_kv_heads=8, d_head=64, qkv_bias=True, out_bias=True, sinks=True
    ),
    ffn=MoeFfn(
        d_ff=2880,
        n_experts=128,
        n_shared=0,
        top_k=4,
        n_dense_layers=0,
        d_ff_dense=2880,
        expert_bias=True,
    ),
    max_context=131_072,
    published={
        "params_total": _params(116.8e9, source=GPT_OSS),
        "params_active": _params(5.1e9, source=GPT_OSS),
    },
)
GLM_45 = ModelShape(
    name="GLM-4.5",
    key="glm-4.5",
    source=_config_of("zai-org/GLM-4.5"),
    n_layers=92,
    d_model=5120,
    vocab=151_552,
    attention=GroupedQueryAttention(
        n_heads=96, n_kv_heads=8, d_head=128, qkv_bias=True, qk_norm=True
    ),
    ffn=MoeFfn(
        d_ff=1536,
        n_experts=160,
        n_shared=1,
        top_k=8,
        n_dense_layers=3,
        d_ff_dense=12_288,
    ),
    max_context=131_072,
)
GLM_45_REPORT = _params(
    355e9, source=GLM, note="with its layer for multi-token prediction, no embeddings"
)
LLAMA_4_SCOUT = ModelShape(
    name="Llama-4 Scout",
    key="llama-4-scout",
    source=_config_of("meta-llama/Llama-4-Scout-17B-16E-Instruct"),
    n_layers=48,
    d_model=5120,
    vocab=202_048,
    attention=GroupedQueryAttention(n_heads=40, n_kv_heads=8, d_head=128),
    ffn=MoeFfn(
        d_ff=8192,
        n_experts=16,
        n_shared=1,
        top_k=1,
        n_dense_layers=0,
        d_ff_dense=16_384,
        router_bias=False,
    ),
    max_context=10_485_760,
)
# Every other layer is dense; which ones they are changes no size.
LLAMA_4_MAVERICK = replace(
    LLAMA_4_SCOUT,
    name="Llama-4 Maverick",
    key="llama-4-maverick",
    source=_config_of("meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
    ffn=MoeFfn(
        d_ff=8192,
        n_experts=128,
        n_shared=1,
        top_k=1,
        n_dense_layers=24,
        d_ff_dense=16_384,
        router_bias=False,
    ),
    max_context=1_048_576,
    published={"params_total": _params(400e9, source=LLAMA_4)},
)
DEEPSEEK_V32 = ModelShape(
    name="DeepSeek-V3.2",
    key="deepseek-v3.2",
    source=_config_of("deepseek-ai/DeepSeek-V3.2"),
    n_layers=61,
    d_model=7168,
    vocab=129_280,
    attention=LatentAttention(
        n_heads=128,
        d_head=128,
        d_v=128,
        d_latent=512,
        d_rope=64,
        d_q=1536,
        n_index_heads=64,
        d_index=128,
    ),
    ffn=MoeFfn(
        d_ff=2048,
        n_experts=256,
        n_shared=1,
        top_k=8,
        n_dense_layers=3,
        d_ff_dense=18_432,
    ),
    max_context=163_840,
)
MINIMAX_M25 = ModelShape(
    name="MiniMax-M2.5",
    key="minimax-m2.5",
    source=_config_of("MiniMaxAI/MiniMax-M2.5"),
    n_layers=62,
    d_model=3072,
    vocab=200_064,
    attention=GroupedQueryAttention(
        n_heads=48, n_kv_heads=8, d_head=128, norm_of_layer=True
    ),
    ffn=MoeFfn(
        d_ff=1536,
        n_experts=256,
        n_shared=0,
        top_k=8,
        n_dense_layers=0,
        d_ff_dense=1536,
    ),
    max_context=196_608,
    published={
        "params_total": _params(230e9, source=MINIMAX),
        "params_active": _params(10e9, source=MINIMAX),
    },
)
EXPERT_MODELS = (
    MIXTRAL_8X7B,
    QWEN_3_235B,
    GPT_OSS_120B,
    GLM_45,
    LLAMA_4_SCOUT,
    LLAMA_4_MAVERICK,
    MINIMAX_M25,
    DEEPSEEK_V32,
)
