"""What the machine fitted to dense models misses of a mixture of experts.

Written after the blind score of :mod:`.experts`, with its runs in view: scores of this
form are cross-validated at best. Two sorts of things are mended. *Facts* of a model
have no constant: gpt-oss looks through a window in every other layer, and of its
checkpoint in four bits only the experts have four. Two *constants*
(:class:`ExpertConstants`) are what dense machines do not have, and are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.records.cache_layers import CacheLayers
from llmserve_lab.checks import at_least
from llmserve_lab.engine import IterationCost
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.experts import expert_cost
from llmserve_lab.validation.exposure import Exposures, exposures_of_all
from llmserve_lab.validation.prediction import Predictor, Times
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import BYTES_16, Floats, bytes_per_weight

# Checkpoints in four bits whose experts alone have four (config.json of
# openai/gpt-oss-120b: quantization_config, modules_to_not_convert).
EXPERTS_ALONE = frozenset({"gpt-oss-120b"})


@dataclass(frozen=True, kw_only=True)
class ExpertConstants:
    """What a mixture of experts takes beyond what dense models do.

    Args:
        layer_s: seconds of each layer in each iteration, on top of a dense layer's:
            presumably the router, sorting rows by expert, and combining.
        products: how many times as long the products of a row take; presumably since
            those of an expert have few rows each.

    Raises:
        ValueError: a number is negative.
    """

    layer_s: float
    products: float

    def __post_init__(self) -> None:
        for each in fields(self):
            at_least(each.name, getattr(self, each.name), 0)


# Fields of an iteration's cost that a mean time is made of.
SLOPES = (
    "weights_s", "experts_s", "expert_miss", "row_s", "pair_s", "kv_token_s",
    "request_s", "prompt_s", "overhead_s", "collective_row_s",
)  # fmt: skip
DENSE = ExpertConstants(layer_s=0.0, products=1.0)  # nothing of the kind


def kept_of(row: MeasuredRow) -> CacheLayers | None:
    """What the layers of the row's model keep, where not all of them keep all."""
    return CACHE_LAYERS.get(row.shape.key)


def sixteen_bits_s(row: MeasuredRow, reached: ServingConstants) -> float:
    """Seconds more to read what has 16 bits in a checkpoint said to have four.

    The head is in 16 bits in every row's bill, and the embedding is not read.
    """
    if row.shape.key not in EXPERTS_ALONE or row.precision != "fp4":
        return 0.0
    apart = ("experts.", "embed_tokens", "lm_head")
    params = sum(
        each.params for each in row.shape.tensors() if not each.name.startswith(apart)
    )
    more_bytes = params * (BYTES_16 - bytes_per_weight(row.precision)) / row.tp
    return more_bytes / (float(row.accelerator.hbm_bw) * reached.memory)


def mended_cost(
    row: MeasuredRow, reached: ServingConstants, extra: ExpertConstants
) -> IterationCost:
    """The engine's cost of an iteration, with the facts and two constants in place.

    The window is not in it: pairs and tokens of cache are to be counted with
    :func:`kept_of`.

    Raises:
        ValueError: the model has no experts.
    """
    cost = expert_cost(row, reached)
    return replace(
        cost,
        weights_s=cost.weights_s + sixteen_bits_s(row, reached),
        row_s=cost.row_s * extra.products,
        overhead_s=cost.overhead_s + row.shape.n_layers * extra.layer_s,
    )


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

    def predict(
        self, reached: ServingConstants, extra: ExpertConstants = DENSE
    ) -> Times:
        """The times of all rows: as with :func:`mended_cost` of each."""
        has, layers = self._slopes(reached)
        changed = {
            "row_s": has["row_s"] * extra.products,
            "overhead_s": has["overhead_s"] + layers * extra.layer_s,
        }
        return self._times({**has, **changed}, reached)

    def _slopes(self, reached: ServingConstants) -> tuple[dict[str, Floats], Floats]:
        """Fields of the costs without extra constants, and the layers, each [rows]."""
        if reached not in self._priced:
            costs = [mended_cost(row, reached, DENSE) for row in self.rows]
            self._priced[reached] = {
                name: np.array([getattr(cost, name) for cost in costs])
                for name in SLOPES
            }
        layers = [float(row.shape.n_layers) for row in self.rows]
        return self._priced[reached], np.array(layers)

    @cached_property
    def _priced(self) -> dict[ServingConstants, dict[str, Floats]]:
        return {}
