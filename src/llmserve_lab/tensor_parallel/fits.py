"""How many requests Llama-3.1-70B has room for: the rule of all pages, with slots."""

from __future__ import annotations

from llmserve_lab.running_example import ANSWER, PROMPT
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import (
    BLOCK_TOKENS,
    DEFAULT,
    DEVICE,
    MODEL,
    UTILISATION,
)
from llmserve_lab.validation.room import requests_that_fit, working_bytes


def slot_tokens(n_gpus: int, slots: int) -> int:
    """Tokens of cache where so many requests may run at a time, each in a slot."""
    return worked.cached_tokens(
        n_gpus, working_bytes(slots, vocab=MODEL.vocab, n_gpus=n_gpus)
    )


def fitting_requests(n_gpus: int) -> int:
    """The book's usual requests that fit on so many H100s, each with a slot."""
    tokens = -(-(PROMPT + ANSWER) // BLOCK_TOKENS) * BLOCK_TOKENS
    usable = UTILISATION * float(DEVICE.usable_bytes)
    return requests_that_fit(
        usable - worked.stored_bytes() / n_gpus,
        request_bytes=tokens * float(DEFAULT["kv_bytes_per_token"]) / n_gpus,
        vocab=MODEL.vocab,
        n_gpus=n_gpus,
    )
