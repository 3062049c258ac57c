"""The chapter's machine: what is left for the cache of the running example."""

from __future__ import annotations

from statistics import mean

from llmserve_lab import catalog
from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.evidence.servers import VLLM_BLOCK
from llmserve_lab.catalog.evidence.serving import (
    BLOCK_COUNTS,
    SCOUT_BLOCKS,
    SCOUT_GPUS,
    SCOUT_WEIGHT_BYTES,
)
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.running_example import device, setting
from llmserve_lab.validation.cache_blocks import UTILISATION, predicted, reserve

BLOCK = int(float(VLLM_BLOCK))  # tokens
MEMORY_SHARE = Cited(
    UTILISATION,
    "dimensionless",
    "convention",
    "vLLM before 0.33.0 and the published logs: --gpu-memory-utilization 0.9",
)
SHARE_NOW = Cited(
    0.92, "dimensionless", "convention", "vLLM 0.33.0, vllm/config/cache.py"
)


def beside_bytes() -> Cited:
    """Activations, graphs and the rest of a GPU: the one constant, fitted to nine."""
    return Cited(
        mean(reserve(each) for each in BLOCK_COUNTS),
        "byte",
        "estimate",
        "mean over nine published counts of KV-cache blocks",
    )


def room(share: Cited = MEMORY_SHARE) -> dict[str, Cited]:
    """Arguments of the formulas of capacity: one GPU, the model of the book."""
    return setting() | {
        "tp": Cited(1, "dimensionless", "convention", "one GPU"),
        "memory_share": share,
        "usable_bytes": device().usable_bytes,
        "beside_bytes": beside_bytes(),
        "block_tokens": Cited(BLOCK, "token", "convention", VLLM_BLOCK.source),
    }


def num_blocks(share: Cited = MEMORY_SHARE) -> int:
    """Whole blocks of the running example."""
    return int(float(f.NUM_BLOCKS.at(room(share))))


def errors() -> list[float]:
    """Predicted over published, less one, for each of the nine counts."""
    return [each.error for each in predicted()]


def scout() -> tuple[int, float]:
    """Blocks predicted for Llama-4 Scout, and by what share the published are fewer."""
    shape = catalog.model("llama-4-scout")
    allowed = float(MEMORY_SHARE) * float(device().usable_bytes)
    left = SCOUT_GPUS * (allowed - float(beside_bytes()))
    left -= shape.weight_bytes(SCOUT_WEIGHT_BYTES)
    blocks = int(left // (BLOCK * shape.kv_bytes_per_token()))
    return blocks, 1 - float(SCOUT_BLOCKS) / blocks


def served(reserved_tokens: float) -> int:
    """Requests of the running example's GPU if each reserves so many tokens."""
    return int(num_blocks() * BLOCK // reserved_tokens)
