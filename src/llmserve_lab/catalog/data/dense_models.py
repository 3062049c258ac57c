"""Dense models of the blind trial of dense servers, from their public config.json.

As in :mod:`.trial_models`, no page chooses among them. Of a family only the widths
differ; the instruct models have the shapes of the base models.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from llmserve_lab.catalog.data.models import QWEN_25_72B
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import SwigluFfn
from llmserve_lab.catalog.records.shape import ModelShape

_card = partial(Cited, unit="parameter", kind="paper")


def _qwen(
    name: str,
    billions: float,
    *,
    layers: int,
    width: int,
    heads: tuple[int, int],
    d_ff: int,
    vocab: int = 151_936,
    d_head: int = 128,
    tied: bool = False,
    context: int = 32_768,
    third: bool = False,
) -> ModelShape:
    """A model of the family: ``heads`` of queries and of keys; ``third`` normalises."""
    return ModelShape(
        name=name,
        key=name.lower(),
        source=f"config.json of Qwen/{name}",
        n_layers=layers,
        d_model=width,
        vocab=vocab,
        attention=GroupedQueryAttention(
            n_heads=heads[0],
            n_kv_heads=heads[1],
            d_head=d_head,
            qkv_bias=not third,
            qk_norm=third,
        ),
        ffn=SwigluFfn(d_ff=d_ff),
        tied=tied,
        max_context=context,
        published={
            "params_total": _card(1e9 * billions, source=f"model card of Qwen/{name}")
        },
    )


def _as(shape: ModelShape, name: str, context: int) -> ModelShape:
    """The same widths under another name."""
    return replace(
        shape,
        name=name,
        key=name.lower(),
        source=f"config.json of Qwen/{name}",
        max_context=context,
    )


QWEN_25_05B = _qwen(
    "Qwen2.5-0.5B", 0.49, layers=24, width=896, heads=(14, 2), d_ff=4864, d_head=64,
    tied=True,
)  # fmt: skip
QWEN_25_15B = _qwen(
    "Qwen2.5-1.5B", 1.54, layers=28, width=1536, heads=(12, 2), d_ff=8960, tied=True
)
QWEN_25_3B = _qwen(
    "Qwen2.5-3B", 3.09, layers=36, width=2048, heads=(16, 2), d_ff=11_008, tied=True
)
QWEN_25_7B = _qwen(
    "Qwen2.5-7B", 7.61, layers=28, width=3584, heads=(28, 4), d_ff=18_944,
    vocab=152_064,
)  # fmt: skip
QWEN_25_14B = _qwen(
    "Qwen2.5-14B", 14.7, layers=48, width=5120, heads=(40, 8), d_ff=13_824,
    vocab=152_064,
)  # fmt: skip
QWEN_25_32B = _qwen(
    "Qwen2.5-32B", 32.5, layers=64, width=5120, heads=(40, 8), d_ff=27_648,
    vocab=152_064,
)  # fmt: skip
QWEN_2_05B = _as(QWEN_25_05B, "Qwen2-0.5B", 131_072)
QWEN_2_15B = _as(QWEN_25_15B, "Qwen2-1.5B", 131_072)
QWEN_2_7B = _as(QWEN_25_7B, "Qwen2-7B", 131_072)
QWEN_2_72B = _as(QWEN_25_72B, "Qwen2-72B", 131_072)
QWEN_3_17B = _qwen(
    "Qwen3-1.7B", 1.7, layers=28, width=2048, heads=(16, 8), d_ff=6144, tied=True,
    context=40_960, third=True,
)  # fmt: skip
QWEN_3_4B = _qwen(
    "Qwen3-4B", 4.0, layers=36, width=2560, heads=(32, 8), d_ff=9728, tied=True,
    context=40_960, third=True,
)  # fmt: skip
QWEN_3_8B = _qwen(
    "Qwen3-8B", 8.2, layers=36, width=4096, heads=(32, 8), d_ff=12_288,
    context=40_960, third=True,
)  # fmt: skip
QWEN_3_14B = _qwen(
    "Qwen3-14B", 14.8, layers=40, width=5120, heads=(40, 8), d_ff=17_408,
    context=40_960, third=True,
)  # fmt: skip
# Its window of 4,096 tokens is as long as the longest prompt and answer of the trial.
MISTRAL_7B = ModelShape(
    name="Mistral-7B v0.1",
    key="mistral-7b-v0.1",
    source="config.json of mistralai/Mistral-7B-v0.1",
    n_layers=32,
    d_model=4096,
    vocab=32_000,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=14_336),
    max_context=32_768,
    published={
        "params_total": _card(7.24e9, source="checkpoint of mistralai/Mistral-7B-v0.1")
    },
)
