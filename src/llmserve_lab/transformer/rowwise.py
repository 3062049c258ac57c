"""All but attention works on one row at a time, and cannot see whose row it is.

Rows are [n, d]: n tokens of any requests, with no axis for a batch. Nothing here mixes
two rows.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution

EPSILON = 1e-6  # keeps a norm from dividing by zero


def linear(
    rows: Array, weight: Array, bias: Array | None = None, *, run: Execution = PLAIN
) -> Array:
    """Rows [n, d] × weight [d, k] (+ bias [k]) → [n, k]."""
    product = run.linear(rows, weight)
    return product if bias is None else product + bias


def rms_norm(rows: Array, gain: Array, *, run: Execution = PLAIN) -> Array:
    """Divide each row […, d] by its root mean square, multiply by gain [d]."""
    mean_square = run.total(rows * rows) / rows.shape[-1]
    return np.asarray(rows / np.sqrt(mean_square + EPSILON) * gain)


def layer_norm(
    rows: Array, gain: Array, bias: Array, *, run: Execution = PLAIN
) -> Array:
    """Give each row […, d] mean 0 and variance 1, then gain [d] and bias [d]."""
    centred = rows - run.total(rows) / rows.shape[-1]
    return rms_norm(centred, gain, run=run) + bias


def norm(
    rows: Array, gain: Array, bias: Array | None = None, *, run: Execution = PLAIN
) -> Array:
    """LayerNorm where there is a bias, RMSNorm where there is none."""
    if bias is None:
        return rms_norm(rows, gain, run=run)
    return layer_norm(rows, gain, bias, run=run)


def softmax(scores: Array, *, run: Execution = PLAIN) -> Array:
    """[…, m] → […, m], positive, last axis sums to 1; a score of −∞ becomes 0."""
    weights = np.asarray(scores - scores.max(axis=-1, keepdims=True))
    np.exp(weights, out=weights)
    weights /= run.total(weights)
    return weights


def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), element by element; written with tanh, which cannot overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def silu(x: Array) -> Array:
    """The product x · sigmoid(x), the activation of a SwiGLU."""
    return x * sigmoid(x)


def gelu(x: Array) -> Array:
    """GeLU in the tanh form of GPT-2 (Hendrycks & Gimpel, arXiv 1606.08415)."""
    bend = np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x))
    return np.asarray(0.5 * x * (1 + bend))


def split_heads(rows: Array, d_head: int) -> Array:
    """[n, h·d_head] → [n, h, d_head]; head j is columns j·d_head onwards.

    Raises:
        ValueError: the width holds no whole number of heads.
    """
    whole(d_head=d_head)
    if rows.shape[-1] % d_head:
        raise ValueError(
            f"d_head must divide the width {rows.shape[-1]}, got {d_head}: "
            f"a head may not be cut"
        )
    return rows.reshape(len(rows), -1, d_head)


def merge_heads(heads: Array) -> Array:
    """[n, h, d_head] → [n, h·d_head]."""
    return heads.reshape(len(heads), -1)
