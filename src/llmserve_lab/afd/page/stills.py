"""The chapter's still pictures: what was simulated, and what two rules say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import LAWS, Study, study
from llmserve_lab.afd.page.panels import (
    THOUSANDS,
    key,
    over_ratio,
    points,
    quiet,
    rates,
    rules,
    waits,
)
from llmserve_lab.afd.simulation.bundle import Bundle
from llmserve_lab.afd.simulation.length_distributions import Law
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.checks import whole
from llmserve_lab.page.palette import GREY, SERIES
from llmserve_lab.page.still import StaticFigure, figure_style

MOST, FARTHER = 16, 24  # ratios of the laws, and of the ablations
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
def ablations(*, n_requests: int = 300) -> StaticFigure:
    """Figures 6 and 7 of the paper: batches, and lengths of prompts and answers."""
    from llmserve_lab.extras import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, figsize=(4.75, 6.2), sharex=True)
    batches = {
        f"B = {b}": (paper_setup.made(1, batch=b), paper_setup.law())
        for b in (128, 256, 512)
    }
    lengths = {
        f"prompts {s}, answers {d}": (
            paper_setup.made(1),
            paper_setup.law(prompt=s, answer=d),
        )
        for s, d in ((100, 100), (100, 500), (500, 500))
    }
    tops = [_tops(upper, batches, n_requests), _tops(lower, lengths, n_requests)]
    over_ratio(lower, FARTHER)
    quiet(figure)
    (small, *_, large), (short, *_, long) = tops
    return StaticFigure.of(
        figure,
        name="afd.ablations",
        title="Larger batches and longer contexts want more Attention machines",
        sentence=(
            "From the smallest to the largest batch the simulated best ratio goes "
            f"from {small} to {large}, from the shortest to the longest context from "
            f"{short} to {long}; lines are our rule, dashes the paper's form."
        ),
    )


def _tops(
    axes: Any, cases: Mapping[str, tuple[Bundle, Law]], n_requests: int
) -> list[int]:
    """Draw one panel; the best simulated ratio of each case."""
    found = []
    for ink, (made, law) in zip(SERIES, cases.values(), strict=False):
        one = study(made, law, most=FARTHER, n_requests=n_requests, seeds=range(5))
        rules(axes, one, ink, ink)
        points(axes, one, "tokens_per_s", ink, unit=1e3)
        found.append(1 + int(one.mean("tokens_per_s").argmax()))
    axes.set_ylim(0)
    key(axes, cases)
    return found


@figure_style()
def laws(*, n_requests: int = 500) -> StaticFigure:
    """Figure 3 of the paper turned round: the same means, other laws than geometric."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    made = paper_setup.made(1)
    studies = {
        name: study(made, law, most=MOST, n_requests=n_requests, seeds=range(3))
        for name, law in LAWS.items()
        if name != "uniform"  # between two others; the table has it
    }
    _by_law(axes, studies)
    over_ratio(axes, MOST)
    quiet(figure)
    of_geometric, *others = (
        1 + int(each.mean("tokens_per_s").argmax()) for each in studies.values()
    )
    return StaticFigure.of(
        figure,
        name="afd.laws",
        title="Equal means are not equal loads: the law of the answers moves the top",
        sentence=(
            f"Mean prompts of {paper_setup.PROMPT} and mean answers of "
            f"{paper_setup.ANSWER} tokens in all cases; simulated, the best ratio is "
            f"{of_geometric} for geometric answers and from {min(others)} to "
            f"{max(others)} for the others."
        ),
    )


def _by_law(axes: Any, studies: Mapping[str, Study]) -> None:
    """What is simulated of each law, and the one line that the means give for all."""
    for ink, one in zip(SERIES, studies.values(), strict=False):
        points(axes, one, "tokens_per_s", ink, unit=1e3)
    plain = studies["geometric"]
    rate, look = plain.paper / 1e3, {"color": GREY.light}
    axes.plot(plain.ratios, rate, dashes=(4, 3), lw=1.2, **look)
    axes.text(plain.ratios[-1], rate[-1] * 0.8, "paper, by means", ha="right", **look)
    axes.set_ylim(0, 1100)
    axes.set_ylabel(THOUSANDS)
    axes.locator_params(axis="y", nbins=4)
    thetas = {name: one.law.slot().theta for name, one in studies.items()}
    key(axes, [f"{name}: θ = {theta:.0f}" for name, theta in thetas.items()])


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
