"""The fit of what mixtures of experts have beside the six constants of dense models.

One piece for all forms with such constants. The six stay as they are; TPOT alone
is fitted, with the loss of :mod:`.fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import Generic, TypeVar

import numpy as np

from llmserve_lab.checks import at_least
from llmserve_lab.validation.fit import TPOT_DAMPED, damped
from llmserve_lab.validation.prediction import Predictor, Times
from llmserve_lab.validation.scores import pieced
from llmserve_lab.validation.unit_work import Floats


@dataclass(frozen=True, kw_only=True)
class ExtraConstants:
    """Constants beside those of dense models.

    Raises:
        ValueError: a number is negative.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            at_least(each.name, getattr(self, each.name), 0)


P = TypeVar("P", bound=Predictor)
C = TypeVar("C", bound=ExtraConstants)


def model_weights(predictor: Predictor) -> Floats:
    """Weights of the rows, [rows], whose sum is the same for each model."""
    model = predictor.label("model")
    names, own, counts = np.unique(model, return_inverse=True, return_counts=True)
    found: Floats = len(model) / (len(names) * counts[own])
    return found


def row_weights(predictor: Predictor) -> Floats:
    """Weights of the rows, [rows], as the six constants were fitted with: all alike."""
    return np.ones(len(predictor.rows))


@dataclass(frozen=True)
class ExtraFit(Generic[P, C]):
    """A form's times ``made`` with constants, where to start, and how rows count."""

    begin: C
    made: Callable[[P, C], Times]
    weights: Callable[[P], Floats] = model_weights

    def residuals(self, predictor: P, extra: C) -> Floats:
        """What the fit makes small, [rows]: weighted and damped errors of log TPOT."""
        return np.sqrt(self.weights(predictor)) * self._damped(predictor, extra)

    def _damped(self, predictor: P, extra: C) -> Floats:
        """The same before rows are weighted."""
        made = self.made(predictor, extra).tpot
        return damped(np.log(made / predictor.measured.tpot), TPOT_DAMPED)

    def loss(self, predictor: P, extra: C) -> float:
        """Half the sum of squared residuals."""
        rest = self.residuals(predictor, extra)
        return float(rest @ rest / 2)

    def fit(self, predictor: P, *, start: C | None = None) -> C:
        """The constants that come nearest to the measured TPOT of all rows.

        Raises:
            ValueError: a constant to start from is zero.
        """
        from llmserve_lab.extras import optimize

        start = start or self.begin
        if not min(astuple(start)) > 0:
            raise ValueError(f"start must be above 0 in all, got {start}")
        names = [each.name for each in fields(start)]
        roots = np.sqrt(self.weights(predictor))

        def of(logs: Floats) -> C:
            numbers = map(float, np.exp(logs))
            return type(start)(**dict(zip(names, numbers, strict=True)))

        found = optimize.least_squares(
            lambda logs: roots * self._damped(predictor, of(logs)),
            np.log(astuple(start)),
            x_scale=0.1,
        )
        return of(found.x)

    def without(self, predictor: P, label: np.ndarray) -> dict[str, C]:
        """The constants by the label [rows] that is left out of their fit.

        Raises:
            ValueError: all rows have one label.
        """
        if len(names := np.unique(label)) < 2:
            raise ValueError(f"rows must have two labels or more, got {names[0]} alone")
        return {str(name): self.fit(predictor.subset(label != name)) for name in names}

    def left_out(self, predictor: P, label: np.ndarray, sets: dict[str, C]) -> Times:
        """Times of each row from the constants that were fitted without its label."""

        def of(tested: np.ndarray) -> Times:
            (name,) = set(label[tested])
            return self.made(predictor.subset(tested), sets[str(name)])

        return pieced(label, of)
