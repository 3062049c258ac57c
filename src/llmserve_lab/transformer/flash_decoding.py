"""FlashDecoding: attention of one query, its keys in splits that are merged at the end.

With one query there is one tile of rows, so a kernel that gives each tile of rows to a
multiprocessor keeps few of them busy. Splits of the keys are more blocks of work.

Source: Dao, Haziza, Massa and Sizov 2023, "Flash-Decoding for long-context inference".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.attention import check_attention, check_finite
from llmserve_lab.transformer.flash import Visit, attend_tiles
from llmserve_lab.transformer.hbm import HbmMeter
from llmserve_lab.transformer.online_softmax import Partial, RunningSoftmax, merge
from llmserve_lab.transformer.tiling import MOST_TOKENS, tiles

Watch = Callable[[int, Visit], None]


def _unwatched(_split: int, _visit: Visit) -> None:
    """No observer."""


def split_decode(
    query: Array,
    key: Array,
    value: Array,
    *,
    n_split: int,
    tile_keys: int,
    hbm: HbmMeter | None = None,
    watch: Watch = _unwatched,
) -> Array:
    """Attention of one token's query, its keys in ``n_split`` splits, then merged.

    Splits are as even as whole tokens allow. Each writes an output and a log-sum-exp,
    which the merge reads; one split alone is attention, and nothing is merged.

    Args:
        query: [h, d_k].
        key: [m, h_kv, d_k].
        value: [m, h_kv, d_v].
        n_split: splits, at most as many as there are keys.
        tile_keys: keys of a tile inside a split.
        hbm: a meter on what is read and written.
        watch: is shown every visit and the number of its split.

    Returns:
        [h, d_v].

    Raises:
        TypeError: a count is no whole number.
        ValueError: a count is below 1, there are more splits than keys, shapes do not
            fit, or a number is not finite.
    """
    whole(tile_keys=tile_keys)
    rows = query[np.newaxis]
    check_finite(query=query, key=key, value=value)
    check_attention(rows, key, value, np.ones((1, len(key)), dtype=np.bool_))
    meter = HbmMeter() if hbm is None else hbm
    parts = []
    for number, span in enumerate(splits(len(key), n_split)):
        see = partial(watch, number)
        state = _attended(rows, key, value, span, tile_keys, meter, see)
        output = state.output
        parts.append(
            Partial(output.reshape(-1, output.shape[-1]), state.log_sum_exp.reshape(-1))
        )
    if len(parts) > 1:
        _through_memory(parts, meter)
    return meter.write("output", merge(parts).output)


def splits(n_keys: int, n_split: int) -> list[slice]:
    """Spans of ``n_keys`` keys in so many splits, as even as whole tokens allow.

    Raises:
        TypeError: a count is no whole number.
        ValueError: a count is below 1, there are more splits than keys, or more keys
            than can be played out.
    """
    whole(of="key", most=MOST_TOKENS, n_keys=n_keys)
    whole(n_split=n_split)
    if n_split > n_keys:
        raise ValueError(
            f"n_split must be at most the number of keys, {n_keys}, got {n_split}"
        )
    ends = [n_keys * i // n_split for i in range(n_split + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def _attended(
    rows: Array,
    key: Array,
    value: Array,
    span: slice,
    tile_keys: int,
    meter: HbmMeter,
    watch: Callable[[Visit], None],
) -> RunningSoftmax:
    """The running softmax when the tiles of one split have gone by."""
    seen = np.ones((1, span.stop - span.start), dtype=np.bool_)
    visited = tiles([(slice(0, 1), span, seen)], 1, tile_keys)
    states: list[RunningSoftmax] = []

    def look(visit: Visit) -> None:
        states.append(visit.state)
        watch(visit)

    own = HbmMeter()
    attend_tiles(rows, key, value, visited, hbm=own, watch=look)
    meter.reads += own.reads
    return states[-1]


def _through_memory(parts: list[Partial], meter: HbmMeter) -> None:
    """Each split's output and log-sum-exp is written, and read by the merge."""
    for pass_by in (meter.write, meter.read):
        for part in parts:
            pass_by("partial output", part.output)
            pass_by("log-sum-exp", part.log_sum_exp)
