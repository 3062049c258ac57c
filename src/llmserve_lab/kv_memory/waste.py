"""Contiguous reservation beside paging, on prompts of a real service.

Requests arrive, grow token by token and leave. A contiguous cache has to be reserved
before its length is known; a paged one takes a block when it needs one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.catalog.evidence.packing import AZURE_ANSWERS, AZURE_PROMPTS
from llmserve_lab.checks import key_of, whole
from llmserve_lab.paged_cache import PagedAllocator
from llmserve_lab.workloads import Empirical

SERVICES = tuple(AZURE_PROMPTS)
LIMIT = 16_384  # tokens that a contiguous server reserves: longer than every prompt
ALIVE = 64  # requests in the cache at a time
LIVES = 3_000


@dataclass(frozen=True)
class Waste:
    """Mean tokens in use, and set aside, over a run of arrivals and departures."""

    used: float
    final: float  # length that the same requests will have in the end
    contiguous: float
    powers: float
    paged: dict[int, float]

    def share(self, tokens: float) -> float:
        """Share of what is set aside that holds a token."""
        return self.used / tokens


@cache
def lives(service: str, *, seed: int = 0) -> tuple[tuple[int, int], ...]:
    """Prompts and answers of a trace, each drawn by itself.

    In the trace itself the two hardly hang together (correlation -0.11).

    Raises:
        ValueError: the trace has no such service.
    """
    key_of("service", service, SERVICES)
    rng = np.random.default_rng(seed)
    prompts = Empirical(AZURE_PROMPTS[service]).draw(rng, LIVES)
    answers = Empirical(AZURE_ANSWERS[service]).draw(rng, LIVES)
    return tuple(zip(prompts.tolist(), answers.tolist(), strict=True))


@cache
def wasted(service: str, *, sizes: tuple[int, ...] = (1, 16, 256)) -> Waste:
    """What is set aside, and used, at random moments of random requests.

    A request is seen at a moment of its decoding: its prompt and part of its answer.

    Raises:
        ValueError: the service is unknown, or a block has no token.
    """
    for size in sizes:
        whole(of="token", size=size)
    rng = np.random.default_rng(1)
    prompts, answers = np.array(lives(service)).T
    weights = answers / answers.sum()  # a long answer is seen more often
    seen = rng.choice(len(prompts), size=LIVES, p=weights)
    held = prompts[seen] + rng.integers(1, answers[seen] + 1)
    whole_length = prompts[seen] + answers[seen]
    paged = {size: float((-(-held // size) * size).mean()) for size in sizes}
    powers = 2.0 ** np.ceil(np.log2(whole_length))
    return Waste(
        used=float(held.mean()),
        final=float(whole_length.mean()),
        contiguous=float(LIMIT),
        powers=float(powers.mean()),
        paged=paged,
    )


def allocated(service: str, size: int) -> tuple[int, int]:
    """The same played out: tokens used and tokens of blocks taken, by the allocator.

    ``ALIVE`` requests decode side by side; whenever one is done the next is admitted.
    """
    paged = PagedAllocator(400_000 // size, size, prefix_caching=False)
    waiting = iter(lives(service))
    left: dict[int, int] = {}
    used = taken = number = 0
    for step in range(600):
        while len(left) < ALIVE:
            number += 1
            prompt, answer = next(waiting)
            paged.admit(number, [0] * prompt)
            left[number] = answer
        for request in list(left):
            paged.append(request, 0)
            left[request] -= 1
            if not left[request]:
                paged.free(request)
                del left[request]
        if step % 20 == 19:
            used += sum(len(paged.tokens(each)) for each in left)
            taken += size * (paged.pool.num_blocks - paged.pool.num_free)
    return used, taken
