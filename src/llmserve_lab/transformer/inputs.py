"""What comes in from outside is checked here, before a number is multiplied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llmserve_lab.transformer.arithmetic import Integers
from llmserve_lab.transformer.packing import Packing, check_bounds


def token_ids(tokens: npt.ArrayLike, *, vocab: int) -> Integers:
    """``tokens`` as an array [n] of ids.

    Raises:
        TypeError: they are no whole numbers.
        ValueError: there is none, or one is not below ``vocab``.
    """
    ids = np.asarray(tokens)
    if ids.ndim != 1 or not ids.size:
        raise ValueError(
            f"tokens must be a list of at least 1 id, got shape {ids.shape}"
        )
    if ids.dtype.kind not in "iu":
        raise TypeError(f"tokens must be whole numbers, got {ids.dtype}")
    outside = ids[(ids < 0) | (ids >= vocab)]
    if outside.size:
        raise ValueError(f"tokens must be ids from 0 to {vocab - 1}, got {outside[0]}")
    return ids.astype(np.int64)


def rotary_positions(
    positions: npt.ArrayLike | None, packing: Packing, *, n_rows: int
) -> Integers:
    """Positions [n] for the rotary angles: those given, or those of the packing.

    Raises:
        TypeError: they are no whole numbers.
        ValueError: the packing is not of ``n_rows`` rows, or the positions are not.
    """
    check_bounds(packing.cu_seqlens, n_rows)
    given = packing.positions if positions is None else np.asarray(positions)
    if given.shape != (n_rows,):
        raise ValueError(f"positions must have shape ({n_rows},), got {given.shape}")
    if given.dtype.kind not in "iu":
        raise TypeError(f"positions must be whole numbers, got {given.dtype}")
    return given.astype(np.int64)
