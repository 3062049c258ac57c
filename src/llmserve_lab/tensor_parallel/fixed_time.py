"""What is known of a layer's fixed time beside its fitted value: measurements alone.

The value is fitted to whole servers and cannot be split. One GPU without a server says
what its kernels take at least, and what of that a cut would leave as it is.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import DEVICE, served

BARE_CONTEXT = 1100  # tokens cached in the bare passes nearest to the usual request
SHAPE = catalog.model("llama-3.1-8b")


class ProductLine(NamedTuple):
    """Seconds of a product of one row: a start, and its bytes at a bandwidth."""

    start_s: float
    bytes_per_s: float
    n_products: int

    def seconds(self, nbytes: float) -> float:
        """Seconds of a product that moves so many bytes."""
        return self.start_s + nbytes / self.bytes_per_s


def layer_products() -> tuple[one_h100.Product, ...]:
    """The measured products of one row with the matrices of a layer, in BF16."""
    return tuple(
        each
        for each in one_h100.products()
        if each.rows == 1 and each.precision == "bf16" and each.matrix != "head"
    )


@cache
def product_line() -> ProductLine:
    """The line through the products of a layer: least squares of relative errors."""
    found = layer_products()
    seconds = np.array([float(each.seconds) for each in found])
    terms = np.array([(1.0, each.traffic_bytes) for each in found])
    (start, slope), *_ = np.linalg.lstsq(terms / seconds[:, None], np.ones(len(found)))
    return ProductLine(float(start), 1 / float(slope), len(found))


def bare_layer_s() -> float:
    """Seconds that a layer takes beside its work on one H100 without a server.

    Measured decode passes of one request of Llama-3.1-8B, less the work that is
    predicted for them.
    """
    took_s = one_h100.mean_seconds()[one_h100.PassSize(1, BARE_CONTEXT, 0, 0)]
    context = float(BARE_CONTEXT)
    size = {"batch": 1.0, "chunk": 1.0, "context": context, "n_ranks": 1.0}
    work = float(f.RANK_S.at(served(SHAPE, DEVICE), size))
    return (took_s - work) / SHAPE.n_layers
