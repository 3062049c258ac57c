"""The model of this chapter beside published runs, and by how much it is off."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.speculation import (
    DRAFTS,
    HEAD_RUNS,
    PLAIN_TPOT,
    HeadRun,
)
from llmserve_lab.speculative import machine as m


def predicted_ms(run: HeadRun, drafts: int) -> float:
    """Milliseconds a token, from the measured tokens of a pass and the pass's price.

    Raises:
        KeyError: nothing was measured with so many drafts.
    """
    spent_s = m.drafting_s(1, drafts, m.HEAD) + m.verify_s(1, drafts)
    return 1e3 * spent_s / run.tokens[drafts]


def off(run: HeadRun, drafts: int) -> float:
    """By how much the prediction is off, as a share of what was measured."""
    return predicted_ms(run, drafts) / run.tpot_ms[drafts] - 1


def plain_off() -> float:
    """The same for decoding without drafts."""
    return m.plain_s(1) / float(PLAIN_TPOT) - 1


def measured_draft_ms(run: HeadRun) -> float:
    """Milliseconds that a draft more costs a pass, from the first and last points."""
    first, last = DRAFTS[0], DRAFTS[-1]
    spent = [run.tokens[k] * run.tpot_ms[k] for k in (first, last)]
    return (spent[1] - spent[0]) / (last - first)


def measured_best(run: HeadRun) -> int:
    """The number of drafts at which a token took the least time."""
    return min(DRAFTS, key=lambda k: run.tpot_ms[k])


def predicted_best(run: HeadRun) -> int:
    """The same by the model."""
    return min(DRAFTS, key=lambda k: predicted_ms(run, k))


def run_of(name: str) -> HeadRun:
    """The runs of one head.

    Raises:
        ValueError: none of that name was measured.
    """
    for run in HEAD_RUNS:
        if run.name == name:
            return run
    raise ValueError(f"name must be one of EAGLE, EAGLE-3, got {name!r}")
