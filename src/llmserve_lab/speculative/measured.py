"""The model of this chapter beside published runs, and by how much it is off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from llmserve_lab import running_example
from llmserve_lab.catalog.evidence.speculation import (
    BATCHES,
    CHAIN,
    DRAFTS,
    HEAD_RUNS,
    PLAIN_TPOT,
    SMALL_COST,
    TEXT_CURVES,
    BatchRun,
    HeadRun,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.speculative import machine as m

SOURCES = {"EAGLE": m.HEAD, "EAGLE-3": m.HEAD_3}  # what each head's pass costs


def round_ms(run: HeadRun, drafts: int) -> float:
    """Milliseconds of a round as measured: its tokens, times the time of a token."""
    return run.tokens[drafts] * run.tpot_ms[drafts]


def predicted_round_ms(run: HeadRun, drafts: int) -> float:
    """Milliseconds of a round by the model: drafting, and one verification pass."""
    source = SOURCES[run.name]
    return 1e3 * (m.drafting_s(1, drafts, source) + m.verify_s(1, drafts))


def measured_gain(run: HeadRun, drafts: int) -> float:
    """Measured speedup: time of a token without drafts, over that with them."""
    return 1e3 * float(PLAIN_TPOT) / run.tpot_ms[drafts]


def predicted_gain(run: HeadRun, drafts: int) -> float:
    """The model's speedup, for the tokens of a pass that were measured."""
    return 1e3 * m.plain_s(1) / predicted_ms(run, drafts)


def predicted_ms(run: HeadRun, drafts: int) -> float:
    """Milliseconds a token, from the measured tokens of a pass and the pass's price.

    Raises:
        KeyError: nothing was measured with so many drafts.
    """
    return predicted_round_ms(run, drafts) / run.tokens[drafts]


def off(run: HeadRun, drafts: int) -> float:
    """By how much the prediction is off, as a share of what was measured."""
    return predicted_ms(run, drafts) / run.tpot_ms[drafts] - 1


def plain_off() -> float:
    """The same for decoding without drafts."""
    return m.plain_s(1) / float(PLAIN_TPOT) - 1


def decode_gain(run: BatchRun, batch: int, source: str = m.HEAD) -> float:
    """The model's speedup of decoding alone, for the tokens of a pass as measured.

    Each request has its prompt and half of its answer in the cache.
    """
    context = run.prompt + run.answer // 2
    spent_s = m.round_s(batch, CHAIN, source, context)
    return run.tokens * m.plain_s(batch, context) / spent_s


def batch_gain(run: BatchRun, batch: int, source: str = m.HEAD) -> float:
    """The same with the time of reading the prompts, as it was measured.

    Drafts do not shorten that time. The batch's prompts are read in one pass.
    """
    return _with_prompts(run, batch, decode_gain(run, batch, source))


def copying_gain(run: BatchRun, batch: int) -> float:
    """The same with drafts copied from the text: fewer are kept, none costs a pass."""
    (curve,) = [each for each in TEXT_CURVES if each.name == run.task]
    copied = replace(run, tokens=curve.tokens[CHAIN - 1])
    return batch_gain(copied, batch, m.LOOKUP)


def _with_prompts(run: BatchRun, batch: int, gain: float) -> float:
    """The speedup of whole requests whose decoding alone is ``gain`` times as fast."""
    context = run.prompt + run.answer // 2
    read_s = m.prompts_s(batch, run.prompt)
    plain_s = run.answer * m.plain_s(batch, context)
    return (read_s + plain_s) / (read_s + plain_s / gain)


def charged_gains(run: BatchRun) -> Mapping[int, float]:
    """The same, if the host's time for a request were spent on every draft pass too."""
    context, gains = run.prompt + run.answer // 2, {}
    for batch in BATCHES:
        plain_s = m.plain_s(batch, context)
        spent_s = run.tokens * plain_s / decode_gain(run, batch)
        spent_s += CHAIN * batch * running_example.cost().request_s
        gains[batch] = _with_prompts(run, batch, run.tokens * plain_s / spent_s)
    return gains


def batch_off(run: BatchRun, batch: int) -> float:
    """By how much :func:`batch_gain` is off, as a share of what was measured."""
    return batch_gain(run, batch) / run.gains[batch] - 1


def left(gains: Mapping[int, float]) -> float:
    """What is left of the gain of one request at the largest batch."""
    return gains[BATCHES[-1]] / gains[BATCHES[0]]


def predicted_gains(run: BatchRun) -> Mapping[int, float]:
    """The model's speedups at the batches of a run."""
    return {batch: batch_gain(run, batch) for batch in BATCHES}


def measured_line(run: HeadRun) -> tuple[float, float]:
    """Line through the measured rounds: fixed milliseconds, and those of a draft."""
    spent = [round_ms(run, k) for k in DRAFTS]
    slope, fixed = np.polyfit(DRAFTS, spent, 1)
    return float(fixed), float(slope)


def overhead_ms(run: HeadRun) -> float:
    """What a round takes beyond a plain pass, however many drafts it has."""
    return measured_line(run)[0] - 1e3 * float(PLAIN_TPOT)


def draft_share(run: HeadRun, drafts: int) -> float:
    """A draft over a plain pass of the same report, with its part of the overhead."""
    added_ms = measured_line(run)[1] + overhead_ms(run) / drafts
    return added_ms / (1e3 * float(PLAIN_TPOT))


def falling_of(run: HeadRun) -> Acceptance:
    """The falling law that gives a run's tokens with two and three drafts.

    The third draft is kept with chance (α·r)³, and the first two add α + α·(α·r).
    """
    two, three = run.tokens[2], run.tokens[3]
    later = (three - two) ** (1 / 3)
    rate = (two - 1) / (1 + later)
    return Acceptance(rate, later / rate)


def predicted_line(run: HeadRun) -> tuple[float, float]:
    """The same line through the model's rounds."""
    spent = [predicted_round_ms(run, k) for k in DRAFTS]
    slope, fixed = np.polyfit(DRAFTS, spent, 1)
    return float(fixed), float(slope)


def measured_best(run: HeadRun) -> int:
    """The number of drafts at which a token took the least time."""
    return min(DRAFTS, key=lambda k: run.tpot_ms[k])


def best_of_line(run: HeadRun, fixed_ms: float, draft_ms: float) -> int:
    """The best number of drafts if a round takes the time of a line."""
    return min(DRAFTS, key=lambda k: (fixed_ms + draft_ms * k) / run.tokens[k])


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


def small_gain(law: Acceptance, batch: int) -> float:
    """The formula's speedup if a draft costs what was measured of Qwen3-0.6B."""
    plain_s = m.plain_s(batch)
    drafted_s = CHAIN * float(SMALL_COST) * plain_s
    return law.tokens(CHAIN) * plain_s / (drafted_s + m.verify_s(batch, CHAIN))
