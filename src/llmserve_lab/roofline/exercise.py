"""The reader's own choice: the largest batch that fits, and that is quick enough."""

from __future__ import annotations

from collections.abc import Callable

from llmserve_lab.checks import positive, whole
from llmserve_lab.formula.text import si
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import MEAN_CONTEXT, decode, decodes
from llmserve_lab.running_example import cost, ideal

Choose = Callable[[int, float], int]
CONTEXTS = (500, MEAN_CONTEXT, 8192, 60_000)  # tokens in cache
LIMITS_S = (0.005, 0.0125, 0.03, 0.1)  # between two tokens


def seconds(batch: int, context: int) -> float:
    """A decode iteration of the running example, fitted to servers."""
    whole(batch=batch, context=context)
    return cost().seconds(decodes(batch, context))


def held_bytes(batch: int, context: int) -> float:
    """Bytes of the weights and of all caches."""
    stored = float(f.STORED_BYTES.at(ideal()))
    size = decode(batch, context)
    return float(f.ITERATION_BYTES.at(ideal(), size, weight_bytes=stored))


def hbm_bytes() -> float:
    """Bytes that the GPU holds."""
    return float(ideal()["hbm_bytes"])


def largest_batch(context: int, limit_s: float) -> int:
    """The largest batch that fits and keeps the limit; 0 if there is none."""
    positive("limit_s", limit_s)
    batch = 0
    while (
        held_bytes(batch + 1, context) <= hbm_bytes()
        and seconds(batch + 1, context) <= limit_s
    ):
        batch += 1
    return batch


def check(choose: Choose) -> str:
    """What is still wrong with a choice, beginning with "not yet"; or all is well."""
    for context in CONTEXTS:
        for limit_s in LIMITS_S:
            found, right = choose(context, limit_s), largest_batch(context, limit_s)
            if found == right:
                continue
            asked = f"{context:,} tokens in cache and {si(limit_s, 's')} a token"
            return f"not yet: for {asked}\n{found} is chosen, and {_why(found, right)}."
    return f"well done: right for all {len(CONTEXTS) * len(LIMITS_S)} loads."


def _why(found: int, right: int) -> str:
    """What is wrong with a batch that was chosen."""
    if found > right:
        return f"that is too many: {right} fit in time and memory"
    return f"{right} would still fit in time and memory"
