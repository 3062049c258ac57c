"""The models of the book, by key: shapes from their public config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.data.expert_models import EXPERT_MODELS
from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import GeluFfn, MoeFfn, SwigluFfn
from llmserve_lab.catalog.records.shape import ModelShape

LLAMA_2 = "Llama 2, arXiv 2307.09288, and the checkpoint's parameter count"
LLAMA_3 = "The Llama 3 Herd of Models, arXiv 2407.21783, and the checkpoint's count"
QWEN_25 = "Qwen2.5-72B model card"
QWEN_3 = "Qwen3-32B model card"
DEEPSEEK_V3 = "DeepSeek-V3 Technical Report, arXiv 2412.19437"
HARDWARE = "DeepSeek, Insights into DeepSeek-V3, arXiv 2505.09343, table 1"
KIMI_K2 = "Kimi K2 model card"
KIMI_REPORT = "Kimi K2: Open Agentic Intelligence, arXiv 2507.20534, table 2"
NOT_THE_CONFIG = "the public config.json counts 1.026e12 and 31.7e9"

_params = partial(Cited, unit="parameter", kind="paper")
_kv = partial(Cited, unit="byte/token", kind="paper", source=HARDWARE, note="16 bits")


def _config_of(repository: str) -> str:
    return f"config.json of {repository}"


LLAMA_2_7B = ModelShape(
    name="Llama-2-7B",
    key="llama-2-7b",
    source=_config_of("meta-llama/Llama-2-7b-hf"),
    n_layers=32,
    d_model=4096,
    vocab=32_000,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=32, d_head=128),
    ffn=SwigluFfn(d_ff=11_008),
    max_context=4096,
    published={"params_total": _params(6.738e9, source=LLAMA_2)},
)
LLAMA_2_70B = ModelShape(
    name="Llama-2-70B",
    key="llama-2-70b",
    source=_config_of("meta-llama/Llama-2-70b-hf"),
    n_layers=80,
    d_model=8192,
    vocab=32_000,
    attention=GroupedQueryAttention(n_heads=64, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=28_672),
    max_context=4096,
    published={"params_total": _params(68.98e9, source=LLAMA_2)},
)
LLAMA_3_8B = ModelShape(
    name="Llama-3-8B",
    key="llama-3-8b",
    source=_config_of("meta-llama/Meta-Llama-3-8B"),
    n_layers=32,
    d_model=4096,
    vocab=128_256,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=14_336),
    max_context=8192,
    published={"params_total": _params(8.03e9, source=LLAMA_3)},
)
LLAMA_3_70B = ModelShape(
    name="Llama-3-70B",
    key="llama-3-70b",
    source=_config_of("meta-llama/Meta-Llama-3-70B"),
    n_layers=80,
    d_model=8192,
    vocab=128_256,
    attention=GroupedQueryAttention(n_heads=64, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=28_672),
    max_context=8192,
    published={"params_total": _params(70.55e9, source=LLAMA_3)},
)
# The 3.1 models have the shapes of the 3 models; they read sixteen times as far.
LLAMA_31_8B = replace(
    LLAMA_3_8B,
    name="Llama-3.1-8B",
    key="llama-3.1-8b",
    source=_config_of("meta-llama/Llama-3.1-8B"),
    max_context=131_072,
)
LLAMA_31_70B = replace(
    LLAMA_3_70B,
    name="Llama-3.1-70B",
    key="llama-3.1-70b",
    source=_config_of("meta-llama/Llama-3.1-70B"),
    max_context=131_072,
)
LLAMA_31_405B = ModelShape(
    name="Llama-3.1-405B",
    key="llama-3.1-405b",
    source=_config_of("meta-llama/Llama-3.1-405B"),
    n_layers=126,
    d_model=16_384,
    vocab=128_256,
    attention=GroupedQueryAttention(n_heads=128, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=53_248),
    max_context=131_072,
    published={
        "params_total": _params(405.85e9, source=LLAMA_3),
        "kv_bytes_per_token": _kv(516_096),
    },
)
QWEN_25_72B = ModelShape(
    name="Qwen2.5-72B",
    key="qwen2.5-72b",
    source=_config_of("Qwen/Qwen2.5-72B"),
    n_layers=80,
    d_model=8192,
    vocab=152_064,
    attention=GroupedQueryAttention(
        n_heads=64, n_kv_heads=8, d_head=128, qkv_bias=True
    ),
    ffn=SwigluFfn(d_ff=29_568),
    max_context=131_072,
    published={
        "params_total": _params(72.7e9, source=QWEN_25),
        "kv_bytes_per_token": _kv(327_680),
    },
)
QWEN_3_32B = ModelShape(
    name="Qwen3-32B",
    key="qwen3-32b",
    source=_config_of("Qwen/Qwen3-32B"),
    n_layers=64,
    d_model=5120,
    vocab=151_936,
    attention=GroupedQueryAttention(n_heads=64, n_kv_heads=8, d_head=128, qk_norm=True),
    ffn=SwigluFfn(d_ff=25_600),
    max_context=40_960,
    published={"params_total": _params(32.8e9, source=QWEN_3)},
)
DEEPSEEK_V3_671B = ModelShape(
    name="DeepSeek-V3",
    key="deepseek-v3",
    source=_config_of("deepseek-ai/DeepSeek-V3"),
    n_layers=61,
    d_model=7168,
    vocab=129_280,
    attention=LatentAttention(
        n_heads=128, d_head=128, d_v=128, d_latent=512, d_rope=64, d_q=1536
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
    published={
        "params_total": _params(671e9, source=DEEPSEEK_V3),
        "params_active": _params(37e9, source=DEEPSEEK_V3),
        "kv_bytes_per_token": _kv(70_272),
    },
)
KIMI_K2_1T = ModelShape(
    name="Kimi K2",
    key="kimi-k2",
    source=_config_of("moonshotai/Kimi-K2-Instruct"),
    n_layers=61,
    d_model=7168,
    vocab=163_840,
    attention=LatentAttention(
        n_heads=64, d_head=128, d_v=128, d_latent=512, d_rope=64, d_q=1536
    ),
    ffn=MoeFfn(
        d_ff=2048,
        n_experts=384,
        n_shared=1,
        top_k=8,
        n_dense_layers=1,
        d_ff_dense=18_432,
    ),
    max_context=131_072,
    published={
        "params_total": _params(1e12, source=KIMI_K2),
        "params_active": _params(32e9, source=KIMI_K2),
    },
)
TINY_512 = ModelShape(
    name="a small model, 512 wide",
    key="tiny-512",
    source="the example of two sources; they give no vocabulary, so 1,000 is ours",
    n_layers=8,
    d_model=512,
    vocab=1000,
    attention=GroupedQueryAttention(n_heads=8, n_kv_heads=8, d_head=64),
    ffn=GeluFfn(d_ff=2048),
    norm="layer",
)

KIMI_K2_REPORT = MappingProxyType(
    {
        "params_total": _params(1.04e12, source=KIMI_REPORT, note=NOT_THE_CONFIG),
        "params_active": _params(32.6e9, source=KIMI_REPORT, note=NOT_THE_CONFIG),
    }
)

MODELS: Mapping[str, ModelShape] = MappingProxyType(
    {
        each.key: each
        for each in (
            LLAMA_2_7B,
            LLAMA_2_70B,
            LLAMA_3_8B,
            LLAMA_3_70B,
            LLAMA_31_8B,
            LLAMA_31_70B,
            LLAMA_31_405B,
            QWEN_25_72B,
            QWEN_3_32B,
            *EXPERT_MODELS,
            DEEPSEEK_V3_671B,
            KIMI_K2_1T,
            TINY_512,
        )
    }
)
