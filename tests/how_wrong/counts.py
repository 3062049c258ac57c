"""The error of a prediction, counted in steps of a hundredth of the measurement."""

from __future__ import annotations

import random

from llmserve_lab.how_wrong import formulas as f
from tests.counted import Case, counts


@counts(f.RELATIVE_ERROR, by="enumerated")
def relative_error(rng: random.Random) -> Case:
    """Walk from the measured time to the predicted one, a thousandth at a time."""
    measured, steps = rng.randint(1, 500), rng.randint(-900, 3000)
    ticks, walked = 1000 * measured, 0
    while ticks != measured * (1000 + steps):
        ticks += measured if steps > 0 else -measured
        walked += 1 if steps > 0 else -1
    known = {"predicted_s": ticks / 1000, "measured_s": float(measured)}
    return Case(known, walked / 1000)


@counts(f.MEASURED_S, by="enumerated")
def measured_s(rng: random.Random) -> Case:
    """Of all whole times, the one that becomes the prediction with its own share."""
    true, share = rng.randint(1, 400), rng.randint(-90, 300)
    predicted = 100 * true + true * share
    (found,) = (t for t in range(1, 5000) if 100 * t + t * share == predicted)
    known = {"predicted_s": predicted / 100, "relative_error": share / 100}
    return Case(known, float(found))
