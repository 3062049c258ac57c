"""What others published of served dense models: errors, scatter, cache, drafts.

Errors of a public tool on the measured rows that the book is scored on; how far repeats
of one run lie apart; blocks of KV cache that servers found room for; tokens that a
target model accepted of its drafts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.data.models import LLAMA_2_7B, LLAMA_3_8B, LLAMA_3_70B
from llmserve_lab.catalog.records.accelerator import RTX_4090_DRIVER
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import SwigluFfn
from llmserve_lab.catalog.records.shape import ModelShape

TOOL = "aiconfigurator 0.12.0 (Apache-2.0), its own predictor on the same rows"
_share = partial(Cited, unit="dimensionless", kind="measured", source=TOOL)
TOOL_ROWS = _share(922, note="the rows for which it has an answer")
# Mean and median of the absolute relative errors, by kind of time.
TOOL_ERRORS: dict[str, tuple[Cited, Cited]] = {
    "tpot": (_share(0.165), _share(0.119)),
    "e2e": (_share(0.158), _share(0.110)),
    "ttft": (_share(0.461), _share(0.438)),
}

SPLITWISE = "splitwise-sim (MIT), perf_model.csv: 228 settings, five runs of each"
REPEATS_TOKEN = Cited(0.005, "dimensionless", "measured", SPLITWISE)
REPEATS_PROMPT = Cited(0.023, "dimensionless", "measured", SPLITWISE)
SAME_RUNS = "silicon_sample.csv of aiconfigurator-core 0.12.0, repeats of one setting"
REPEATS_ROWS = Cited(0.036, "dimensionless", "measured", SAME_RUNS, "the most, TPOT")

MISTRAL_NEMO = ModelShape(
    name="Mistral-Nemo-12B",
    key="mistral-nemo-12b",
    source="config.json of mistralai/Mistral-Nemo-Instruct-2407",
    n_layers=40,
    d_model=5120,
    vocab=131_072,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=14_336),
)
QWEN_25_7B = ModelShape(
    name="Qwen2.5-7B",
    key="qwen2.5-7b",
    source="config.json of Qwen/Qwen2.5-7B-Instruct",
    n_layers=28,
    d_model=3584,
    vocab=152_064,
    attention=GroupedQueryAttention(
        n_heads=28, n_kv_heads=4, d_head=128, qkv_bias=True
    ),
    ffn=SwigluFfn(d_ff=18_944),
)
YI_34B = ModelShape(
    name="Yi-34B",
    key="yi-34b",
    source="config.json of 01-ai/Yi-34B",
    n_layers=60,
    d_model=7168,
    vocab=64_000,
    attention=GroupedQueryAttention(n_heads=56, n_kv_heads=8, d_head=128),
    ffn=SwigluFfn(d_ff=20_480),
)


@dataclass(frozen=True, kw_only=True)
class BlockCount:
    """Blocks of 16 tokens that a vLLM server found room for, weights in 16 bits.

    ``usable_bytes`` is the memory of one of ``tp`` devices as its driver reports it, or
    None for an H100 of the catalog; ``budget`` the server's token budget.
    """

    model: ModelShape
    tp: int
    budget: int
    blocks: Cited
    usable_bytes: Cited | None = None


LOGS = "vLLM at start, published run logs and configurations, utilisation 0.9"
_blocks = partial(Cited, unit="dimensionless", kind="measured", source=LOGS)
BLOCK_COUNTS: tuple[BlockCount, ...] = (
    BlockCount(model=LLAMA_2_7B, tp=1, budget=2048, blocks=_blocks(7463)),
    BlockCount(model=LLAMA_3_70B, tp=4, budget=8192, blocks=_blocks(30_251)),
    BlockCount(model=LLAMA_3_70B, tp=4, budget=2048, blocks=_blocks(30_425)),
    BlockCount(model=MISTRAL_NEMO, tp=1, budget=2048, blocks=_blocks(19_251)),
    BlockCount(model=MISTRAL_NEMO, tp=2, budget=1024, blocks=_blocks(48_009)),
    BlockCount(model=QWEN_25_7B, tp=1, budget=2048, blocks=_blocks(65_368)),
    BlockCount(model=QWEN_25_7B, tp=1, budget=2048, blocks=_blocks(65_352)),
    BlockCount(model=YI_34B, tp=2, budget=2048, blocks=_blocks(20_793)),
    BlockCount(
        model=LLAMA_3_8B,
        tp=1,
        budget=2048,
        blocks=_blocks(2588),
        usable_bytes=RTX_4090_DRIVER,
    ),
)

# Llama-4 Scout with FP8 weights on two H100s: a count that the book does not explain.
SCOUT_BLOCKS = _blocks(8253, note="weights in FP8, two H100s, utilisation 0.9")
SCOUT_GPUS, SCOUT_WEIGHT_BYTES = 2, 1.0


@dataclass(frozen=True, kw_only=True)
class DraftCurve:
    """Tokens of a step with 1, 2, … drafts, of which the target keeps a first part.

    A step always yields one token of the target model itself.
    """

    name: str
    tokens: tuple[float, ...]
    source: str = "InferenceX, golden_al_distribution (Apache-2.0): B300, coding"


DRAFT_CURVES: tuple[DraftCurve, ...] = (
    DraftCurve(
        name="Qwen3.5, multi-token prediction",
        tokens=(1.93, 2.73, 3.39, 3.97, 4.41, 4.80, 5.04, 5.21),
    ),
    DraftCurve(
        name="Kimi-K2.5, EAGLE-3",
        tokens=(1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77),
    ),
)
