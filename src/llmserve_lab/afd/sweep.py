"""Bundles drawn at random, simulated at every ratio, beside what two rules say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from llmserve_lab.afd.bundle import ascend, bundle
from llmserve_lab.afd.laws import Geometric, Independent, Uniform
from llmserve_lab.afd.study import study

if TYPE_CHECKING:
    from llmserve_lab.book.table import Table

MOST = 32
FLIGHTS = (2, 3, 4)
FLAT = 0.01  # a top flatter than this has no one best ratio
SHARES = {"median": 0.5, "99 in 100 below": 0.99, "worst": 1.0}
Setting = tuple[dict[str, float], int, Independent]


def drawn(number: int) -> Setting:
    """Coefficients, batch and law by number, as many in every decade.

    Coefficients up to three times smaller or larger than the fitted ones.
    """
    rng = np.random.default_rng(number)

    def between(low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    known = {name: value * between(1 / 3, 3) for name, value in ascend().items()}
    batch, prompt, answer = between(32, 512), between(20, 2000), between(50, 1000)
    prompts = (Geometric(prompt), Uniform(0, int(2 * prompt)))[number % 2]
    answers = (Geometric(answer), Uniform(0, int(2 * answer)))[number % 4 == 3]
    return known, int(batch), Independent(prompts, answers)


def compare(*, number: int, n_batches: int, n_requests: int = 4000) -> dict[str, Any]:
    """Relative errors of ours and of the paper's throughput, at ratios 1 to 32.

    ``best`` holds the best ratio as simulated, by ours and by the paper's; ``flat``
    tells whether the top is too flat for one.
    """
    known, batch, law = drawn(number)
    made = bundle(known, batch=batch, n_batches=n_batches)
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
    """Whether two steps from the top less than 1 % is lost on some side."""
    at = int(np.argmax(curve))
    beside = [curve[i] for i in (at - 2, at + 2) if 0 <= i < len(curve)]
    return bool(max(beside) > (1 - FLAT) * curve[at])


def off_by(answers: Iterable[dict[str, Any]], whose: str) -> int:
    """How far the best ratio of a rule is from the simulated one, at worst."""
    place = {"ours": 1, "paper": 2}[whose]
    sharp = [answer["best"] for answer in answers if not answer["flat"]]
    return max((abs(best[place] - best[0]) for best in sharp), default=0)


def error_table(*, n_settings: int, n_requests: int = 1000) -> Table:
    """Table of the errors of both rules over a few settings."""
    from llmserve_lab.book.table import Table

    answers = [
        compare(number=number, n_batches=m, n_requests=n_requests)
        for number in range(n_settings)
        for m in FLIGHTS
    ]
    rows: list[tuple[str | int, ...]] = []
    for whose, name in (("paper", "the paper's form"), ("ours", "our rule")):
        errors = np.abs([answer[whose] for answer in answers])
        cells = (f"{np.quantile(errors, at):.2%}" for at in SHARES.values())
        rows.append((name, *cells, off_by(answers, whose)))
    columns = ("error of throughput", *SHARES, "best ratio off by")
    caption = f"{len(answers)} bundles at ratios 1 to {MOST}"
    return Table(caption, columns, rows)
