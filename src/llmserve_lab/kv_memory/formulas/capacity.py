"""Blocks of KV cache in what weights and activations leave, and requests in them."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import minimum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import STORED_BYTES

COUNTED = "counted"

CACHE_BYTES = Formula(
    result=q.cache_bytes,
    expr=lambda n_ranks, memory_share, usable_bytes, beside_bytes, stored_bytes: (
        n_ranks * (memory_share * usable_bytes - beside_bytes) - stored_bytes
    ),
    uses=(STORED_BYTES,),
    title="Memory for the KV cache",
    source="vLLM 0.33.0, Worker.determine_available_memory",
    holds="every GPU of the group stores an equal part of the weights",
)
BLOCK_BYTES = Formula(
    result=q.block_bytes,
    expr=lambda block_tokens, kv_bytes_per_token: block_tokens * kv_bytes_per_token,
    title="Bytes of a block",
    source="vLLM 0.33.0, page_size_bytes, all layers",
    holds="keys and values of all layers, on all GPUs of the group together",
)
NUM_BLOCKS = Formula(
    result=q.num_blocks,
    expr=lambda cache_bytes, block_bytes: cache_bytes / block_bytes,
    uses=(CACHE_BYTES, BLOCK_BYTES),
    title="Blocks that fit",
    source="vLLM 0.33.0, kv_cache_planning: rounded down",
    holds="rounded down to a whole number of blocks",
)
CACHE_TOKENS = Formula(
    result=q.cache_tokens,
    expr=lambda num_blocks, block_tokens: num_blocks * block_tokens,
    uses=(NUM_BLOCKS,),
    title="Tokens that fit",
    source="vLLM 0.33.0, the line GPU KV cache size of its log",
    holds="whole blocks",
)
PAGED_REQUESTS = Formula(
    result=q.batch_fits,
    expr=lambda cache_tokens, mean_held: cache_tokens / mean_held,
    uses=(CACHE_TOKENS,),
    variant="paged",
    title="Requests whose cache fits",
    source="vLLM 0.33.0, the line Maximum concurrency of its log",
    holds="nothing shared, half-empty last blocks left out",
)
REQUEST_CACHE_BYTES = Formula(
    result=q.request_cache_bytes,
    expr=lambda full_token_bytes, mean_held, window_token_bytes, window, state_bytes: (
        full_token_bytes * mean_held
        + window_token_bytes * minimum(mean_held, window)
        + state_bytes
    ),
    title="Bytes of a request, layers of several kinds",
    source=COUNTED,
    holds="a window keeps its last tokens alone; a state does not grow",
)
REQUESTS_FIT = Formula(
    result=q.batch_fits,
    expr=lambda cache_bytes, request_cache_bytes: cache_bytes / request_cache_bytes,
    uses=(CACHE_BYTES, REQUEST_CACHE_BYTES),
    variant="layers",
    title="Requests whose cache fits, layers of several kinds",
    source=COUNTED,
    holds="nothing shared, half-empty last blocks left out",
)
