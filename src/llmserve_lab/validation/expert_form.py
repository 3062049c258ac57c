"""What the machine fitted to dense models misses of a mixture of experts.

Written after the blind score of :mod:`.experts`, with its runs in view: scores of this
form on them are cross-validated at best. Two sorts of things are mended. *Facts* of a
model have no constant: gpt-oss looks through a window in every other layer, and of a
checkpoint in four bits often only the experts have four (:mod:`.checkpoints`). Two
*constants* (:class:`ExpertConstants`) are what dense machines do not have, and are
fitted. That the time of a layer grows with the experts that a row chooses, and that
only the products of experts take longer, was chosen on the same runs, each model left
out in its turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.records.cache_layers import CacheLayers
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.engine import IterationCost
from llmserve_lab.validation.checkpoints import read_bytes, row_s
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.experts import expert_cost
from llmserve_lab.validation.exposure import Exposures, exposures_of_all
from llmserve_lab.validation.extra_fit import ExtraConstants
from llmserve_lab.validation.on_devices import OnDevices
from llmserve_lab.validation.prediction import Predictor, Times
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import Floats

CHOSEN = 8  # experts of a row, for which the time of a layer is given


@dataclass(frozen=True, kw_only=True)
class ExpertConstants(ExtraConstants):
    """What a mixture of experts takes beyond what dense models do.

    Args:
        layer_s: seconds of each layer in each iteration, on top of a dense layer's,
            where a row chooses eight experts, and in proportion where it chooses
            fewer: presumably the router, sorting rows by expert, and combining.
        products: how many times as long the products with the experts of a row take;
            presumably since an expert has few rows.

    Raises:
        ValueError: a number is negative.
    """

    layer_s: float
    products: float


# Fields of an iteration's cost that a mean time is made of.
SLOPES = (
    "weights_s", "experts_s", "expert_miss", "pair_s", "kv_token_s", "request_s",
    "prompt_s", "overhead_s", "collective_row_s",
)  # fmt: skip
DENSE = ExpertConstants(layer_s=0.0, products=1.0)  # nothing of the kind


def kept_of(row: OnDevices) -> CacheLayers | None:
    """What the layers of the row's model keep, where not all of them keep all."""
    return CACHE_LAYERS.get(row.shape.key)


def mended_cost(
    row: OnDevices,
    reached: ServingConstants,
    extra: ExpertConstants,
    *,
    kv_bytes: float | None = None,
) -> IterationCost:
    """The engine's cost of an iteration, with the facts and two constants in place.

    The window is not in it: pairs and tokens of cache are to be counted with
    :func:`kept_of`. A cached number takes ``kv_bytes``, by default those that the
    benchmark of a measured row had.

    Raises:
        ValueError: the model has no experts.
    """
    cost = expert_cost(row, reached, kv_bytes=kv_bytes)
    bytes_per_s = float(row.accelerator.hbm_bw) * reached.memory
    dense_s, expert_s = (row_s(row, reached, routed=it) for it in (False, True))
    return replace(
        cost,
        weights_s=read_bytes(row, routed=False) / bytes_per_s,
        experts_s=read_bytes(row, routed=True) / bytes_per_s,
        row_s=dense_s + expert_s * extra.products,
        overhead_s=cost.overhead_s + layers_of_choice(row) * extra.layer_s,
    )


def layers_of_choice(row: OnDevices) -> float:
    """Layers, each counted by the experts that a row chooses, eight of them as one.

    Raises:
        ValueError: the model has no experts.
    """
    if not isinstance(row.shape.ffn, MoeFfn):
        raise ValueError(f"row must be of a mixture of experts, got {row.shape.name}")
    return row.shape.n_layers * row.shape.ffn.top_k / CHOSEN


class MendedPredictor(Predictor):
    """Rows of mixtures of experts, ready to be priced with any two constants.

    Raises:
        ValueError: there is no row, or one of a model without experts.
    """

    def _counted(self) -> list[Exposures]:
        """What the engine counts of each row, in each layer what it sees."""
        found: dict[int, Exposures] = {}
        for name in {row.model for row in self.rows}:
            places = [i for i, row in enumerate(self.rows) if row.model == name]
            own = [self.rows[place] for place in places]
            protocols = [self.protocols[place] for place in places]
            counted = exposures_of_all(own, protocols, kept=kept_of(own[0]))
            found |= dict(zip(places, counted, strict=True))
        return [found[place] for place in range(len(self.rows))]

    def subset(self, chosen: np.ndarray) -> Self:
        """The rows for which ``chosen`` [rows] is true; what is priced stays priced."""
        found = super().subset(chosen)
        places = np.flatnonzero(chosen)
        for reached, has in self._priced.items():
            found._priced[reached] = {name: has[name][places] for name in has}
        return found

    def predict(
        self, reached: ServingConstants, extra: ExpertConstants = DENSE
    ) -> Times:
        """The times of all rows: as with :func:`mended_cost` of each."""
        has = self._slopes(reached)
        changed = {
            "row_s": has["dense_row_s"] + has["expert_row_s"] * extra.products,
            "overhead_s": has["overhead_s"] + has["layers"] * extra.layer_s,
        }
        return self._times({**has, **changed}, reached)

    def _cost(self, row: MeasuredRow, reached: ServingConstants) -> IterationCost:
        """The cost of a row's iteration without extra constants."""
        return mended_cost(row, reached, DENSE)

    def _slopes(self, reached: ServingConstants) -> dict[str, Floats]:
        """Fields of the costs, products apart, and the layers, each [rows]."""
        if reached not in self._priced:
            costs = [self._cost(row, reached) for row in self.rows]
            apart = {
                name: [row_s(row, reached, routed=routed) for row in self.rows]
                for name, routed in (("dense_row_s", False), ("expert_row_s", True))
            }
            apart["layers"] = [layers_of_choice(row) for row in self.rows]
            for name in SLOPES:
                apart[name] = [getattr(cost, name) for cost in costs]
            self._priced[reached] = {k: np.array(each) for k, each in apart.items()}
        return self._priced[reached]

    @cached_property
    def _priced(self) -> dict[ServingConstants, dict[str, Floats]]:
        return {}
