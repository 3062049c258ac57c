"""Mixtures of experts that the served form was tried on, beside those of the book.

No page chooses among them; they stand beside the models of the book. Shapes are those
of the public config.json; a layer for multi-token prediction is not counted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from llmserve_lab.catalog.data.models import DEEPSEEK_V3_671B, KIMI_K2_1T, MODELS
from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.hybrid import DeltaLayer, HybridShape
from llmserve_lab.catalog.records.shape import ModelShape

_params = partial(Cited, unit="parameter", kind="paper", source="GLM-5 model card")
_card = partial(Cited, unit="parameter", kind="paper")

DEEPSEEK_R1 = replace(
    DEEPSEEK_V3_671B,
    name="DeepSeek-R1",
    key="deepseek-r1",
    source="config.json of deepseek-ai/DeepSeek-R1-0528",
)
# Its language model is Kimi K2 and reads twice as far; images are not in these runs.
KIMI_K25 = replace(
    KIMI_K2_1T,
    name="Kimi-K2.5",
    key="kimi-k2.5",
    source="config.json of moonshotai/Kimi-K2.5, text_config",
    max_context=262_144,
)
GLM_5 = ModelShape(
    name="GLM-5",
    key="glm-5",
    source="config.json of zai-org/GLM-5",
    n_layers=78,
    d_model=6144,
    vocab=154_880,
    attention=LatentAttention(
        n_heads=64,
        d_head=192,
        d_v=256,
        d_latent=512,
        d_rope=64,
        d_q=2048,
        n_index_heads=32,
        d_index=128,
    ),
    ffn=MoeFfn(
        d_ff=2048,
        n_experts=256,
        n_shared=1,
        top_k=8,
        n_dense_layers=3,
        d_ff_dense=12_288,
    ),
    max_context=202_752,
    published={"params_total": _params(744e9), "params_active": _params(40e9)},
)
INDEXED = 2048  # tokens that an indexer lets a row attend to: index_topk, for each
# The same language models, trained further.
KIMI_K26 = replace(
    KIMI_K25,
    name="Kimi-K2.6",
    key="kimi-k2.6",
    source="config.json of moonshotai/Kimi-K2.6, text_config",
)
GLM_46 = replace(
    MODELS["glm-4.5"],
    name="GLM-4.6",
    key="glm-4.6",
    source="config.json of zai-org/GLM-4.6",
    max_context=202_752,
)
GLM_47_FLASH = ModelShape(
    name="GLM-4.7-Flash",
    key="glm-4.7-flash",
    source="transformers, defaults of Glm4MoeLiteConfig",
    n_layers=47,
    d_model=2048,
    vocab=154_880,
    attention=LatentAttention(
        n_heads=20, d_head=192, d_v=256, d_latent=512, d_rope=64, d_q=768
    ),
    ffn=MoeFfn(
        d_ff=1536,
        n_experts=64,
        n_shared=1,
        top_k=4,
        n_dense_layers=1,
        d_ff_dense=10_240,
    ),
    max_context=202_752,
    published={
        "params_total": _card(30e9, source="GLM-4.7-Flash model card"),
        "params_active": _card(3e9, source="GLM-4.7-Flash model card"),
    },
)
GLM_45_AIR = ModelShape(
    name="GLM-4.5-Air",
    key="glm-4.5-air",
    source="transformers, defaults of Glm4MoeConfig",
    n_layers=46,
    d_model=4096,
    vocab=151_552,
    attention=GroupedQueryAttention(
        n_heads=96, n_kv_heads=8, d_head=128, qkv_bias=True
    ),
    ffn=MoeFfn(
        d_ff=1408,
        n_experts=128,
        n_shared=1,
        top_k=8,
        n_dense_layers=1,
        d_ff_dense=10_944,
    ),
    max_context=131_072,
    published={
        "params_total": _card(106e9, source="GLM-4.5-Air model card"),
        "params_active": _card(12e9, source="GLM-4.5-Air model card"),
    },
)
QWEN_CODER_480B = ModelShape(
    name="Qwen3-Coder-480B-A35B",
    key="qwen3-coder-480b-a35b",
    source="config.json of Qwen/Qwen3-Coder-480B-A35B-Instruct",
    n_layers=62,
    d_model=6144,
    vocab=151_936,
    attention=GroupedQueryAttention(n_heads=96, n_kv_heads=8, d_head=128, qk_norm=True),
    ffn=MoeFfn(
        d_ff=2560,
        n_experts=160,
        n_shared=0,
        top_k=8,
        n_dense_layers=0,
        d_ff_dense=8192,
        router_bias=False,
    ),
    max_context=262_144,
    published={
        "params_total": _card(480e9, source="Qwen3-Coder-480B-A35B model card"),
        "params_active": _card(35e9, source="Qwen3-Coder-480B-A35B model card"),
    },
)
# Of the shape of Qwen3-30B-A3B, and reads further.
QWEN_CODER_30B = ModelShape(
    name="Qwen3-Coder-30B-A3B",
    key="qwen3-coder-30b-a3b",
    source="config.json of Qwen/Qwen3-30B-A3B",
    n_layers=48,
    d_model=2048,
    vocab=151_936,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=4, d_head=128, qk_norm=True),
    ffn=MoeFfn(
        d_ff=768,
        n_experts=128,
        n_shared=0,
        top_k=8,
        n_dense_layers=0,
        d_ff_dense=6144,
        router_bias=False,
    ),
    max_context=262_144,
    published={
        "params_total": _card(30.5e9, source="Qwen3-Coder-30B-A3B model card"),
        "params_active": _card(3.3e9, source="Qwen3-Coder-30B-A3B model card"),
    },
)
QWEN_35 = HybridShape(
    name="Qwen3.5-397B-A17B",
    key="qwen3.5-397b-a17b",
    source="config.json of Qwen/Qwen3.5-397B-A17B, text_config",
    n_layers=60,
    d_model=4096,
    vocab=248_320,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=2, d_head=256, qk_norm=True),
    ffn=MoeFfn(
        d_ff=1024,
        n_experts=512,
        n_shared=1,
        top_k=10,
        n_dense_layers=0,
        d_ff_dense=1024,
        router_bias=False,
    ),
    delta=DeltaLayer(n_values=64, n_keys=16, d_head=128, kernel=4),
    full_every=4,
    max_context=262_144,
    published={
        "params_total": _card(397e9, source="Qwen3.5-397B-A17B model card"),
        "params_active": _card(17e9, source="Qwen3.5-397B-A17B model card"),
    },
)
# Of the shape of Qwen3-Next-80B-A3B.
QWEN_CODER_NEXT = HybridShape(
    name="Qwen3-Coder-Next",
    key="qwen3-coder-next",
    source="transformers, defaults of Qwen3NextConfig",
    n_layers=48,
    d_model=2048,
    vocab=151_936,
    attention=GroupedQueryAttention(n_heads=16, n_kv_heads=2, d_head=256, qk_norm=True),
    ffn=MoeFfn(
        d_ff=512,
        n_experts=512,
        n_shared=1,
        top_k=10,
        n_dense_layers=0,
        d_ff_dense=512,
        router_bias=False,
    ),
    delta=DeltaLayer(n_values=32, n_keys=16, d_head=128, kernel=4),
    full_every=4,
    max_context=262_144,
    published={
        "params_total": _card(80e9, source="Qwen3-Coder-Next model card"),
        "params_active": _card(3e9, source="Qwen3-Coder-Next model card"),
    },
)
