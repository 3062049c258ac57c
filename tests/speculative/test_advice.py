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
from llmserve_lab.speculative.page import figures, rounds, tables

NEAR = 0.3  # from the middle of a pair of bars to that of one


def test_a_poor_guesser_alone_loses_with_three_drafts() -> None:
    """At the small model's own cost, without the measured 38%: the loss needs one."""
    middling, poor = (Acceptance(rate, m.usual().falls) for rate in m.POORER)
    assert m.speedup(128, 3, poor, m.SMALL) < 1 < m.speedup(128, 3, middling, m.SMALL)


def test_three_drafts_of_a_head_gain_at_the_acceptance_that_it_has_here() -> None:
    """At every batch of the figure; by the machine's costs too, where eight lose."""
    figure, share = figures.when_drafts_lose(), 0.13
    gains = []
    for batch in figures.BATCHES:
        known = figure.values(
            n_draft=3.0, accept_rate=m.POORER[0], draft_cost=share, batch=float(batch)
        )
        kept = np.cumprod(m.POORER[0] * m.usual().falls ** np.arange(3))
        round_s = 3 * share * m.plain_s(batch) + m.verify_s(batch, 3)
        gain = (1 + kept.sum()) * m.plain_s(batch) / round_s
        assert known["speculative_speedup"] == pytest.approx(gain, rel=1e-6)
        gains.append(gain)
    assert min(gains) > 1
    at_128 = gains[figures.BATCHES.index(128)]
    most = max(run.gains[128] for run in BATCH_RUNS)
    assert most < at_128 < 1.05 * most
    for fit in m.on_this_target():
        falling = Acceptance(fit.alpha, fit.falls)
        assert (
            m.speedup(256, 8, falling, m.HEAD) < 1 < m.speedup(256, 3, falling, m.HEAD)
        )


def test_one_draft_more_is_best_if_a_small_model_s_drafts_fail_no_oftener() -> None:
    level = Acceptance(m.usual().rate, 1.0)
    assert m.best(1, level, m.SMALL)[0] == m.best(1, m.usual(), m.SMALL)[0] + 1
    assert m.break_even(8, level, m.SMALL) is None


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
    """All that a round took beyond a plain pass of the same report, a draft."""
    figure, plain_ms = figures.when_drafts_lose(), 7.07
    for run, shown in zip(HEAD_RUNS, (0.13, 0.2), strict=True):
        assert shown in figures.COSTS
        assert measured.draft_share(run, 3) == pytest.approx(shown, abs=0.005)
        for drafts in DRAFTS:
            round_ms = run.tokens[drafts] * run.tpot_ms[drafts]
            share = measured.draft_share(run, drafts)
            assert share == pytest.approx(
                (round_ms - plain_ms) / drafts / plain_ms, abs=0.015
            )
            needed = figure.values(n_draft=float(drafts), draft_cost=share, batch=1.0)[
                "accepted_needed"
            ]
            found = measured.measured_gain(run, drafts)
            assert run.tokens[drafts] / needed == pytest.approx(found, rel=0.04)
        fixed, slope = measured.measured_line(run)
        assert measured.draft_share(run, 10**9) == pytest.approx(slope / plain_ms)
        assert measured.overhead_ms(run) == pytest.approx(fixed - plain_ms)


def test_the_cost_of_a_draft_is_its_pass_over_the_plain_one() -> None:
    """The parts of both passes, added up in the table of passes."""
    (*_, whole) = tables.pass_parts().rows
    heads = tables.pass_parts().columns
    took = {head: float(cell) for head, cell in zip(heads[1:], whole[1:], strict=True)}
    cost = {row[0]: float(row[1]) for row in tables.best_drafts().rows}
    for batch in (1, 64):
        over = took[f"draft, B={batch}"] / took[f"B={batch}, γ=0"]
        assert cost[f"{batch}"] == pytest.approx(over, abs=0.006)


def test_the_worst_error_of_a_law_is_the_largest_of_either_sign() -> None:
    """The tokens of each curve beside those of the law with the table's numbers."""
    fits = m.published()
    for fit, row in zip(fits, tables.laws().rows, strict=True):
        off = [
            fit.falling.tokens(n) / float(tokens) - 1
            for n, tokens in enumerate(fit.curve.tokens, 1)
        ]
        found = float(str(row[-1]).replace("−", "-").rstrip(" %")) / 100
        assert abs(found) == pytest.approx(max(map(abs, off)), abs=6e-4)


def test_a_group_of_words_stands_under_the_sign_of_its_bars() -> None:
    """p > q: the bar of the target is the taller one."""
    told = 0
    for log in rounds.round_steps().logs.values():
        bars = log.tables["bars"]
        for word in log.tables["words"]:
            if word["text"] not in ("p > q", "p ≤ q"):
                continue
            tall = {
                ink: next(
                    rounds.FLOOR - bar["y"]
                    for bar in bars
                    if bar["ink"] == ink
                    and bar["since"] == word["since"]
                    and abs((bar["x"] + bar["x2"]) / 2 - word["x"]) < NEAR
                )
                for ink in ("A", "new")
            }
            assert (tall["new"] > tall["A"]) is (word["text"] == "p > q")
            told += 1
    assert told > 5
