"""The served form of mixtures with its layers counted in kernels.

Written after the second blind trial, with all its 217 runs and the 763 of the first in
view: scores of this form on them are cross-validated at best. Between two kernels of a
graph the device waits, and a kernel of one row is over soon, so that a layer of a small
batch takes a time per kernel. :func:`kernels_of` counts them, from what engines launch:
facts, although what is fused differs between engines, and which count to take was
chosen on these runs. Two constants are fitted: the time of a kernel, which takes the
place of the dense layer's time, and the expert products' factor, as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.hybrid import HybridShape
from llmserve_lab.checks import whole
from llmserve_lab.engine import IterationCost
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.expert_form import DENSE, MendedPredictor, mended_cost
from llmserve_lab.validation.exposure import Exposures
from llmserve_lab.validation.extra_fit import ExtraConstants
from llmserve_lab.validation.latent_form import latent_cost, latent_exposures
from llmserve_lab.validation.on_devices import OnDevices
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import BYTES_16, Floats, bytes_per_weight

# Kernels of a layer that decodes, by what it is made of; vLLM's modules, one by one:
# norm, product, rotation with the write to the cache, attention, product; norm,
# router, choice, sorting, product, activation, product, sum. On several devices two
# all-reduces. A shared expert runs beside the others or as one of them: none more.
GROUPED = 5
MIXTURE = 8
REDUCES = 2
# MLA: two products and two norms before the heads, a product on either side of the
# attention, and a copy, where GQA has none.
LATENT = 6
# Its indexer: three products, a norm, a rotation, two quantisations, scores, choice.
INDEXER = 9
# A gated delta layer: two products, convolution, recurrence, norm and product, and a
# copy, where GQA has four; a hybrid's layer that attends multiplies with a gate.
DELTA, GATE = 3, 1
# In eight bits by blocks, rows are quantised before each of four products.
QUANTISED: Mapping[str, int] = MappingProxyType({"fp8": 4})


@dataclass(frozen=True, kw_only=True)
class KernelConstants(ExtraConstants):
    """What is fitted of a mixture of experts beside the constants of dense models.

    Args:
        kernel_s: seconds of each kernel of each layer in each iteration.
        products: how many times as long the products with the experts of a row take.

    Raises:
        ValueError: a number is negative.
    """

    kernel_s: float
    products: float


def kernels_of(row: OnDevices) -> float:
    """Kernels of a layer on each device of the row's group, a mean over the layers."""
    return layer_kernels(row.shape, precision=row.precision, tp=row.tp)


def layer_kernels(shape: ModelShape, *, precision: str, tp: int) -> float:
    """Kernels of a layer of a mixture on each of ``tp`` devices, a mean over layers.

    Raises:
        ValueError: the model has no experts, or there is no device.
    """
    whole(of="device", tp=tp)
    if not isinstance(shape.ffn, MoeFfn):
        raise ValueError(f"shape must be of a mixture of experts, got {shape.name}")
    count = float(GROUPED + MIXTURE + (REDUCES if tp > 1 else 0))
    if isinstance(shape.attention, LatentAttention):
        count += LATENT + (INDEXER if shape.attention.n_index_heads else 0)
    if isinstance(shape, HybridShape):
        more = DELTA * shape.delta_layers + GATE * shape.full_layers
        count += more / shape.n_layers
    return count + QUANTISED.get(precision, 0)


def state_s(row: OnDevices, reached: ServingConstants) -> float:
    """Seconds in which a device reads and writes one request's matrices, if any."""
    if not isinstance(row.shape, HybridShape):
        return 0.0
    state_bytes = 2 * row.shape.state_elements * state_bytes_each(row) / row.tp
    return state_bytes / (float(row.accelerator.hbm_bw) * reached.memory)


def state_bytes_each(row: OnDevices) -> float:
    """Bytes of a number of a matrix: 16 bits where the weights have fewer, or 32.

    InferenceX's scripts say so of FP8 and FP4, and 32 bits are the model's own.
    """
    fewer = bytes_per_weight(row.precision) < BYTES_16
    return BYTES_16 if fewer else 2 * BYTES_16


class KernelPredictor(MendedPredictor):
    """Rows of mixtures of any attention, ready to be priced with kernels counted.

    Raises:
        ValueError: there is no row, or one of a model without experts.
    """

    def _counted(self) -> list[Exposures]:
        """As each sort of rows is counted."""
        latent = [_is_latent(row) for row in self.rows]
        rest = [row for row, it in zip(self.rows, latent, strict=True) if not it]
        others = iter(MendedPredictor(rest).exposures if rest else ())
        return [
            latent_exposures(row) if it else next(others)
            for row, it in zip(self.rows, latent, strict=True)
        ]

    def _cost(self, row: MeasuredRow, reached: ServingConstants) -> IterationCost:
        if _is_latent(row):
            return latent_cost(row, reached, DENSE)
        cost = mended_cost(row, reached, DENSE)
        return replace(cost, request_s=cost.request_s + state_s(row, reached))

    @cached_property
    def kernels(self) -> Floats:
        """Kernels of all layers, [rows]."""
        return np.array([row.shape.n_layers * kernels_of(row) for row in self.rows])

    def timed(self, reached: ServingConstants, extra: KernelConstants) -> Times:
        """The times of all rows, their layers counted in kernels."""
        has = self._slopes(reached)
        changed = {
            "row_s": has["dense_row_s"] + has["expert_row_s"] * extra.products,
            "overhead_s": self.kernels * extra.kernel_s,
        }
        return self._times({**has, **changed}, reached)


def _is_latent(row: OnDevices) -> bool:
    return isinstance(row.shape.attention, LatentAttention)
