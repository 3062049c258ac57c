"""The chapter's live figures: lanes of tokens, and a chunk from a target."""

from __future__ import annotations

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import (
    BUDGETS,
    beats,
    calm_s,
    longest_gap_s,
    mean_gap_s,
    pieces,
    ttft_s,
    under,
    whole,
)
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    GRAPH_ROWS,
    LONG,
    TARGET_S,
    decodes,
    served,
)
from llmserve_lab.continuous_batching.page import charts
from llmserve_lab.continuous_batching.page.controls import LIMITS, PREFIXES, TARGETS
from llmserve_lab.continuous_batching.worked_example import prompt_error
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import si
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.running_example import setting

KEPT = ("breaks the target", "keeps the target")
BEYOND_S = 1e3  # a gap that no target allows: there is nothing above no limit


def asked_by(formula: Formula, /, **at: Value) -> Bound:
    """A formula of the served machine, tied to the chapter's setting and to ``at``."""
    known: dict[str, Value] = {**setting(), **decodes(), **served(), **at}
    keep = frozenset(served()) & frozenset(formula.known())
    asked = {leaf.name for leaf in formula.leaves(keep=keep)}
    return Bound(formula, **{k: v for k, v in known.items() if k in asked})


def lanes() -> LiveFigure:
    """Runs of the engine, one a budget: each token of each reader as a tick."""
    runs = [*(under(budget) for budget in BUDGETS), whole()]
    found = {
        "longest_gap_s": tuple(longest_gap_s(run) for run in runs),
        "first_s": tuple(ttft_s(run) for run in runs),
        "mean_gap_s": tuple(mean_gap_s(run) for run in runs),
    }
    next_s = (*found["longest_gap_s"][1:], BEYOND_S)
    count = tuple(float(len(pieces(run))) for run in runs)
    until_s = round(1.06 * max(found["first_s"]), 1)
    by = ("limit",)
    return LiveFigure(
        name="lanes-of-tokens",
        title="Everybody in an iteration waits until it ends",
        chart=lambda: charts.lanes([beats(run) for run in runs], until_s),
        controls=(
            Choice("limit", "Token budget", LIMITS, LIMITS[-1]),
            Slider(quantity("tbt_target"), TARGETS, TARGET_S, "Target for the gap"),
            *(Lookup(name, by, column, "s") for name, column in found.items()),
            Lookup("next_gap_s", by, next_s, "s"),
            Lookup("reader_tokens", by, count, "token"),
        ),
        readouts=(
            banded(Readout("longest_gap_s", "Longest gap"), prompt_error()),
            Verdict("kept", "This budget", "tbt_target", "longest_gap_s", KEPT),
            banded(Readout("mean_gap_s", "Mean gap while F is read"), prompt_error()),
            Readout("reader_tokens", "Tokens of each of A to E meanwhile"),
        ),
        sentence=(
            "Token budget: {limit}. F's first token comes after {first_s}. At rest a "
            f"gap is {si(calm_s(), 's')}."
        ),
        goal=Goal(
            "find the largest of these budgets that keeps the target, no margin.",
            lambda longest_gap_s, next_gap_s, tbt_target: (
                (longest_gap_s <= tbt_target) & (next_gap_s > tbt_target)
            ),
            {"limit": LIMITS[0]},
        ),
    )


def chunk_from_target() -> LiveFigure:
    """The chunk that a target leaves room for, with and without a prefix."""
    return LiveFigure(
        name="chunk-from-target",
        title="The further a prompt has come, the fewer rows keep the target",
        chart=charts.chunk_from_target,
        controls=(
            Slider(quantity("tbt_target"), TARGETS, TARGET_S, "Target for the gap"),
            Slider(quantity("context"), PREFIXES, float(LONG), "Prefix in cache"),
        ),
        derived={
            "chunk_fits": asked_by(
                f.SERVED_CHUNK_FITS, context="context", tbt_target="tbt_target"
            ),
        },
        readouts=(
            Readout("chunk_fits", "Chunk that reaches the target, without a margin"),
        ),
        sentence=(
            f"Beside {DECODES} decodes, after a prefix of {{context}}, the solid line "
            "reaches a target of {tbt_target} at a chunk of {chunk_fits}. Up to "
            f"{GRAPH_ROWS} rows launches are recorded, so that the lines step up there."
        ),
    )
