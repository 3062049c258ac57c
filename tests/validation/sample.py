"""A sample of the measured rows that all tests of this room share: it is run once."""

from functools import cache

import numpy as np

from llmserve_lab.validation import Predictor, ServingConstants, dense_rows
from llmserve_lab.validation.__main__ import SAMPLE
from llmserve_lab.validation.rows import every


@cache
def sample() -> Predictor:
    """Every sixteenth row, counted by the engine."""
    return Predictor(every(dense_rows(), SAMPLE))


def drawn(rng: np.random.Generator) -> ServingConstants:
    """A machine at random, within what a machine may be."""
    return ServingConstants(
        memory=rng.uniform(0.5, 1.2),
        compute=rng.uniform(0.3, 1.0),
        exponent=rng.uniform(0.2, 1.0),
        layer_s=rng.uniform(1e-5, 2e-4),
        link=rng.uniform(0.2, 1.0),
        request_s=rng.uniform(5e-6, 1e-4),
        client_s=rng.uniform(0.01, 0.1),
        overlap=rng.uniform(0, 1),
        prompt_layers=rng.uniform(1, 8),
    )
