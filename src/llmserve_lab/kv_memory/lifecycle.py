"""Six requests in twelve blocks: the allocator run, and what it did at each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from llmserve_lab.paged_cache import BlockEvent, PagedAllocator

BLOCKS, SIZE = 12, 4
SYSTEM = (7, 1, 8, 2, 8, 1, 8, 2)  # a system prompt of two blocks
A_PROMPT = (*SYSTEM, 4, 5)
B_PROMPT = (*SYSTEM, 9, 0, 4)
D_PROMPT = A_PROMPT
LONG = tuple(range(50, 72))  # six blocks
F_PROMPT = (*SYSTEM, 3)
# The free blocks before the first step: short requests have come and gone.
LEFT_FREE = (6, 3, 9, 0, 7, 1, 10, 4, 11, 2, 8, 5)


@dataclass(frozen=True)
class MemoryStep:
    """State of the memory after a step, and the events of the step."""

    said: str
    events: tuple[BlockEvent, ...]
    tables: dict[str, tuple[int, ...]]
    contents: dict[int, tuple[int, ...]]  # token ids by block, kept ones included
    written: frozenset[tuple[int, int]]  # (block, place) that this step computed
    hashes: dict[int, str]  # of full blocks that can be found
    authors: dict[int, str]  # whose text a kept block holds
    queue: tuple[int, ...]  # free blocks, the next to be taken first
    kept: tuple[int, ...]
    copies: int
    evictions: int

    @property
    def free(self) -> int:
        """Blocks that no table points to."""
        return len(self.queue)

    def users(self, block: int) -> str:
        """Letters of the requests whose tables point to a block: its references."""
        return "".join(name for name, table in self.tables.items() if block in table)


def _admit(request: str, text: tuple[int, ...], salt: str = "") -> Callable[..., None]:
    def step(paged: PagedAllocator) -> None:
        paged.admit(request, text, salt=salt)
        paged.computed(request, len(text))

    return step


def _append(request: str, *tokens: int) -> Callable[..., None]:
    def step(paged: PagedAllocator) -> None:
        for token in tokens:
            paged.append(request, token)
            paged.computed(request, len(paged.tokens(request)))

    return step


def _free(*requests: str) -> Callable[..., None]:
    def step(paged: PagedAllocator) -> None:
        for request in requests:
            paged.free(request)

    return step


STEPS: tuple[tuple[str, Callable[..., None]], ...] = (
    (
        "Earlier requests left the free blocks in no order. Request A has a prompt of "
        "10 tokens and takes the next three blocks; the last one stays half empty.",
        _admit("A", A_PROMPT),
    ),
    (
        "A writes three tokens. Two fill its last block, the third needs a new one.",
        _append("A", 3, 3, 6),
    ),
    (
        "Request B begins with the same eight tokens. Their two blocks are found and "
        "shared; only the last tokens of B take a block.",
        _admit("B", B_PROMPT),
    ),
    (
        "The user of A wants a second answer: C is forked. It shares all four blocks "
        "of A, and nothing is copied yet.",
        lambda paged: paged.fork("A", "C"),
    ),
    (
        "C writes a token into the last block, which A uses, too. So C copies it first "
        "(copy-on-write) and writes into its copy.",
        _append("C", 5),
    ),
    (
        "A writes its next token, now into a block of its own. The tables of A and C "
        "differ in their last entry.",
        _append("A", 2),
    ),
    (
        "A and C are done. The two blocks that B uses stay; three are free. One of "
        "them is full: it keeps its contents, as long as nothing needs the room.",
        _free("A", "C"),
    ),
    (
        "D has the prompt of A, but belongs to another tenant, for whom nothing of A "
        'is found (how: section "Prefix sharing"). It takes three blocks.',
        _admit("D", D_PROMPT, "tenant 2"),
    ),
    (
        "Request E needs six blocks, all that are free; B and D still run. Blank ones "
        "go first; then the block whose contents had been kept is evicted.",
        _admit("E", LONG),
    ),
    (
        "B and D are done, the last block of each is freed first. Full blocks keep "
        "their contents: the system prompt, and the text of D.",
        _free("B", "D"),
    ),
    (
        "Request F begins as A and B did. Two free blocks still hold that text, so F "
        "finds them and takes them back: one table points to each.",
        _admit("F", F_PROMPT),
    ),
)


def _come_and_go(paged: PagedAllocator) -> None:
    """Run requests of one token, and free them so that blocks lie as left free."""
    for block in range(BLOCKS):
        paged.admit(block, (block,))
    first = {paged.table(block)[0]: block for block in range(BLOCKS)}
    for block in reversed(LEFT_FREE):
        paged.free(first[block])


@cache
def moments() -> tuple[MemoryStep, ...]:
    """The run, step by step; what is said of it is not checked here but in a test."""
    paged = PagedAllocator(BLOCKS, SIZE, log=True)
    _come_and_go(paged)
    log = paged.pool.events
    assert log is not None
    found: list[MemoryStep] = []
    for said, step in STEPS:
        first = len(log)
        step(paged)
        found.append(_moment(paged, said, tuple(log[first:]), found))
    return tuple(found)


def _moment(
    paged: PagedAllocator,
    said: str,
    events: tuple[BlockEvent, ...],
    past: list[MemoryStep],
) -> MemoryStep:
    pool, kept = paged.pool, paged.pool.kept_blocks()
    before = past[-1] if past else None
    names = {str(each): paged.table(each) for each in paged.requests}
    held = {name: paged.tokens(name) for name in names}
    contents = {
        block: held[name][SIZE * place : SIZE * (place + 1)]
        for name, table in names.items()
        for place, block in enumerate(table)
    }
    authors = {}
    for block in kept if before else ():
        assert before is not None
        contents[block] = before.contents[block]
        authors[block] = before.authors.get(block) or before.users(block)
    copied = {e.block: e.source or 0 for e in events if e.kind == "copied"}
    old = before.contents if before else {}
    written = frozenset(
        (block, place)
        for block, tokens in contents.items()
        for place, token in enumerate(tokens)
        if (token,) != old.get(copied.get(block, block), ())[place : place + 1]
    )
    return MemoryStep(
        said=said,
        events=events,
        tables=names,
        contents=contents,
        written=written,
        hashes={
            at: name.hex()[:2]
            for name, at in pool.contents().items()
            if isinstance(name, bytes)
        },
        authors=authors,
        queue=pool.free_order(),
        kept=kept,
        copies=sum(e.kind == "copied" for e in events)
        + (before.copies if before else 0),
        evictions=pool.evictions,
    )
