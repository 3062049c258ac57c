"""Mixtures of experts with latent attention that the served form was tried on.

No page chooses among them; they stand beside the models of the book. Shapes are those
of the public config.json; a layer for multi-token prediction is not counted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from llmserve_lab.catalog.data.models import DEEPSEEK_V3_671B, KIMI_K2_1T
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.shape import ModelShape

_params = partial(Cited, unit="parameter", kind="paper", source="GLM-5 model card")

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
