"""What the page advises of heads, poor guessers and numbers of drafts holds."""

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    BATCHES,
    DRAFTS,
    HEAD_RUNS,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative import measured
from llmserve_lab.speculative.page import figures


def test_a_poor_guesser_alone_loses_with_three_drafts() -> None:
    """At the small model's own cost, without the measured 38%: the loss needs one."""
    middling, poor = (Acceptance(rate, m.usual().falls) for rate in m.POORER)
    assert m.speedup(128, 3, poor, m.SMALL) < 1 < m.speedup(128, 3, middling, m.SMALL)


def test_eight_drafts_of_a_head_lose_at_the_acceptance_that_it_has_here() -> None:
    """By the figure's fixed cost, and by the machine's, which falls with the batch."""
    figure = figures.when_drafts_lose()
    for rate, first in ((m.usual().rate, None), (m.POORER[0], 67)):
        assert figures.loses_from(8.0, rate, 0.11) == first
        for batch in (1, 66, 67, 256):
            known = figure.values(
                n_draft=8.0, accept_rate=rate, draft_cost=0.11, batch=float(batch)
            )
            kept = np.cumprod(rate * m.usual().falls ** np.arange(8))
            round_s = 8 * 0.11 * m.plain_s(batch) + m.verify_s(batch, 8)
            gain = (1 + kept.sum()) * m.plain_s(batch) / round_s
            assert known["speculative_speedup"] == pytest.approx(gain, rel=1e-6)
            assert (gain < 1) == (first is not None and batch >= first)
    for fit in m.on_this_target():
        falling = Acceptance(fit.alpha, fit.falls)
        assert (
            m.speedup(256, 8, falling, m.HEAD) < 1 < m.speedup(256, 3, falling, m.HEAD)
        )


def test_the_numbers_of_drafts_in_the_box_have_the_reasons_that_it_gives() -> None:
    run = measured.run_of("EAGLE-3")
    assert 0.98 < run.tpot_ms[4] / run.tpot_ms[3] < 1
    for batch in (64, 96, 128, 192, 256):
        assert m.best(batch, m.usual(), m.SMALL)[0] == 2
    assert m.best(16, m.usual(), m.SMALL)[0] == 3


def test_the_two_numbers_of_eagle_3_give_all_of_its_published_tokens() -> None:
    """Two are fitted; the four other chains are not."""
    run = measured.run_of("EAGLE-3")
    falling = measured.falling_of(run)
    for drafts, tokens in run.tokens.items():
        kept = np.cumprod(falling.rate * falling.falls ** np.arange(drafts))
        off = (1 + kept.sum()) / tokens - 1
        assert abs(off) < (1e-9 if drafts < 4 else 0.01)


def test_what_is_known_of_heads_elsewhere_is_off_by_more_than_a_tenth() -> None:
    """The verdict in bold: three tasks with EAGLE, and the rest."""
    three = [measured.batch_off(r, b) for r in BATCH_RUNS[:3] for b in BATCHES]
    assert max(map(abs, three)) < 0.11
    assert measured.batch_off(BATCH_RUNS[3], 1) > 0.25
    for run in HEAD_RUNS:
        drafts = measured.measured_best(run)
        said, found = (
            gain(run, drafts)
            for gain in (measured.predicted_gain, measured.measured_gain)
        )
        assert said / found > 1.12


def test_a_head_s_cost_on_the_slider_is_the_measured_one() -> None:
    for run, shown in zip(HEAD_RUNS, (0.11, 0.15), strict=True):
        ratio = 1e-3 * measured.measured_line(run)[1] / m.plain_s(1)
        assert shown in figures.COSTS and ratio == pytest.approx(shown, abs=0.005)
    figure = figures.when_drafts_lose()
    for run in HEAD_RUNS:  # with the fixed part a draft, the measured speedup
        fixed, slope = measured.shares(run)
        for drafts in DRAFTS:
            gains = [
                run.tokens[drafts]
                / figure.values(n_draft=float(drafts), draft_cost=cost, batch=1.0)[
                    "accepted_needed"
                ]
                for cost in (slope, slope + fixed / drafts)
            ]
            found = measured.measured_gain(run, drafts)
            assert gains[1] == pytest.approx(found, rel=0.04)
            assert gains[0] > 1.03 * gains[1]
