"""Mixtures of experts of the fifth blind trial that the records of shapes can hold.

As in :mod:`.trial_models`, no page chooses among them. A layer for multi-token
prediction is not counted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from llmserve_lab.catalog.data.trial_models import QWEN_CODER_30B
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.hybrid import DeltaLayer, HybridShape
from llmserve_lab.catalog.records.shape import ModelShape

_card = partial(Cited, unit="parameter", kind="paper")

QWEN_36_35B = HybridShape(
    name="Qwen3.6-35B-A3B",
    key="qwen3.6-35b-a3b",
    source="config.json of Qwen/Qwen3.6-35B-A3B, text_config",
    n_layers=40,
    d_model=2048,
    vocab=248_320,
    attention=GroupedQueryAttention(n_heads=16, n_kv_heads=2, d_head=256, qk_norm=True),
    ffn=MoeFfn(
        d_ff=512,
        n_experts=256,
        n_shared=1,
        top_k=8,
        n_dense_layers=0,
        d_ff_dense=512,
        router_bias=False,
    ),
    delta=DeltaLayer(n_values=32, n_keys=16, d_head=128, kernel=4),
    full_every=4,
    max_context=262_144,
    published={
        "params_total": _card(35e9, source="model card of Qwen/Qwen3.6-35B-A3B"),
        "params_active": _card(3e9, source="model card of Qwen/Qwen3.6-35B-A3B"),
    },
)
# One layer of four attends to all tokens, with 48 heads of queries, the others to a
# window of 512 with 64. All are counted with 64 and as if they kept all tokens, which
# is true of texts within the window.
LAGUNA_XS2 = ModelShape(
    name="Laguna-XS.2",
    key="laguna-xs.2",
    source="transformers, defaults of LagunaConfig; heads of poolside/Laguna-XS-2.1",
    n_layers=40,
    d_model=2048,
    vocab=100_352,
    attention=GroupedQueryAttention(n_heads=64, n_kv_heads=8, d_head=128, qk_norm=True),
    ffn=MoeFfn(
        d_ff=512,
        n_experts=256,
        n_shared=1,
        top_k=8,
        n_dense_layers=1,
        d_ff_dense=8192,
    ),
    max_context=131_072,
    published={
        "params_total": _card(33e9, source="model card of poolside/Laguna-XS.2"),
        "params_active": _card(3e9, source="model card of poolside/Laguna-XS.2"),
    },
)
# Its one shared expert is eight times as wide as the others.
QWEN2_57B = ModelShape(
    name="Qwen2-57B-A14B",
    key="qwen2-57b-a14b",
    source="config.json of Qwen/Qwen2-57B-A14B",
    n_layers=28,
    d_model=3584,
    vocab=151_936,
    attention=GroupedQueryAttention(
        n_heads=28, n_kv_heads=4, d_head=128, qkv_bias=True
    ),
    ffn=MoeFfn(
        d_ff=2560,
        n_experts=64,
        n_shared=8,
        top_k=8,
        n_dense_layers=0,
        d_ff_dense=18_944,
        router_bias=False,
    ),
    max_context=131_072,
    published={
        "params_total": _card(57e9, source="Qwen2 technical report, arXiv 2407.10671"),
        "params_active": _card(14e9, source="Qwen2 technical report, arXiv 2407.10671"),
    },
)
QWEN3_30B = replace(
    QWEN_CODER_30B,
    name="Qwen3-30B-A3B",
    key="qwen3-30b-a3b",
    max_context=40_960,
    published={
        "params_total": _card(30.5e9, source="model card of Qwen/Qwen3-30B-A3B"),
        "params_active": _card(3.3e9, source="model card of Qwen/Qwen3-30B-A3B"),
    },
)
