"""What the paper fixes, and the choices that it does not state.

Its lengths are geometric on 0, 1, 2, …; "mean 500" can be read as (1 − p)/p = 500 or as
p = 1/500, whose mean is 499. Its load can be that of a run without end, as the recipe
says, or the mean over a run that starts with empty slots.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import study
from llmserve_lab.afd.simulation.bundle import CYCLE_S
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.afd.theory.paper_recipe import recipe, with_slot_tokens
from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.verdict import Ruling

EXACT, ROUNDED = Ruling.EXACT, Ruling.WITHIN_ROUNDING
MIXED, WRONG, OPEN = (
    Ruling.INCONSISTENT,
    Ruling.WRONG,
    Ruling.CANNOT_BE_CHECKED,
)
ONE_LESS = 1.0  # p = 1/mean instead of a mean of (1 − p)/p
FIGURE_6 = 12_800  # requests with which all three printed ratios come out

exact = partial(Claim, verdict=EXACT)
rounded = partial(Claim, verdict=ROUNDED)
wrong = partial(Claim, verdict=WRONG)
mixed = partial(Claim, verdict=MIXED)


def per_thousand_cycles(tokens_per_s: float) -> float:
    """Tokens of a thousand cycles: the paper does not say how long a cycle is."""
    return 1000 * CYCLE_S * tokens_per_s


@cache
def baseline() -> dict[str, float]:
    """The paper's baseline: coefficients, sizes, and θ of a run without end."""
    return with_slot_tokens(paper_setup.known())


def without_end(*, batch: int = 256, prompt: int = 100, answer: int = 500) -> float:
    """r* by the recipe as printed: the load of a run without end."""
    return recipe(paper_setup.known(batch=batch, prompt=prompt, answer=answer)).best


def over_a_run(
    *,
    batch: int = 256,
    prompt: float = 100,
    answer: float = 500,
    n_requests: int = paper_setup.REQUESTS,
) -> float:
    """r* with the load averaged over a run from empty slots, p = 1/``answer``."""
    known = paper_setup.known(batch=batch, prompt=prompt, answer=answer - ONE_LESS)
    known["n_steps"] = float(f.N_STEPS.at(known, n_requests=n_requests))
    known["slot_tokens"] = float(f.HORIZON_LOAD.at(known)) / batch
    return recipe(known).best


def from_zero(batch: int) -> float:
    """r* as Figure 6 must have it: prompts too one shorter, and a longer run."""
    return over_a_run(batch=batch, prompt=100 - ONE_LESS, n_requests=FIGURE_6)


@cache
def simulated(batch: int = 256, prompt: int = 100, answer: int = 500) -> Floats:
    """Tokens per second and instance at ratios 1 to 24, in steady state."""
    law = paper_setup.law(prompt=prompt, answer=answer)
    made = paper_setup.made(1, batch=batch)
    found = study(made, law, most=24, n_requests=800, seeds=range(3))
    return found.mean("tokens_per_s")


def best_simulated(batch: int) -> int:
    """The whole ratio that pays best in the simulation."""
    whole(of="request", most=MOST_PLAYED, batch=batch)
    return 1 + int(np.argmax(simulated(batch)))
