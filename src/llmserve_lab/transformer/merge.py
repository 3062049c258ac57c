"""Merging of partial attention: what was attended piece by piece becomes one softmax.

A softmax over all keys needs their largest score and the sum of their exponentials.
Where the keys lie in pieces, each piece gives its own mixture of values and the
logarithm of its own sum, and two such pairs can be merged without the scores.

Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Mask


@dataclass(frozen=True, eq=False)
class AttendedPiece:
    """Attention of n queries over a piece of the keys.

    ``mixed`` [n, h, d_v] are the values mixed with weights that add up to 1 over the
    piece; ``lse`` [n, h] is the log-sum-exp of its scores, −∞ where a query saw none.
    """

    mixed: Array
    lse: Array


def attend_piece(
    query: Array,
    key: Array,
    value: Array,
    mask: Mask,
    *,
    scale: float | None = None,
    run: Execution = PLAIN,
) -> AttendedPiece:
    """As :func:`llmserve_lab.transformer.attend`, over a piece of the keys.

    Other than there, a query may see no key of the piece.
    """
    run.see(mask)
    n, n_kv = len(query), key.shape[1]
    scaled = query * (query.shape[-1] ** -0.5 if scale is None else scale)
    grouped = scaled.reshape(n, n_kv, -1, query.shape[-1]).transpose(1, 2, 0, 3)
    scores = run.attention(grouped, key.transpose(1, 2, 0)[:, None])
    masked = np.where(mask, scores, -np.inf)  # [h_kv, h/h_kv, n, m]
    largest = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(masked - np.where(np.isfinite(largest), largest, 0.0))
    total = run.total(weights)
    with np.errstate(divide="ignore"):
        lse = (largest + np.log(total))[..., 0]
    mixed = run.attention(
        weights / np.where(total > 0, total, 1.0), value.transpose(1, 0, 2)[:, None]
    )
    return AttendedPiece(
        mixed.transpose(2, 0, 1, 3).reshape(n, -1, value.shape[-1]),
        lse.transpose(2, 0, 1).reshape(n, -1),
    )


def merge_partials(parts: Sequence[AttendedPiece]) -> AttendedPiece:
    """Attention over all pieces, from that over each; the pieces share no key.

    A piece counts with exp(its log-sum-exp), the sum of its exponentials.

    Raises:
        ValueError: there is no piece.
    """
    if not parts:
        raise ValueError("parts must hold at least 1 piece, got none")
    each = np.stack([part.lse for part in parts])  # [pieces, n, h]
    largest = each.max(axis=0)
    share = np.exp(each - np.where(np.isfinite(largest), largest, 0.0))
    total = share.sum(axis=0)
    weights = share / np.where(total > 0, total, 1.0)
    mixed = sum(
        w[..., None] * part.mixed for w, part in zip(weights, parts, strict=True)
    )
    with np.errstate(divide="ignore"):
        return AttendedPiece(np.asarray(mixed), largest + np.log(total))
