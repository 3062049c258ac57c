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
class ServerLog:
    """Where the line of a server's log was published: repository, file, version."""

    place: str
    version: str
    published: str


@dataclass(frozen=True, kw_only=True)
class BlockCount:
    """Blocks of 16 tokens that a vLLM server found room for, weights in 16 bits.

    ``usable_bytes`` is the memory of one of ``tp`` devices as its driver reports it, or
    None for an H100 of the catalog; ``budget`` the server's token budget, ``seqs`` the
    requests that it runs at most; ``served`` the checkpoint, where another of the same
    shape stands for it.
    """

    model: ModelShape
    tp: int
    budget: int
    blocks: Cited
    log: ServerLog
    seqs: int = 128
    served: str = ""
    usable_bytes: Cited | None = None


BLIS_LOG = ServerLog(
    place="inference-sim/inference-sim, testdata/trained_physics_iter29.json, "
    "commit f90a1e3a: total_kv_blocks",
    version="0.15.1, a fork that also traces",
    published="April 2026",
)
RTX_4090_LOG = ServerLog(
    place="casys-kaist/LLMServingSim, bench/examples/RTX4090/Llama-3.1-8B/vllm/"
    "meta.json, commit 5daddb21: num_gpu_blocks",
    version="0.19.0",
    published="20 August 2026",
)
LOGS = "vLLM at start, published run logs and configurations, utilisation 0.9"
_blocks = partial(Cited, unit="dimensionless", kind="measured", source=LOGS)
_h100 = partial(BlockCount, log=BLIS_LOG, budget=2048)
_70b = partial(_h100, model=LLAMA_3_70B, tp=4, served="Llama-3.1-70B")
BLOCK_COUNTS: tuple[BlockCount, ...] = (
    _h100(model=LLAMA_2_7B, tp=1, blocks=_blocks(7463)),
    _70b(budget=8192, blocks=_blocks(30_251)),
    _70b(blocks=_blocks(30_425)),
    _h100(model=MISTRAL_NEMO, tp=1, blocks=_blocks(19_251)),
    _h100(model=MISTRAL_NEMO, tp=2, budget=1024, blocks=_blocks(48_009)),
    _h100(model=QWEN_25_7B, tp=1, budget=1024, blocks=_blocks(65_368)),
    _h100(model=QWEN_25_7B, tp=1, blocks=_blocks(65_352)),
    _h100(model=YI_34B, tp=2, blocks=_blocks(20_793)),
    BlockCount(
        model=LLAMA_3_8B,
        served="Llama-3.1-8B",
        tp=1,
        budget=2048,
        seqs=256,
        blocks=_blocks(2588),
        usable_bytes=RTX_4090_DRIVER,
        log=RTX_4090_LOG,
    ),
)

# Llama-4 Scout with FP8 weights on two H100s: a count that the book does not explain.
SCOUT_BLOCKS = _blocks(8253, note="weights in FP8, two H100s, utilisation 0.9")
SCOUT_GPUS, SCOUT_WEIGHT_BYTES = 2, 1.0

PROFILES = (
    "llm-d-benchmark, config_explorer/empirical-vllm-memory-results.md, commit "
    "87ab01be: vLLM 0.11.0 on H100s, debug logs"
)
_gib = partial(Cited, unit="byte", kind="measured", source=PROFILES)
H100_TOTAL = _gib(79.18 * 2**30, note="79.18 GiB, what the driver shows a program")
DEFAULT_SEQS = Cited(
    1024, "request", "convention", "vLLM, server's default on an H100: --max-num-seqs"
)


@dataclass(frozen=True, kw_only=True)
class StartLog:
    """Memory of one GPU, line by line, as a server's debug log says it at its start.

    All text models here run on H100s at utilisation 0.9 with the options' defaults.
    """

    name: str
    vocab: int
    tp: int
    weights: Cited
    peak: Cited
    other: Cited
    graphs: Cited
    cache: Cited


def _profile(name: str, vocab: int, tp: int, *sizes: float) -> StartLog:
    names = ("weights", "peak", "other", "graphs", "cache")
    found = zip(names, sizes, strict=True)
    parts = {name: _gib(size * 2**30, note=f"{size} GiB") for name, size in found}
    return StartLog(name=name, vocab=vocab, tp=tp, **parts)


START_LOGS: tuple[StartLog, ...] = (
    _profile("Llama-3.1-8B", 128_256, 1, 14.99, 4.76, 0.13, -0.45, 51.38),
    _profile("Llama-3.3-70B, FP8", 128_256, 2, 33.88, 4.84, 0.55, -0.42, 32.00),
    _profile("Qwen3-0.6B", 151_936, 1, 1.12, 5.56, 0.13, 0.10, 64.45),
    _profile("Qwen3-32B", 151_936, 1, 61.03, 5.64, 0.14, -0.88, 4.45),
    _profile("gpt-oss-20b", 201_088, 1, 13.47, 7.38, 0.13, 0.39, 50.28),
)
# The file's one model with an image encoder ran at 0.95, with options of its own.
IMAGES_LOG = _profile(
    "Mistral-Small-3.2-24B", 131_072, 1, 44.76, 2.12, 0.14, -0.76, 28.20
)


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

H100_SMI = Cited(
    81_559 * 2**20,
    "byte",
    "measured",
    "nvidia-smi on an H100 SXM of 80 GB: total memory",
    "81,559 MiB; the CUDA runtime has less to give",
)
