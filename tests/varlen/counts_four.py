"""Four lengths, as the live figure has them: their moments, counted."""

from __future__ import annotations

import random

from llmserve_lab.varlen import formulas as f
from tests.counted import Case, counts
from tests.varlen.batches import carried_out


def four(rng: random.Random) -> tuple[dict[str, float], list[int]]:
    """Four sliders, and the requests that they stand for."""
    lengths = [rng.randint(1, 9) for _ in range(4)]
    given = {f"len_{i}": float(s) for i, s in enumerate(lengths, start=1)}
    return given, lengths


@counts(f.MEAN_OF_FOUR, by="executed")
def mean_of_four(rng: random.Random) -> Case:
    values, lengths = four(rng)
    done = carried_out("varlen", lengths)
    answers = len(done.logits)
    return Case(values | {"batch": answers}, done.n_rows / answers)


@counts(f.MEAN_SQUARE_OF_FOUR, by="executed")
def mean_square_of_four(rng: random.Random) -> Case:
    values, lengths = four(rng)
    done = carried_out("varlen", lengths)
    answers = len(done.logits)
    return Case(values | {"batch": answers}, done.pairs / answers)


@counts(f.LONGEST_OF_FOUR, by="executed")
def longest_of_four(rng: random.Random) -> Case:
    values, lengths = four(rng)
    done = carried_out("padded", lengths)
    return Case(values, done.n_rows / len(done.logits))
