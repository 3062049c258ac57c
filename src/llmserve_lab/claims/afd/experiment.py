"""The AFD paper, section 5: what its simulation shows, simulated again."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.claims.afd.setting import (
    baseline,
    best_simulated,
    exact,
    from_zero,
    mixed,
    per_thousand_cycles,
    simulated,
    without_end,
    wrong,
)
from llmserve_lab.claims.parts import Number, Size, Statement

BATCHES = (128, 256, 512)


def promised(ratio: object) -> Floats:
    """The paper's throughput at one ratio or many."""
    return np.asarray(f.INSTANCE_TOKENS_PER_S.at(baseline(), af_ratio=ratio))


def gap_percent() -> float:
    """How far equation 21 lies below the formula at r = 32, in per cent."""
    return float(100 * (1 - paper_setup.figure_4(32).completed_per_s / promised(32)))


def all_tokens_gap() -> float:
    """The same with every token counted."""
    return float(1 - paper_setup.figure_4(32).tokens_per_s / promised(32))


def stragglers() -> float:
    """Share of the throughput at r = 32 that the slowest instance costs."""
    real = float(
        corrected_model.tokens_per_s(paper_setup.made(32), paper_setup.law().slot())
    )
    return float(1 - real / promised(32))


def nearest_on_grid() -> float:
    """The ratio of the paper's sweep at which both idle shares are most alike."""
    runs = {ratio: paper_setup.figure_4(ratio) for ratio in paper_setup.RATIOS}
    return float(min(runs, key=lambda r: abs(runs[r].idle_attn - runs[r].idle_ffn)))


def settled_idle() -> float:
    """The FFN's idle share at r = 1 with the load of a run without end."""
    return float(f.IDLE_FFN.at(baseline(), af_ratio=1, n_batches=2))


@cache
def worst_off() -> float:
    """How far the printed best ratios are from the simulated ones, at worst."""
    return max(abs(from_zero(b) / best_simulated(b) - 1) for b in BATCHES)


def errors() -> Floats:
    """The simulation over the paper's curve, at ratios 1 to 24."""
    return np.asarray(simulated() / promised(np.arange(1, 25)))


def worst_error() -> float:
    """The same where it is furthest from one."""
    found = errors()
    return float(found[np.abs(found - 1).argmax()])


def error_away() -> float:
    """The same at ratios of at most half, and at least twice the best one."""
    ratios, best = np.arange(1, 25), without_end()
    found = errors()[(ratios <= best / 2) | (ratios >= 2 * best)]
    return float(found[np.abs(found - 1).argmax()])


