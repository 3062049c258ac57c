"""Attention by others: loops, mpmath in 30 digits, and PyTorch if it is installed.

mpmath comes with SymPy, so somebody who has never seen this package is always there.
Each takes query [n, h, d_k], key [m, h_kv, d_k], value [m, h_kv, d_v], mask [n, m], and
returns [n, h, d_v].
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from llmserve_lab.transformer.arithmetic import Array, Mask
from tests.transformer import loops

Attention = Callable[[Array, Array, Array, Mask], Array]


def in_loops(query: Array, key: Array, value: Array, mask: Mask) -> Array:
    """One number after another; a row visits only the keys that it may see."""
    out = np.empty((*query.shape[:2], value.shape[2]))
    group = query.shape[1] // key.shape[1]
    for i, head in np.ndindex(query.shape[:2]):
        own, seen = head // group, np.flatnonzero(mask[i])
        out[i, head] = loops.attended(
            query[i, head].tolist(),
            [key[j, own].tolist() for j in seen],
            [value[j, own].tolist() for j in seen],
            1 / np.sqrt(query.shape[-1]),
        )
    return out


def in_mpmath(query: Array, key: Array, value: Array, mask: Mask) -> Array:
    """Head by head, in mpmath's matrices."""
    group = query.shape[1] // key.shape[1]
    heads = [
        _one_head(query[:, head], key[:, head // group], value[:, head // group], mask)
        for head in range(query.shape[1])
    ]
    return np.stack(heads, axis=1)


def _one_head(query: Array, key: Array, value: Array, mask: Mask) -> Array:
    """Exponentials divided by their sum, as the definition has it, in 30 digits."""
    mpmath: Any = import_module("mpmath")
    with mpmath.workdps(30):
        q, k, v = (mpmath.matrix(x) for x in (query, key, value))
        powers = (q * k.T / mpmath.sqrt(query.shape[1])).apply(mpmath.exp)
        for row, column in np.argwhere(~mask).tolist():
            powers[row, column] = 0
        total, mixed = powers * mpmath.ones(len(key), 1), powers * v
        found = [[x / total[row] for x in mixed[row, :]] for row in range(len(query))]
    return np.array(found, dtype=np.float64)


def in_pytorch(query: Array, key: Array, value: Array, mask: Mask) -> Array:
    """The function that models call in PyTorch, in float64."""
    torch: Any = import_module("torch")
    group = query.shape[1] // key.shape[1]
    by_head = [
        torch.from_numpy(array.repeat(times, axis=1).transpose(1, 0, 2).copy())
        for array, times in ((query, 1), (key, group), (value, group))
    ]
    mixed = torch.nn.functional.scaled_dot_product_attention(
        *by_head, attn_mask=torch.from_numpy(mask)
    )
    return np.asarray(mixed.numpy().transpose(1, 0, 2))


OTHERS: dict[str, Attention] = {"loops": in_loops, "mpmath": in_mpmath}
if find_spec("torch"):
    OTHERS["PyTorch"] = in_pytorch
