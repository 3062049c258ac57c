"""Which of two sizes of a group is faster? The error of a ratio, from pairs of runs.

Two sizes are compared by the ratio of their rates. How far the twin is off with such a
ratio is known wherever two groups of different sizes were measured: a pair. Each pair
is a way in which the twin has been wrong about a small group and a large one, and the
comparison at a target is made again with both groups as wrong as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations

from llmserve_lab.checks import positive
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, alike
from llmserve_lab.deepseek.evaluation.group_size import rate_with

DEVICE = "h100-sxm"


@cache
def pairs() -> tuple[tuple[float, float], ...]:
    """Errors of two steps, the smaller group's first, for groups across nodes."""
    opening = DecodeSetting(
        accelerator=DEVICE,
        ep=worked.PLACE.n_gpus,
        batch=worked.MANY,
        context=worked.CONTEXT,
    )
    return tuple(
        (few_error, many_error)
        for (few, few_error), (many, many_error) in permutations(alike(opening), 2)
        if few.ep < many.ep
    )


def ratio_errors() -> tuple[float, ...]:
    """Predicted over measured, less one, of the larger group's rate over the smaller's.

    A rate is one over a step, so that its error is that of a step turned round.
    """
    return tuple((1 + few) / (1 + many) - 1 for few, many in pairs())


@dataclass(frozen=True)
class PairsThatLead:
    """In how many of the pairs the larger group stays ahead."""

    ahead: int
    pairs: int

    @property
    def decided(self) -> bool:
        """Whether the order is the same however the twin errs of all pairs."""
        return self.ahead in (0, self.pairs)


def compared(
    few: int, many: int, *, context: float, tpot_s: float, lean: bool = False
) -> PairsThatLead:
    """Two groups of H100s at a target, with the errors of every pair.

    Raises:
        ValueError: ``many`` is not the larger, or ``tpot_s`` is not positive.
    """
    positive("many - few", many - few)

    def rate(ep: int, error: float) -> float:
        at = {"context": context, "tpot_s": tpot_s, "error": error}
        return rate_with(DEVICE, ep, **at, lean=lean)

    wins = [rate(many, off[1]) > rate(few, off[0]) for off in pairs()]
    return PairsThatLead(sum(wins), len(wins))
