"""What servers reported of themselves: chunks and gaps, and the room for the cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.records.cited import Cited


@dataclass(frozen=True, kw_only=True)
class ChunkSize:
    """One server with prefill in chunks of ``chunk_tokens``, decodes riding along.

    ``output_per_s`` is its rate of output tokens, ``longest_gap_s`` the longest wait of
    any request between two of its tokens.
    """

    chunk_tokens: int
    output_per_s: Cited
    longest_gap_s: Cited


TINY_LLM = "tiny-llm, benchmark of chunked prefill, Qwen3-0.6B on an M4 Pro"
_rate = partial(Cited, unit="token/s", kind="measured", source=TINY_LLM)
_gap = partial(Cited, unit="s", kind="measured", source=TINY_LLM)

CHUNK_SIZES: tuple[ChunkSize, ...] = (
    ChunkSize(chunk_tokens=32, output_per_s=_rate(105.5), longest_gap_s=_gap(32.5e-3)),
    ChunkSize(chunk_tokens=128, output_per_s=_rate(144.9), longest_gap_s=_gap(48.8e-3)),
    ChunkSize(
        chunk_tokens=512, output_per_s=_rate(157.0), longest_gap_s=_gap(122.2e-3)
    ),
)


@dataclass(frozen=True, kw_only=True)
class CacheRoom:
    """Blocks of KV cache that a server found room for on one device, at its start.

    They fill what weights and working memory leave of a share ``utilisation`` of the
    device's memory.
    """

    model: str
    accelerator: str
    utilisation: float
    block_tokens: int
    blocks: Cited


VLLM_ROOM = CacheRoom(
    model="llama-2-7b",
    accelerator="h100-sxm",
    utilisation=0.9,
    block_tokens=16,
    blocks=Cited(
        7463,
        "dimensionless",
        "measured",
        "vLLM, published run logs, Llama-2-7B on one H100 of 80 GB",
        "what else it needs while it runs is taken off before",
    ),
)

VLLM = "vLLM 0.33.0, get_batch_defaults in vllm/engine/arg_utils.py"
_default = partial(Cited, kind="convention", source=VLLM, note="vllm serve, H100")
VLLM_TOKEN_BUDGET = _default(8192, "token")
VLLM_MAX_SEQS = _default(1024, "request")
VLLM_SMALL_BUDGET = Cited(
    2048, "token", "convention", "vLLM 0.33.0, docs/configuration/optimization.md"
)
# Rows of the largest iteration whose launches are recorded; twice the slots, if fewer.
VLLM_GRAPH_ROWS = Cited(
    512,
    "token",
    "convention",
    "vLLM 0.33.0, max_cudagraph_capture_size in vllm/config/vllm.py",
)
VLLM_BLOCK = Cited(16, "token", "convention", "vLLM 0.33.0, vllm/config/cache.py")
# What a server takes of the memory on every page, as those whose blocks are counted.
MEMORY_SHARE = Cited(
    0.9,
    "dimensionless",
    "convention",
    "the published logs, vLLM 0.11.0 to 0.19.0: --gpu-memory-utilization 0.9",
)
# What weights and caches may take in a decode group over DeepEP; its buffers, graphs
# and intermediate results lie outside. The first published command had 0.846
# (sgl-project/sglang, issue 6017); two nodes with drafts had 0.8 (issue 7998).
SGLANG_DECODE_SHARE = Cited(
    0.835,
    "dimensionless",
    "convention",
    "NVIDIA Dynamo, DeepSeek-R1 on H100s by SGLang: --mem-fraction-static of decode",
)
# What --gpu-memory-utilization is where it is not given.
VLLM_MEMORY_SHARE = Cited(
    0.92, "dimensionless", "convention", "vLLM 0.33.0, vllm/config/cache.py"
)
