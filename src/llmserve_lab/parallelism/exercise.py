"""The reader's own dealing of a prompt's tokens to the ranks of a ring.

The check counts tokens and pairs of each rank under the causal mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from llmserve_lab.parallelism.dealing import pairs_of

Dealt = Callable[[int, int], Sequence[Sequence[int]]]
SIZES = ((16, 2), (32, 4), (96, 8))  # tokens and ranks that the check tries


def in_runs(n_tokens: int, num_ranks: int) -> list[list[int]]:
    """The naive dealing: the first run of tokens to rank 0, the next to rank 1."""
    each = n_tokens // num_ranks
    return [list(range(rank * each, (rank + 1) * each)) for rank in range(num_ranks)]


def early_and_late(n_tokens: int, num_ranks: int) -> list[list[int]]:
    """Zig-zag: 2g pieces, of which rank i takes the i-th from either end."""
    size = n_tokens // (2 * num_ranks)
    dealt = []
    for rank in range(num_ranks):
        other = 2 * num_ranks - 1 - rank
        early = range(rank * size, (rank + 1) * size)
        late = range(other * size, (other + 1) * size)
        dealt.append([*early, *late])
    return dealt


def check(deal: Dealt) -> str:
    """What is still wrong with a dealing, beginning with "not yet"; or that it is well.

    Raises:
        ValueError: there is not one list for each rank.
    """
    for n_tokens, num_ranks in SIZES:
        dealt = deal(n_tokens, num_ranks)
        if len(dealt) != num_ranks:
            raise ValueError(
                f"deal must return {num_ranks} lists, one a rank, got {len(dealt)}"
            )
        if said := _wrong(dealt, n_tokens):
            return f"not yet: with {n_tokens} tokens on {num_ranks} ranks {said}"
    return "well done: every rank has as many tokens and as many pairs."


def _wrong(dealt: Sequence[Sequence[int]], n_tokens: int) -> str:
    if sorted(token for part in dealt for token in part) != list(range(n_tokens)):
        return "some token\nis on no rank, or on two."
    if len({len(part) for part in dealt}) > 1:
        return f"the ranks\nhold {', '.join(str(len(part)) for part in dealt)} tokens."
    work = [pairs_of(np.array(part)) for part in dealt]
    if len(set(work)) > 1:
        return f"the ranks\ncompute {', '.join(map(str, work))} pairs."
    return ""
