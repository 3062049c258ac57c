"""The chapter's still pictures: what was simulated, and what two rules say of it."""

from __future__ import annotations

import numpy as np

from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import Study, study
from llmserve_lab.afd.page.panels import (
    over_ratio,
    quiet,
    rates,
    waits,
)
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.checks import whole
from llmserve_lab.page.still import StaticFigure, figure_style

MOST_SEEDS = 100


def steady(*, n_requests: int, n_seeds: int) -> Study:
    """The paper's setting in steady state at every ratio up to 32."""
    whole(of="seed", most=MOST_SEEDS, n_seeds=n_seeds)
    return study(
        paper_setup.made(1),
        paper_setup.law(),
        most=32,
        n_requests=n_requests,
        seeds=range(n_seeds),
    )


@figure_style()
def simulated(*, n_requests: int = 500, n_seeds: int = 5) -> StaticFigure:
    """The paper's setting in steady state at every ratio, with confidence bands."""
    from llmserve_lab.extras import pyplot as plt

    one = steady(n_requests=n_requests, n_seeds=n_seeds)
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(4.75, 5.6), sharex=True)
    rates(upper, one)
    waits(lower, one)
    over_ratio(lower, 32)
    quiet(figure)
    of_paper, ours = (np.abs(error).max() for error in one.errors())
    seen = one.mean("tokens_per_s")
    return StaticFigure.of(
        figure,
        name="afd.simulated",
        title="The paper's form is right at both ends and wrong where it matters",
        sentence=(
            f"The paper's setting in steady state, {n_seeds} seeds: the most tokens "
            f"come at r = {1 + seen.argmax()}; our rule says {1 + one.ours.argmax()} "
            f"and is off by at most {ours:.1%} at any ratio; the paper's form says "
            f"{1 + one.paper.argmax()} and is off by up to {of_paper:.1%}."
        ),
    )


@figure_style()
def own(one: Study) -> StaticFigure:
    """Throughput over the ratio for settings of a reader's own."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    rates(axes, one)
    made, most = one.bundle, int(one.ratios[-1])
    over_ratio(axes, most)
    quiet(figure)
    seen = 1 + int(one.mean("tokens_per_s").argmax())
    best = corrected_model.best_ratio(made, one.law.slot(), most=most)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{made.n_batches} batches of {made.batch} in flight: the simulation is "
            f"best at r = {seen}, our rule says {best} and the paper's form "
            f"{1 + int(one.paper.argmax())}."
        ),
    )
