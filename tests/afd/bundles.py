"""Small bundles drawn at random, with every option that there is."""

from __future__ import annotations

import random
import warnings

from llmserve_lab.afd.simulation.bundle import Bundle, Load, bundle
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Uniform,
)
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.vectorized_simulator import simulate

SCALES = {"a_attn": 0.01, "b_attn": 1, "a_ffn": 0.3, "b_ffn": 1, "a_comm": 0.1}
LAW = Independent(Uniform(0, 9), Geometric(6, least=0))


def times(rng: random.Random) -> dict[str, float]:
    """Six coefficients around values at which every stage matters."""
    each = SCALES | {"b_comm": 0.3}
    return {name: scale * rng.lognormvariate(0, 1) for name, scale in each.items()}


def drawn(rng: random.Random) -> tuple[Bundle, Load]:
    """A bundle and a load, every option as likely."""
    made = bundle(
        times(rng),
        batch=rng.randint(1, 8),
        n_attn=rng.randint(1, 4),
        n_ffn=rng.randint(1, 2),
        n_batches=rng.randint(1, 4),
        comm=rng.choice(("loop", "hidden")),
        barrier=rng.choice(("instance", "stage")),
    )
    answers = (Geometric(rng.uniform(0.5, 9), least=0), Uniform(0, rng.randint(1, 12)))
    load = Load(
        law=Independent(Uniform(0, rng.randint(0, 30)), rng.choice(answers)),
        n_requests=rng.randint(4, 30),
        start=rng.choice(("fresh", "stationary")),
        stop=rng.choice(("total", "each")),
        steps=rng.choice(("end token", "one each")),
    )
    return made, load


def ran(made: Bundle, load: Load, seed: int) -> BundleRun:
    """A run that nobody warns about being short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return simulate(made, load, seed=seed)
