"""Blocks that are really taken: a million operations, and the engine on them.

The engine runs the same requests twice in a pair of runs, once counting blocks and once
taking, naming and releasing them; every prompt has names that no other has.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from random import Random
from time import process_time

from benchmarks import Line
from benchmarks.engine import pool, trace
from llmserve_lab.engine import Request, simulate
from llmserve_lab.paged_cache import NoFreeBlockError, PagedAllocator

OPERATIONS, LIMIT_S = 1_000_000, 5.0
BLOCKS = 50_000
TRIES, SOME = 9, 4_000
SLOWER = 1 / 0.9  # as much as the paged engine may take, over the one that counts


def operations_s(count: int = OPERATIONS, *, seed: int = 1) -> float:
    """Seconds of a core for so many random operations on one allocator."""
    rng, paged = Random(seed), PagedAllocator(BLOCKS)
    names: list[int] = []
    start = process_time()
    for number in range(count):
        _one(paged, names, rng, number)
    return process_time() - start


def _one(paged: PagedAllocator, names: list[int], rng: Random, number: int) -> None:
    """Admit, free or fork now and then, else append a token."""
    dice = rng.random()
    try:
        if dice < 0.004 or not names:
            text = [rng.randrange(4)] * rng.randrange(1, 1_000)
            paged.admit(number, text)
            paged.computed(number, len(text))
        elif dice < 0.006:
            at = rng.randrange(len(names))
            names[at], names[-1] = names[-1], names[at]
            paged.free(names.pop())
            return
        elif dice < 0.008:
            paged.fork(rng.choice(names), number)
        else:
            paged.append(names[int(rng.random() * len(names))], number % 4)
            return
        names.append(number)
    except NoFreeBlockError:
        paged.free(names.pop())


def named(requests: list[Request]) -> list[Request]:
    """The same requests, each block of their prompts under a name of its own."""
    size, last, found = pool().block_tokens, 0, []
    for each in requests:
        blocks = -(-each.prompt_len // size)
        found.append(replace(each, prefix=tuple(range(last, last + blocks))))
        last += blocks
    return found


def engine_ratio(requests: list[Request]) -> float:
    """Core time of the engine on paged memory over that of the one that counts."""

    def taking(run: Callable[[], object]) -> float:
        start = process_time()
        run()
        return process_time() - start

    counting, paged = pool(), replace(pool(), prefix_caching=True)
    pairs = [
        (
            taking(lambda: simulate(requests, counting)),
            taking(lambda: simulate(requests, paged)),
        )
        for _ in range(TRIES)
    ]
    return min(blocks_s for _, blocks_s in pairs) / min(plain_s for plain_s, _ in pairs)


def main() -> Iterator[Line]:
    """Yield the time of a million operations, and what the engine pays for blocks."""
    yield Line("allocator: a million operations", operations_s(), LIMIT_S, "s")
    name, requests = trace()
    some = list(islice(requests, SOME))
    what = f"engine, {name}: blocks taken / blocks counted"
    yield Line(what, engine_ratio(some), SLOWER)
    yield Line(f"{what}, every block named", engine_ratio(named(some)))
