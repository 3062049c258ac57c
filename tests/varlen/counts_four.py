"""Up to four lengths, as the live figure has them: their moments, counted."""

from __future__ import annotations

import random

from llmserve_lab.varlen import formulas as f
from tests.counted import Case, counts
from tests.varlen.batches import carried_out


def four(rng: random.Random) -> tuple[dict[str, float], list[int]]:
    """Four sliders, some of them at 0, and the requests that are there."""
    lengths = [rng.randint(1, 9), *(rng.randint(0, 9) for _ in range(3))]
    names = (f"len_{i}" for i in range(1, 5))
    given = {name: float(x) for name, x in zip(names, lengths, strict=True)}
    return given, [length for length in lengths if length]


@counts(f.BATCH_OF_FOUR, by="executed")
def batch_of_four(rng: random.Random) -> Case:
    values, there = four(rng)
    return Case(values, len(carried_out("varlen", there).logits))


@counts(f.MEAN_OF_FOUR, by="executed")
def mean_of_four(rng: random.Random) -> Case:
    values, there = four(rng)
    done = carried_out("varlen", there)
    return Case(values, done.n_rows / len(done.logits))


@counts(f.MEAN_SQUARE_OF_FOUR, by="executed")
def mean_square_of_four(rng: random.Random) -> Case:
    values, there = four(rng)
    done = carried_out("varlen", there)
    return Case(values, done.pairs / len(done.logits))


@counts(f.LONGEST_OF_FOUR, by="executed")
def longest_of_four(rng: random.Random) -> Case:
    values, there = four(rng)
    done = carried_out("padded", there)
    return Case(values, done.n_rows / len(done.logits))
