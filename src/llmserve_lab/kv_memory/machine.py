"""The chapter's machine: what is left for the cache of the running example."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.evidence.servers import (
    MEMORY_SHARE,
    VLLM_BLOCK,
    VLLM_MEMORY_SHARE,
)
from llmserve_lab.catalog.evidence.serving import (
    BLOCK_COUNTS,
    H100_TOTAL,
    PROFILES,
    SCOUT_BLOCKS,
    SCOUT_GPUS,
    SCOUT_WEIGHT_BYTES,
    START_LOGS,
    StartLog,
)
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.running_example import device, setting
from llmserve_lab.validation import room as rule
from llmserve_lab.validation.cache_blocks import (
    PredictedCount,
    predicted,
    reserve,
    working_space,
)
from llmserve_lab.validation.cache_blocks import room as room_of
from llmserve_lab.validation.room import ENTRY_BYTES, library_bytes

BLOCK = int(float(VLLM_BLOCK))  # tokens
SHARE_NOW = VLLM_MEMORY_SHARE
GRAPHS = 1 << 30  # bytes of a GPU for CUDA graphs: assumed, where no log says it


def beside_bytes() -> Cited:
    """Working space of a GPU: the one constant, fitted to nine."""
    return Cited(
        working_space(),
        "byte",
        "estimate",
        "mean over nine published counts of KV-cache blocks",
    )


def room(share: Cited = MEMORY_SHARE) -> dict[str, Cited]:
    """Arguments of the formulas of capacity: one GPU, the model of the book."""
    return setting() | {
        "n_ranks": Cited(1, "dimensionless", "convention", "one GPU"),
        "memory_share": share,
        "usable_bytes": device().usable_bytes,
        "beside_bytes": beside_bytes(),
        "block_tokens": Cited(BLOCK, "token", "convention", VLLM_BLOCK.source),
    }


def num_blocks(share: Cited = MEMORY_SHARE) -> int:
    """Whole blocks of the running example."""
    return int(float(f.NUM_BLOCKS.at(room(share))))


def boxed() -> tuple[PredictedCount, ...]:
    """Nine published counts by the rule: tokens as others of them say, or slots."""
    found = []
    for each in predicted():
        record = each.record
        scores = float(ENTRY_BYTES * record.seqs * record.model.vocab)
        kept_ = max(each.reserved_bytes, scores + library_bytes())
        blocks = room_of(record).kv_blocks(
            utilisation=float(MEMORY_SHARE), block_tokens=BLOCK, reserved_bytes=kept_
        )
        found.append(replace(each, reserved_bytes=kept_, blocks=blocks))
    return tuple(found)


def errors() -> list[float]:
    """Predicted over published, less one, for each of the nine counts."""
    return [each.error for each in boxed()]


def log_errors() -> list[float]:
    """Cache of five logs, each by the bytes of a score in the other four, less one.

    Weights are the log's own; so are the libraries of the one with two GPUs.
    """
    found = []
    for log in START_LOGS:
        others = [float(each.peak) / each.vocab for each in START_LOGS if each != log]
        left = float(MEMORY_SHARE) * float(H100_TOTAL) - float(log.weights)
        left -= mean(others) * log.vocab
        left -= float(log.other) if log.tp > 1 else library_bytes()
        found.append(left / float(log.cache) - 1)
    return found


def reserves() -> list[float]:
    """Bytes of a GPU that each of the nine servers itself set aside."""
    return [reserve(each) for each in BLOCK_COUNTS]


def errors_with_nothing() -> list[float]:
    """The same errors if no working space were set aside."""
    found = []
    for each in BLOCK_COUNTS:
        blocks = room_of(each).kv_blocks(
            utilisation=float(MEMORY_SHARE), block_tokens=BLOCK, reserved_bytes=0.0
        )
        found.append(blocks / float(each.blocks) - 1)
    return found


def scout() -> tuple[int, float]:
    """Blocks predicted for Llama-4 Scout, and predicted over published, less one."""
    shape = catalog.model("llama-4-scout")
    allowed = float(MEMORY_SHARE) * float(device().usable_bytes)
    left = SCOUT_GPUS * (allowed - float(beside_bytes()))
    left -= shape.weight_bytes(SCOUT_WEIGHT_BYTES)
    blocks = int(left // (BLOCK * shape.kv_bytes_per_token()))
    return blocks, blocks / float(SCOUT_BLOCKS) - 1


def scout_missing() -> dict[str, float]:
    """Bytes of a GPU that the count of Scout lacks, and what 16 bits would explain."""
    shape = catalog.model("llama-4-scout")
    blocks, _ = scout()
    gap = (blocks - float(SCOUT_BLOCKS)) * BLOCK * shape.kv_bytes_per_token()
    tables = 2 * shape.vocab * shape.d_model  # the embedding and the output layer
    spec = shape.attention
    assert isinstance(spec, GroupedQueryAttention)
    heads = 2 * (spec.n_heads + spec.n_kv_heads)  # queries, outputs, keys, values
    attention = shape.n_layers * shape.d_model * spec.d_head * heads
    return {
        "gap": gap / SCOUT_GPUS,
        "tables": tables * SCOUT_WEIGHT_BYTES / SCOUT_GPUS,
        "attention": attention * SCOUT_WEIGHT_BYTES / SCOUT_GPUS,
    }


def log_of(name: str) -> StartLog:
    """The published start of a server of this model."""
    return next(each for each in START_LOGS if each.name == name)


def kept(log: StartLog) -> float:
    """Bytes of a GPU that a server set aside for all but weights and cache."""
    return float(log.peak) + float(log.other)


def printed_blocks() -> int:
    """Blocks in the memory that the server of the running example found for cache."""
    block = BLOCK * running_example.model().kv_bytes_per_token()
    return int(float(log_of(running_example.model().name).cache) // block)


def with_kept(bytes_: float, share: Cited = MEMORY_SHARE) -> int:
    """Whole blocks of the running example if so many bytes are set aside."""
    kept_ = Cited(bytes_, "byte", "measured", PROFILES)
    return int(float(f.NUM_BLOCKS.at(room(share) | {"beside_bytes": kept_})))


def beside_at(slots: int) -> float:
    """Working space where sampling makes the peak: by slots and vocabulary.

    Requests that a server samples at once (``--max-num-seqs``) each take a row of the
    vocabulary; few of them take less than the trial's tokens do, and then this is a
    lower bound.

    Raises:
        ValueError: there is no slot.
    """
    if slots < 1:
        raise ValueError(f"slots must be at least 1, got {slots}")
    return slots * slot_bytes() + library_bytes()


def slot_bytes() -> float:
    """Working space for one more request of the limit, where sampling decides."""
    return rule.slot_bytes(running_example.model().vocab)


def working_bytes(slots: int) -> float:
    """Working space of a GPU of the running example with so many slots.

    Raises:
        ValueError: there is no slot.
    """
    return rule.working_bytes(slots, vocab=running_example.model().vocab)


def sampling_from() -> int:
    """Fewest slots with which sampling, and not the tokens, makes the peak."""
    return next(n for n in range(1, 1_024) if beside_at(n) > float(beside_bytes()))


def blocks_with(slots: int, share: Cited = MEMORY_SHARE, graphs: float = 0.0) -> int:
    """Whole blocks of a server of the running example that has so many slots."""
    return with_kept(working_bytes(slots) + graphs, share)


def slots_that_fit(
    tokens: float, share: Cited = MEMORY_SHARE, graphs: float = 0.0
) -> int:
    """The most slots in which so many tokens fit each, their own room deducted."""
    known, model = room(share), running_example.model()
    left = float(share) * float(known["usable_bytes"]) - model.weight_bytes() - graphs
    each = tokens * model.kv_bytes_per_token()
    return rule.requests_that_fit(left, request_bytes=each, vocab=model.vocab)


def slots_at_full_length(
    tokens: int, share: Cited = MEMORY_SHARE, graphs: float = 0.0
) -> int:
    """The largest limit on requests that fits at full length, in whole blocks."""
    return slots_that_fit(-(-tokens // BLOCK) * BLOCK, share, graphs)


def served(reserved_tokens: float) -> int:
    """Requests of the running example's GPU if each reserves so many tokens."""
    return int(num_blocks() * BLOCK // reserved_tokens)
