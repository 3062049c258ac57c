"""Ring attention: keys and values go round the ranks, or the queries do.

Each rank has some tokens of one request: their rows, and what they leave in the cache.
Pass-KV sends the blocks of keys and values from neighbour to neighbour; every rank
keeps its queries and merges. Pass-Q sends the queries round, every rank keeps its
cache, and what was attended goes back to the rank with the queries, to be merged. For
decode every rank has the one new row, attends its part of the cache, and all merge.

Sources: Liu, Zaharia and Abbeel, arXiv 2310.01889; Yang et al., arXiv 2411.01783.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llmserve_lab.collectives import Rank
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.attended_piece import attend_piece
from llmserve_lab.transformer.online_softmax import Partial, merge

Piece = tuple[int, int, int]  # whose queries, whose keys, pairs that the mask let by


@dataclass(frozen=True, eq=False)
class Share:
    """A rank's part of one attention: queries and keys, and their places.

    ``query_places[i]`` and ``key_places[i]`` are those of rank i, which all ranks know;
    ``done`` collects which pieces this rank computed.
    """

    query: Array
    key: Array
    value: Array
    query_places: Sequence[Integers]
    key_places: Sequence[Integers]
    scale: float | None
    done: list[Piece]

    def attend(
        self, of: int, query: Array, keys_of: int, key: Array, value: Array
    ) -> Partial:
        """Queries of rank ``of`` over the keys of rank ``keys_of``."""
        mask = self.key_places[keys_of][None] <= self.query_places[of][:, None]
        self.done.append((of, keys_of, int(mask.sum())))
        return attend_piece(query, key, value, mask, scale=self.scale)


Method = Callable[[Rank, Share], Array]


def pass_kv(rank: Rank, share: Share) -> Array:
    """[n, h, d_v]: g − 1 times, send the block held to the next rank, and merge.

    Each block is merged as it comes, so that a rank keeps one result at a time.
    """
    beside = {"dst": (rank.index + 1) % rank.num_ranks, "src": rank.index - 1}
    beside["src"] %= rank.num_ranks
    width = share.key.shape[-1]
    held = np.concatenate([share.key, share.value], axis=-1)
    so_far: list[Partial] = []
    for step in range(rank.num_ranks):
        if step:
            held = rank.sendrecv(held, **beside)
        source = (rank.index - step) % rank.num_ranks
        key, value = held[..., :width], held[..., width:]
        part = share.attend(rank.index, share.query, source, key, value)
        so_far = [merge([*so_far, part])]
    return so_far[0].output


def pass_q(rank: Rank, share: Share) -> Array:
    """[n, h, d_v]: the queries go round; what was attended comes back to be merged."""
    ranks, here = rank.num_ranks, rank.index
    held, found = share.query, {}
    for step in range(ranks):
        if step:
            held = rank.sendrecv(held, dst=(here + 1) % ranks, src=(here - 1) % ranks)
        owner = (here - step) % ranks
        found[owner] = share.attend(owner, held, here, share.key, share.value)
    rows = [_packed(found[owner]) for owner in range(ranks)]
    back, counts = rank.all_to_all(np.concatenate(rows), [len(each) for each in rows])
    pieces = np.split(back, np.cumsum(counts)[:-1])
    return merge([_unpacked(piece) for piece in pieces]).output


def every_cache(rank: Rank, share: Share) -> Array:
    """[n, h, d_v]: the same queries on all ranks, each over its own keys; all merge."""
    part = share.attend(rank.index, share.query, rank.index, share.key, share.value)
    pieces = rank.all_gather(_packed(part)[None], axis=0)
    return merge([_unpacked(piece) for piece in pieces]).output


METHODS: Mapping[str, Method] = MappingProxyType(
    {"pass-KV": pass_kv, "pass-Q": pass_q, "decode": every_cache}
)


def _packed(part: Partial) -> Array:
    """[n, h, d_v + 1]: what is mixed, and its log-sum-exp beside it."""
    return np.concatenate([part.output, part.log_sum_exp[..., None]], axis=-1)


def _unpacked(both: Array) -> Partial:
    return Partial(both[..., :-1], both[..., -1])
