"""Small examples with round numbers: six tokens in tiles, a decode in three splits.

Both run on the transformer's kernels; what is kept is the log of their visits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.transformer import HbmMeter, flash_attention, split_decode
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.flash import Visit

TOKENS, WIDTH, WIDTH_V = 6, 4, 2
TILE = 2  # queries and keys of a tile
KEYS, SPLITS = 12, 3  # of the decode
SEED = 9
FIVE = (2.0, 1.0, 3.0, 5.0, 4.0)  # scores for the calculation by hand
FIVE_VALUES = (10.0, 20.0, 30.0, 40.0, 50.0)
CUT = 3  # scores in the first of its two tiles


@dataclass(frozen=True)
class KernelStep:
    """One visit: rows and keys from 0, scores [n, m], the state of the rows after it.

    ``read`` and ``written`` are numbers that had passed the memory by then.
    """

    block: int
    rows: tuple[int, int]
    keys: tuple[int, int]
    scores: Array
    factor: Array
    highest: Array
    total: Array
    mixed: Array
    read: int
    written: int


@dataclass
class VisitLog:
    """Steps of a run in their order, the output, and the meter at its end."""

    steps: list[KernelStep] = field(default_factory=list)
    output: Array = field(default_factory=lambda: np.empty(0))
    hbm: HbmMeter = field(default_factory=HbmMeter)

    def look(self, visit: Visit, block: int = 0) -> None:
        """Keep a copy of what is on chip."""
        tile, state = visit.tile, visit.state
        self.steps.append(
            KernelStep(
                block,
                (tile.rows.start, tile.rows.stop),
                (tile.keys.start, tile.keys.stop),
                visit.scores[0, 0].copy(),
                visit.factor[0, 0].copy(),
                state.highest[0, 0].copy(),
                state.total[0, 0].copy(),
                state.mixed[0, 0].copy(),
                self.hbm.reads.total(),
                self.hbm.writes.total(),
            )
        )


def head(tokens: int, *, seed: int = SEED) -> tuple[Array, Array, Array]:
    """Query, key [n, 1, 4] and value [n, 1, 2] of one head, in whole numbers."""
    whole(of="token", most=MOST_PLAYED, tokens=tokens)
    rng = np.random.default_rng(seed)
    query, key = rng.integers(-2, 3, (2, tokens, 1, WIDTH)).astype(float)
    value = rng.integers(0, 10, (tokens, 1, WIDTH_V)).astype(float)
    return query, key, value


def tiled() -> VisitLog:
    """Causal attention of six tokens in tiles of two by two."""
    log = VisitLog()
    log.output = flash_attention(
        *head(TOKENS), tile_rows=TILE, tile_keys=TILE, hbm=log.hbm, watch=log.look
    )
    return log


def decoded(n_split: int) -> VisitLog:
    """One query against twelve keys, in so many splits, tiles of two keys."""
    log = VisitLog()
    query, key, value = head(KEYS)
    log.output = split_decode(
        query[-1],
        key,
        value,
        n_split=n_split,
        tile_keys=TILE,
        hbm=log.hbm,
        watch=lambda block, visit: log.look(visit, block),
    )
    return log
