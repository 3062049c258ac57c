"""Transient of a finite run: from fresh slots, loads are light at first.

The paper measures up to the step in which the first 80 % of the requests are complete.
Until then a batch, which shares them with the other batches, makes so many steps:
``n_steps`` with the slots of all batches. Slots fill up on the way, by ``step_load``. A
pipeline settles faster than they do, so the rule holds at each moment, and the run is
the mean of its periods. That is what all slots bring; of it (21) counts the share
``counted_share``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Bundle, Load
from llmserve_lab.afd.simulation.length_distributions import (
    Floats,
    Geometric,
    Independent,
    SlotLaw,
    moments,
)
from llmserve_lab.afd.simulation.run import SHARE
from llmserve_lab.afd.theory import corrected_model

MOMENTS = 32  # of a run, at which the rule is asked


def slot_after(load: Load, step: int) -> SlotLaw:
    """What a slot holds ``step`` steps after it was filled for the first time.

    Raises:
        ValueError: the load does not start fresh, or answers are not geometric with an
            end token: only then does a request's age say nothing about its end.
    """
    law, p_stop = _memoryless(load)
    ages = np.arange(step + 1)
    chances: Any = p_stop * (1 - p_stop) ** ages
    chances[-1] = (1 - p_stop) ** step  # whoever has been there from the start
    held = moments(ages, chances) + moments(*law.prompt.table())
    theta, variance, third = held.tolist()
    return SlotLaw(1 / p_stop, theta, variance, third)


def period_s(bundle: Bundle, load: Load, ratio: ArrayLike | None = None) -> Floats:
    """Mean time between two steps until 80 % of the requests are complete, seconds."""
    n_steps = f.N_STEPS(
        n_requests=SHARE * load.n_requests,
        batch=bundle.batch * bundle.n_batches,
        p_stop=_memoryless(load)[1],
    )
    steps = ((np.arange(MOMENTS) + 0.5) / MOMENTS * float(n_steps)).astype(np.int64)
    each = [
        corrected_model.period_s(bundle, slot_after(load, i), ratio)
        for i in steps.tolist()
    ]
    return np.asarray(np.mean(each, axis=0))


def tokens_per_s(bundle: Bundle, load: Load, ratio: ArrayLike | None = None) -> Any:
    """Slots times steps of the run, per second and instance, by our rule."""
    return f.INSTANCE_TOKENS_PER_S(
        af_ratio=bundle.ratio if ratio is None else ratio,
        batch=bundle.batch,
        cycle_s=period_s(bundle, load, ratio),
    )


def completed_per_s(bundle: Bundle, load: Load, ratio: ArrayLike | None = None) -> Any:
    """Equation (21) of the paper for the run, by our rule."""
    share = f.COUNTED_SHARE(
        p_stop=_memoryless(load)[1],
        n_batches=bundle.n_batches,
        batch=bundle.batch,
        n_requests=load.n_requests,
        measured_share=SHARE,
    )
    return share * tokens_per_s(bundle, load, ratio)


def _memoryless(load: Load) -> tuple[Independent, float]:
    """The law, and the chance to end at a step where it is the same at all of them."""
    law, fresh = load.law, (load.start, load.steps) == ("fresh", "end token")
    if fresh and isinstance(law, Independent):
        answers = law.decode
        if isinstance(answers, Geometric) and answers.least == 0:
            return law, answers.p_stop
    raise ValueError(
        "load must start fresh and have geometric answers, from 0 tokens on, with an "
        f"end token, got {load}"
    )
