"""Bundles drawn at random, simulated at every ratio, beside what two rules say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import study
from llmserve_lab.afd.simulation.bundle import Bundle, ascend, bundle
from llmserve_lab.afd.simulation.empirical_lengths import JointLengths
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Law,
    Uniform,
)
from llmserve_lab.afd.simulation.ratio_sweep import MOST_RATIO
from llmserve_lab.checks import MOST_PLAYED, whole_number
from llmserve_lab.page.table import Table
from llmserve_lab.validation.intervals import Interval, median_interval

MOST = 32
FLIGHTS = (2, 3, 4)
FLAT = 0.01  # a top flatter than this has no one best ratio
SHARES = {"median": 0.5, "99 in 100 below": 0.99, "worst": 1.0}
ROWS, LONGEST = 4000, 10  # of a trace; its longest request over the mean
AS_LONG = 4  # times as many requests where rare long answers make the load restless


def drawn(number: int) -> tuple[Bundle, Law]:
    """Coefficients, batch and law by number, as many in every decade.

    Fixed times are up to three times smaller or larger than the fitted ones, slopes
    too after they are multiplied by 256 over the batch; the wire is up to thirty times
    slower.
    """
    rng = np.random.default_rng(number)

    def between(low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    batch = int(between(8, 512))
    most = {name: 30 if name.endswith("comm") else 3 for name in ascend()}
    known = {
        name: value * between(1 / 3, most[name])
        for name, value in _stretched(batch).items()
    }
    law = _law(number % 5, rng, between(20, 2000), between(50, 1000))
    return bundle(known, batch=batch), law


def _stretched(batch: int) -> dict[str, float]:
    """The fitted coefficients, slopes so that any batch takes as long."""
    each = {
        name: paper_setup.BATCH / batch if name[0] == "a" else 1 for name in ascend()
    }
    return {name: value * each[name] for name, value in ascend().items()}


def _law(kind: int, rng: np.random.Generator, prompt: float, answer: float) -> Law:
    """Geometric and uniform lengths in every pairing, or heavy tails."""
    if kind == 4:
        return heavy(rng, prompt, answer)
    prompts = (Geometric(prompt, least=0), Uniform(0, int(2 * prompt)))[kind % 2]
    answers = (Geometric(answer, least=0), Uniform(0, int(2 * answer)))[kind // 2]
    return Independent(prompts, answers)


def heavy(
    rng: np.random.Generator,
    prompt: float,
    answer: float,
    *,
    spread: float = 1.0,
    longest: float = LONGEST,
) -> JointLengths:
    """Log-normal lengths of about the given means; long prompts have longer answers.

    ``spread`` is that of their logarithms. No length is more than ``longest`` times
    its mean: every service has such a limit.
    """
    one, other = spread * rng.normal(size=(2, ROWS))
    half = spread**2 / 2
    shapes = one - half, (one + other) / 2**0.5 - half
    prompts, answers = (
        (mean * np.minimum(np.exp(shape), longest)).astype(np.int64)
        for mean, shape in zip((prompt, answer), shapes, strict=True)
    )
    return JointLengths(prompts, answers)


def compare(*, number: int, n_batches: int, n_requests: int = 4000) -> dict[str, Any]:
    """Relative errors of ours and of the paper's throughput, at ratios 1 to 32.

    ``best`` holds the best ratio as simulated, by ours and by the paper's; ``flat``
    tells whether the top is too flat for one.
    """
    whole_number("n_requests", n_requests, of="request", most=MOST_PLAYED)
    whole_number("n_batches", n_batches, of="batch", most=MOST_RATIO)
    made, law = drawn(number)
    made = replace(made, n_batches=n_batches)
    if isinstance(law, JointLengths):
        n_requests *= AS_LONG
    one = study(made, law, most=MOST, n_requests=n_requests, seeds=(number,))
    seen = one.runs[0].tokens_per_s
    of_paper, ours = one.errors()
    return {
        "ours": ours.tolist(),
        "paper": of_paper.tolist(),
        "best": [1 + int(np.argmax(each)) for each in (seen, one.ours, one.paper)],
        "flat": flat(seen),
    }


def flat(curve: Any) -> bool:
    """Whether a ratio two steps or more from the top loses less than 1 %."""
    at = int(np.argmax(curve))
    beyond = [value for i, value in enumerate(curve) if abs(i - at) >= 2]
    return bool(max(beyond) > (1 - FLAT) * curve[at])


def off_by(answers: Iterable[dict[str, Any]], whose: str) -> int:
    """How far the best ratio of a rule is from the simulated one, at worst."""
    place = {"ours": 1, "paper": 2}[whose]
    sharp = [answer["best"] for answer in answers if not answer["flat"]]
    return max((abs(best[place] - best[0]) for best in sharp), default=0)


@dataclass(frozen=True)
class RuleErrors:
    """A rule beside simulation: sizes of its errors, by the keys of SHARES.

    ``median`` holds the ends between which 95 of 100 medians lie if bundles are drawn
    anew. ``best_off_by`` is how far its best ratio is from the simulated one, at worst.
    """

    name: str
    sizes: dict[str, float]
    median: Interval
    best_off_by: int


@dataclass(frozen=True)
class RulesBeside:
    """Errors of both rules over ``n_bundles`` settings."""

    n_bundles: int
    rules: tuple[RuleErrors, ...]

    @property
    def drawn(self) -> str:
        """What the errors are of."""
        return f"{self.n_bundles} bundles at ratios 1 to {MOST}"


RULES = {"paper": "the paper's form", "ours": "our rule"}


def rule_errors(*, numbers: Iterable[int], n_requests: int) -> RulesBeside:
    """Errors of both rules over a few settings, by number."""
    whole_number("n_requests", n_requests, of="request", most=MOST_PLAYED)
    answers = [
        compare(number=number, n_batches=m, n_requests=n_requests)
        for number in numbers
        for m in FLIGHTS
    ]
    rules = []
    for whose, name in RULES.items():
        errors = np.abs([answer[whose] for answer in answers])
        sizes = {share: float(np.quantile(errors, at)) for share, at in SHARES.items()}
        ends = median_interval(errors)
        rules.append(RuleErrors(name, sizes, ends, off_by(answers, whose)))
    return RulesBeside(len(answers), tuple(rules))


def error_table(*, numbers: Iterable[int], n_requests: int) -> Table:
    """Table of the errors of both rules over a few settings, by number."""
    found = rule_errors(numbers=numbers, n_requests=n_requests)
    rows: list[tuple[str | int, ...]] = []
    for each in found.rules:
        cells = (f"{size:.2%}" for size in each.sizes.values())
        rows.append((each.name, *cells, each.best_off_by))
    columns = ("error of throughput", *SHARES, "best ratio off by")
    return Table(found.drawn, columns, rows)


def outside() -> dict[str, tuple[int, int, Law]]:
    """Batch, requests and law by name, where the rule's assumptions wear thin."""
    rng, prompts = np.random.default_rng(1), Geometric(2000, least=0)
    few, some = (Geometric(mean, least=0) for mean in (5, 20))
    wild = heavy(rng, 2000, 50, spread=1.5, longest=100)
    return {
        "answers of one token": (21, 1500, Independent(prompts, Uniform(1, 1))),
        "answers of 5 tokens": (21, 3000, Independent(prompts, few)),
        "answers of 20 tokens": (21, 3000, Independent(prompts, some)),
        "one slot, tails of 100 means": (1, 300, wild),
    }


def limits_table() -> Table:
    """Table of the worst errors of our rule where its assumptions wear thin.

    Coefficients as fitted, slopes for a batch of 256; long prompts, three batches.
    """
    rows = []
    for name, (batch, n_requests, law) in outside().items():
        made = bundle(_stretched(batch), batch=batch, n_batches=3)
        one = study(made, law, most=MOST, n_requests=n_requests, seeds=(0,))
        errors = one.errors()[1]
        worst = int(np.abs(errors).argmax())
        rows.append((name, batch, f"{errors[worst]:+.1%}", 1 + worst))
    columns = ("three batches in flight", "batch", "rule is off by", "at r")
    return Table(f"Worst errors of our rule at ratios 1 to {MOST}", columns, rows)
