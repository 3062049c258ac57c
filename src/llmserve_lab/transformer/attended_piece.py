"""Attention over a piece of the keys, to be merged with that over the others.

A piece gives its own mixture of values and the log-sum-exp of its scores; of such
pairs :func:`llmserve_lab.transformer.online_softmax.merge` makes one softmax.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Mask
from llmserve_lab.transformer.attention import grouped_scores, mixture
from llmserve_lab.transformer.online_softmax import Partial


def attend_piece(
    query: Array,
    key: Array,
    value: Array,
    mask: Mask,
    *,
    scale: float | None = None,
    run: Execution = PLAIN,
) -> Partial:
    """As :func:`llmserve_lab.transformer.attend`, over a piece of the keys.

    Other than there, a query may see no key of the piece: its log-sum-exp is −∞.
    """
    run.see(mask)
    scores = grouped_scores(query, key, scale=scale, run=run)
    masked = np.where(mask, scores, -np.inf)  # [h_kv, h/h_kv, n, m]
    largest = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(masked - np.where(np.isfinite(largest), largest, 0.0))
    total = run.total(weights)
    with np.errstate(divide="ignore"):
        lse = (largest + np.log(total))[..., 0]
    mixed = mixture(weights / np.where(total > 0, total, 1.0), value, run=run)
    return Partial(mixed, lse.transpose(2, 0, 1).reshape(len(query), -1))
