"""A sample of the runs of mixtures that tests of the form share: counted once."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.served import seen_rows
from llmserve_lab.validation.served_form import ServedConstants, ServedPredictor

NTH = 40
ONE = ServedConstants(
    kernel_s=5e-6,
    products=4.0,
    launched=10.0,
    context_s=2e-8,
    touched=0.8,
    four_bits=0.5,
)
NAMES = tuple(vars(ONE))


def quick() -> list[int]:
    """Places of all runs but those of GLM-5, whose attention takes long to count."""
    return [i for i, row in enumerate(seen_rows()) if "GLM-5" not in row.model]


@cache
def sample() -> ServedPredictor:
    """Every fortieth of them."""
    return ServedPredictor([seen_rows()[place] for place in quick()[::NTH]])


def changed(predictor: ServedPredictor, rows: list[MeasuredRow]) -> ServedPredictor:
    """The same counts with other times measured."""
    return ServedPredictor(rows, predictor.exposures)


def tpot_s(predictor: ServedPredictor, extra: ServedConstants) -> np.ndarray:
    """TPOT of all rows with these constants, [rows]."""
    from llmserve_lab.validation.served import made

    return made(predictor, extra).tpot