CLAIMS = (
    mixed(
        id="000-24",
        section="§5.3",
        says="At r = 1 the FFN waits for more than 60 % of the time",
        parts=(
            Number(
                "> 60",
                "dimensionless",
                lambda: 100 * paper_setup.figure_4(1).idle_ffn,
                label="per cent",
                readings={"steady state": lambda: 100 * settled_idle()},
            ),
        ),
        why=lambda: (
            "In a run from empty slots, as the paper measures, Attention is faster at "
            f"first; in steady state it is {settled_idle():.2%}, by a hair."
        ),
    ),
    exact(
        id="000-25",
        section="§5.3",
        says="At r = 32 Attention waits for more than 60 % of the time",
        parts=(
            Statement(
                "more than 60 %",
                lambda: paper_setup.figure_4(32).idle_attn > 0.6,
                lambda: f"{paper_setup.figure_4(32).idle_attn:.1%}",
            ),
        ),
        why="The FFN takes more than twice the time of Attention there.",
    ),
    mixed(
        id="000-26",
        section="§5.3",
        says="Both sides wait equally long at this ratio",
        parts=(
            Number(
                "≈ 8",
                "dimensionless",
                without_end,
                readings={"the nearest ratio of the sweep": nearest_on_grid},
            ),
        ),
        why="They cross where mean times are equal; the sweep has no ratio between 8 "
        "and 16.",
    ),
    wrong(
        id="000-27",
        section="§5.3",
        says="At r = 32 the simulation is this far below the formula, in per cent",
        parts=(Number("~15", "dimensionless", gap_percent),),
        why=lambda: (
            "It is the tokens in flight that equation 21 leaves out; all tokens "
            f"counted, {all_tokens_gap():.1%} is left, and such a gap needs runs of "
            "fewer than half the requests stated."
        ),
    ),
    wrong(
        id="000-28",
        section="§5.3",
        says="The gap at large r comes from the slowest Attention instance",
        parts=(
            Statement(
                "load imbalance",
                lambda: stragglers() >= gap_percent() / 100 / 2,
                lambda: f"they cost {stragglers():.2%} at r = 32",
                limit="at least half of the gap",
            ),
        ),
        why="There the FFN takes more than twice as long as any Attention instance.",
    ),
    wrong(
        id="000-29",
        section="Abstract",
        says="The theoretical best ratio is within 10 % of the simulated one",
        parts=(
            Statement(
                "within 10 %",
                lambda: worst_off() <= 0.1,
                lambda: f"up to {worst_off():.0%} off over three batches",
            ),
        ),
        why="Simulated at every whole ratio; the sweep of the paper is too coarse to "
        "tell.",
    ),
    exact(
        id="000-30",
        section="§5.3",
        says="The sweep takes seven ratios from 1 to 32",
        parts=(
            Number("7", "dimensionless", lambda: float(len(paper_setup.RATIOS))),
            Number("32", "dimensionless", lambda: float(max(paper_setup.RATIOS))),
        ),
        by_definition=True,
        why=lambda: (
            "It is a choice, and ours is a copy of it; the best whole ratio, "
            f"{best_simulated(256)}, is among them by luck, the next one is twice as "
            "large."
        ),
    ),
    exact(
        id="000-31",
        section="§5.4",
        says="A larger batch has a higher peak",
        parts=(
            Statement(
                "higher",
                lambda: bool(
                    np.all(np.diff([simulated(b).max() for b in BATCHES]) > 0)
                ),
                lambda: "; ".join(f"{simulated(b).max():,.0f}" for b in BATCHES),
            ),
        ),
        why="The fixed times are shared by more requests.",
    ),
    exact(
        id="000-32",
        section="§5.4",
        says="The best ratio grows moderately with the batch",
        parts=(
            Statement(
                "grows",
                lambda: best_simulated(128) < best_simulated(256) < best_simulated(512),
                lambda: ", ".join(f"{best_simulated(b)}" for b in BATCHES),
            ),
        ),
        why="Simulated at every whole ratio.",
    ),
    exact(
        id="000-33",
        section="§5.4",
        says="Longer contexts lower the peak",
        parts=(
            Statement(
                "lower",
                lambda: (
                    simulated(256, 100, 100).max()
                    > simulated(256, 100, 500).max()
                    > simulated(256, 500, 500).max()
                ),
                lambda: f"{simulated(256, 500, 500).max():,.0f} at the longest",
            ),
        ),
        why="Attention reads more tokens for each that it writes.",
    ),
    wrong(
        id="000-35",
        section="§5.2",
        says="Measuring the first 80 % of requests reflects stable performance",
        parts=(
            Size(
                "no distortion",
                lambda: per_thousand_cycles(paper_setup.figure_4(1).completed_per_s),
                lambda: per_thousand_cycles(paper_setup.figure_4(1).tokens_per_s),
                unit="token",
                label="in 1,000 cycles:",
            ),
        ),
        why="From a fresh start the short answers complete first; what is in flight "
        "counts for nothing.",
    ),
    mixed(
        id="000-51",
        section="§5.3",
        says="The theoretical curve tracks the simulation well at every ratio",
        parts=(
            Size(
                "tracks … well",
                lambda: 1.0,
                worst_error,
                label="simulation over curve, at worst:",
                readings={"away from the best ratio": error_away},
            ),
        ),
        why=lambda: (
            "It is right where one side rules, to within "
            f"{abs(error_away() - 1):.1%}, and off where both are needed."
        ),
    ),
)
