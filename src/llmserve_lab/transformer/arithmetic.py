"""Hooks of a forward pass: the matrix product, the sum over ranks, and an observer.

A matrix product leaves open in which order the terms of a sum are added, and a sum of
rounded numbers depends on that order. A BLAS library chooses it by the size of the
whole product, so the last bit of a row may depend on how many other rows there are.
:data:`ORDERED` fixes the order; then a row has the same bits in any company. (What is
left are exp, tanh, sin and cos, element by element. That an element has the same bits
wherever it stands in an array NumPy does not promise; the tests find that it is so.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Product = Callable[[Array, Array], Array]


def blas_product(left: Array, right: Array) -> Array:
    """[…, n, m] × […, m, k] → […, n, k]: fast, terms added in an order of its own."""
    return np.asarray(np.matmul(left, right))


def ordered_product(left: Array, right: Array) -> Array:
    """[…, n, m] × […, m, k] → […, n, k], the m terms of each sum added in order.

    Guaranteed: an element is a chain of m rounded products and m rounded sums, always
    the same chain, so its bits depend on its own row and column alone, and terms that
    are exactly zero, in front, between or behind, change nothing. IEEE 754 rounds each
    elementwise ``*`` and ``+`` correctly, and NumPy fuses no two of them.
    """
    ahead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    total = np.zeros((*ahead, left.shape[-2], right.shape[-1]))
    for term in range(left.shape[-1]):
        total += left[..., :, term, None] * right[..., None, term, :]
    return total


def fast_sum(values: Array) -> Array:
    """[…, m] → […, 1]: NumPy's pairwise sum, which splits by length."""
    return np.asarray(values.sum(axis=-1, keepdims=True))


def ordered_sum(values: Array) -> Array:
    """[…, m] → […, 1], from left to right: zeros behind the end change no bit."""
    return np.asarray(np.cumsum(values, axis=-1)[..., -1:])


def whole(partial: Array) -> Array:
    """What one device computed is the whole sum: nothing to add."""
    return partial


def _unwatched(*_: Any) -> None:
    """No observer."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a forward pass is carried out; it never changes what is to be computed.

    ``linear`` multiplies rows by weights, ``attention`` queries by keys and weights by
    values, ``total`` sums over the last axis. ``reduce`` is called on the [n, d] result
    of each half of a block, before the residual: ranks that hold a part of the heads
    and of d_ff put their all-reduce there. ``note(name, axes, array)`` sees every
    intermediate, ``see(mask)`` every mask that attention is executed under.
    """

    linear: Product = blas_product
    attention: Product = blas_product
    total: Callable[[Array], Array] = fast_sum
    reduce: Callable[[Array], Array] = whole
    note: Callable[[str, str, npt.NDArray[Any]], None] = _unwatched
    see: Callable[[Mask], None] = _unwatched

    def inside(self, place: str) -> Execution:
        """The same execution, its notes marked with the place they come from."""
        if self.note is _unwatched:
            return self
        outer = self.note

        def note(name: str, axes: str, array: npt.NDArray[Any]) -> None:
            outer(f"{place} / {name}", axes, array)

        return replace(self, note=note)


PLAIN = Execution()
ORDERED = Execution(
    linear=ordered_product, attention=ordered_product, total=ordered_sum
)
