"""The paper's own setting, and its Figure 4 run again under every open choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Bundle, Load, ascend, bundle
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Uniform,
)
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.afd.theory import finite_run
from llmserve_lab.afd.theory.paper_recipe import with_slot_tokens
from llmserve_lab.checks import MOST_PLAYED, at_least, whole
from llmserve_lab.page.table import Table

BATCH, PROMPT, ANSWER = 256, 100, 500
RATIOS = (1, 2, 4, 8, 16, 24, 32)
REQUESTS = 10_000
SMALL, BEST = 1, 8  # the paper's smallest ratio, and the one that pays best
COLUMNS = (
    "choice",
    f"r = {SMALL}: (21)",
    "all",
    "FFN waits",
    f"r = {BEST}: (21)",
    "all",
    "FFN waits",
    "A waits",
)


def known(
    *, batch: int = BATCH, prompt: float = PROMPT, answer: float = ANSWER
) -> dict[str, float]:
    """The fitted coefficients and the setting, by code name.

    Raises:
        ValueError: answers have less than no token on average.
    """
    at_least("answer", answer, 0)
    return ascend() | {
        "batch": float(batch),
        "mean_prompt": float(prompt),
        "mean_decode": float(answer),
        "p_stop": 1 / (1 + answer),
    }


def law(*, prompt: int = PROMPT, answer: float = ANSWER) -> Independent:
    """Geometric answers; prompts from nothing to twice the mean, all alike."""
    return Independent(Uniform(0, 2 * prompt), Geometric(answer, least=0))


def served(**changes: Any) -> Load:
    """What the paper serves: 10,000 requests per Attention instance."""
    return replace(Load(law=law(), n_requests=REQUESTS), **changes)


def made(ratio: int, *, batch: int = BATCH, **options: Any) -> Bundle:
    """The paper's bundle at one ratio: two batches in flight."""
    return replace(bundle(ascend(), batch=batch, n_attn=ratio), **options)


@cache
def figure_4(ratio: int) -> BundleRun:
    """One run of the paper's sweep, at this book's choices."""
    return simulate(made(ratio), served(), seed=1)


def figure_4_table() -> Table:
    """Table of the paper's experiment: its metrics, and what two rules say."""
    load, rows = served(), list[tuple[str | int, ...]]()
    by_paper = f.INSTANCE_TOKENS_PER_S.at(
        with_slot_tokens(known()), af_ratio=np.array(RATIOS)
    )
    ours = finite_run.completed_per_s(made(1), load, RATIOS)
    for i, ratio in enumerate(RATIOS):
        run = figure_4(ratio)
        seen = run.completed_per_s
        errors = (f"{rate[i] / seen - 1:+.1%}" for rate in (by_paper, ours))
        waits = (f"{share:.1%}" for share in (run.idle_attn, run.idle_ffn))
        rows.append((ratio, f"{seen / 1e3:.0f}", *errors, *waits))
    columns = ("r", "(21)", "the paper's form", "our rule", "A waits", "FFN waits")
    caption = f"The paper's Figures 4 and 5: {REQUESTS:,} requests per instance"
    note = (
        "(21): tokens per 1,000 µs and instance; then errors of two rules. Ours "
        "counts as (21) does, from empty slots."
    )
    return Table(caption, columns, rows, notes=(note,))


VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "our choices": ({}, {}),
    "wire hidden": ({"comm": "hidden"}, {}),
    "Attention machines wait for one another": ({"barrier": "stage"}, {}),
    "stationary start": ({}, {"start": "stationary"}),
    "ends when every machine is done": ({}, {"stop": "each"}),
    "a step for each token": ({}, {"steps": "one each"}),
    "one batch in flight": ({"n_batches": 1}, {}),
    "three batches in flight": ({"n_batches": 3}, {}),
}


@dataclass(frozen=True)
class ChoiceRuns:
    """The paper's experiment under one choice: runs at its smallest and best ratio."""

    name: str
    few: BundleRun
    best: BundleRun


def choices(*, n_requests: int) -> tuple[ChoiceRuns, ...]:
    """The experiment under every choice that the paper leaves open."""
    whole(of="request", most=MOST_PLAYED, n_requests=n_requests)
    found = []
    for name, (on_bundle, on_load) in VARIANTS.items():
        load = served(**on_load, n_requests=n_requests)
        few, best = (
            simulate(made(ratio, **on_bundle), load, seed=1) for ratio in (SMALL, BEST)
        )
        found.append(ChoiceRuns(name, few, best))
    return tuple(found)


def choices_table(*, n_requests: int) -> Table:
    """Table of the paper's metrics at its smallest and best ratio, by choice."""
    rows = [
        (each.name, *_metrics(each.few), *_metrics(each.best), _waits(each.best))
        for each in choices(n_requests=n_requests)
    ]
    caption = f"What the paper leaves open: {n_requests:,} requests per instance"
    note = "Tokens per 1,000 µs and instance."
    return Table(caption, COLUMNS, rows, notes=(note,))


def _waits(run: BundleRun) -> str:
    """The share that Attention waits."""
    return f"{run.idle_attn:.1%}"


def _metrics(run: BundleRun) -> tuple[str, ...]:
    """Throughputs by (21) and by all tokens, and the share that the FFN waits."""
    rates = (run.completed_per_s, run.tokens_per_s)
    return (*(f"{rate / 1e3:.0f}" for rate in rates), f"{run.idle_ffn:.1%}")
