"""What the layers of a dozen models keep, from their public config.json."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llmserve_lab.catalog.data.dense_models import MISTRAL_7B
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.records.cache_layers import CacheLayers

GPT_OSS = "config.json of openai/gpt-oss-120b: layer_types alternate, sliding_window"
SCOUT = (
    "config.json of meta-llama/Llama-4-Scout-17B-16E-Instruct: attention_chunk_size, "
    "every fourth layer without rotary positions looks at all tokens"
)
GEMMA_3 = (
    "config.json of google/gemma-3-27b-it: sliding_window, a full layer after every "
    "five with a window"
)
MISTRAL = "config.json of mistralai/Mistral-7B-v0.1: sliding_window"
QWEN_NEXT = (
    "config.json of Qwen/Qwen3-Next-80B-A3B-Instruct: full_attention_interval, "
    "linear_* fields"
)
# A gated delta layer keeps a matrix for each value head and the last inputs of its
# convolution, which has a kernel of four.
NEXT_HEADS, NEXT_KEYS, NEXT_WIDTH, NEXT_KERNEL = 32, 16, 128, 4
NEXT_STATE = (
    NEXT_HEADS * NEXT_WIDTH * NEXT_WIDTH
    + (2 * NEXT_KEYS + NEXT_HEADS) * NEXT_WIDTH * (NEXT_KERNEL - 1)
)  # fmt: skip

_WHOLE = (
    "llama-2-7b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-32b",
    "mixtral-8x7b", "deepseek-v3", "kimi-k2",
)  # fmt: skip
_GPT, _SCOUT = MODELS["gpt-oss-120b"], MODELS["llama-4-scout"]

CACHE_LAYERS: Mapping[str, CacheLayers] = MappingProxyType(
    {key: CacheLayers.of(MODELS[key]) for key in _WHOLE}
    | {
        "mistral-7b-v0.1": CacheLayers(
            name=MISTRAL_7B.name,
            kind="GQA, window in all layers",
            source=MISTRAL,
            kv_elements=MISTRAL_7B.attention.kv_elements,
            full_layers=0,
            window_layers=32,
            window=4096,
            heads=(8, 128),
            shape=MISTRAL_7B,
        ),
        "gpt-oss-120b": CacheLayers(
            name=_GPT.name,
            kind="GQA, window in every other layer",
            source=GPT_OSS,
            kv_elements=_GPT.attention.kv_elements,
            full_layers=18,
            window_layers=18,
            window=128,
            heads=(8, 64),
            shape=_GPT,
        ),
        "gemma-3-27b": CacheLayers(
            name="Gemma 3 27B",
            kind="GQA, window in five of six layers",
            source=GEMMA_3,
            kv_elements=2 * 16 * 128,
            full_layers=10,
            window_layers=52,
            window=1024,
            heads=(16, 128),
        ),
        "llama-4-scout": CacheLayers(
            name=_SCOUT.name,
            kind="GQA, chunks of tokens in three of four layers",
            source=SCOUT,
            kv_elements=_SCOUT.attention.kv_elements,
            full_layers=12,
            window_layers=36,
            window=8192,
            heads=(8, 128),
            shape=_SCOUT,
        ),
        "qwen3-next-80b": CacheLayers(
            name="Qwen3-Next-80B-A3B",
            kind="hybrid: linear attention in three of four layers",
            source=QWEN_NEXT,
            kv_elements=2 * 2 * 256,
            full_layers=12,
            state_layers=36,
            state_elements=NEXT_STATE,
            heads=(2, 256),
        ),
    }
)
