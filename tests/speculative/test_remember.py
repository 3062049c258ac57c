"""The five sentences that a reader keeps, each held in every state that is shown."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab import running_example
from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    BATCHES,
    SMALL_LOSES,
)
from llmserve_lab.engine import Acceptance, IterationLoad
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative import measured, toy
from llmserve_lab.speculative.enumeration import law_of_a_text, law_of_the_target
from llmserve_lab.speculative.page import figures

BARE = re.compile(r"\d+(\.\d+)?")
PROMPT = tuple(toy.tokenize(toy.PROMPT))


def test_the_law_of_the_answer_is_the_target_s() -> None:
    """Remember 1: all texts of two words, on other prompts and chains as well."""
    for prompt, drafts in ((PROMPT, 1), (PROMPT[:5], 1)):
        target = toy.law_after("target", prompt)
        draft = toy.law_after("draft", prompt)
        found = law_of_a_text(target, draft, drafts, 2)
        wanted = law_of_the_target(target, 2)
        assert found.size == 400
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_constant_acceptance_promises_too_much_on_every_curve() -> None:
    """Remember 2, counted on the printed points with powers of the first."""
    flat, falling = [], []
    for fit in m.published():
        alpha = fit.curve.tokens[0] - 1
        for k, tokens in enumerate(fit.curve.tokens[1:], start=2):
            falling.append(abs(fit.falling.tokens(k) / tokens - 1))
        flat.append(sum(alpha**j for j in range(9)) / fit.curve.tokens[-1] - 1)
    assert 0.08 < min(flat) < 0.095 and 1.11 < max(flat) < 1.13
    assert np.mean(falling) < 0.05 and max(falling) < 0.12


def test_the_two_curves_of_the_measurements_are_within_five_per_cent() -> None:
    names = ("Qwen3.5-397B, MTP, thinks", "Kimi-K2.5, EAGLE-3, thinks")
    fits = [fit for fit in m.published() if fit.curve.name in names]
    off = [abs(e) for fit in fits for e in fit.errors(fit.falling)]
    assert len(off) == 14 and np.mean(off) < 0.05 and max(off) < 0.12


def test_checking_is_nearly_free_and_drafting_is_not() -> None:
    """Remember 3, for one request, with any cache that the page shows."""
    for context in (0, m.CONTEXT, 4000):
        plain, four = m.plain_s(1, context), m.verify_s(1, 4, context)
        assert plain < four < 1.02 * plain
        assert m.drafting_s(1, 4, m.SMALL, context) > plain


def test_three_drafts_of_the_small_model_are_best_for_one_request() -> None:
    """The calculation by hand, and what was measured of another source."""
    number, gain = m.best(1, m.usual(), m.SMALL)
    assert number == 3 and gain == pytest.approx(1.64, abs=0.01)
    run = measured.run_of("EAGLE-3")
    gains = [measured.measured_gain(run, k) for k in run.tpot_ms]
    assert max(gains) == pytest.approx(1.75, abs=0.005)
    assert all(measured.predicted_gain(run, k) > max(gains) for k in run.tpot_ms)


def test_eight_drafts_gain_at_one_request_and_lose_in_the_evening() -> None:
    """The exercise on the slower server, and how firm the crossing is."""
    gains = [m.speedup(batch, 8, m.usual(), m.SMALL) for batch in (1, 256)]
    assert gains[0] > 1.15 and gains[1] < 0.9
    constant = Acceptance(m.usual().rate)
    assert m.break_even(8, constant, m.SMALL) is None
    assert m.speedup(256, 8, constant, m.SMALL) == pytest.approx(1.13, abs=0.01)


def test_the_best_number_of_drafts_falls_as_the_batch_grows() -> None:
    """Remember 5."""
    sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    constant = Acceptance(m.usual().rate)
    for source, law in product((m.SMALL, m.HEAD, m.LOOKUP), (m.usual(), constant)):
        found = [m.best(batch, law, source) for batch in sizes]
        numbers, gains = zip(*found, strict=True)
        assert list(numbers) == sorted(numbers, reverse=True)
        assert list(gains) == sorted(gains, reverse=True)
    assert m.best(256, m.usual(), m.SMALL)[0] == 2
    eight = m.break_even(8, m.usual(), m.SMALL)
    assert eight == 65
    assert m.speedup(64, 8, m.usual(), m.SMALL) >= 1
    assert m.speedup(65, 8, m.usual(), m.SMALL) < 1


def test_a_poor_guesser_loses_sooner_and_a_long_cache_later() -> None:
    """Remember 5, and how firm its batch is: acceptance, its fall, and the cache."""
    falls = m.usual().falls
    for rate in (m.usual().rate, *m.POORER[:1]):
        assert m.break_even(2, Acceptance(rate, falls), m.SMALL) is None
    middling, poor = (Acceptance(rate, falls) for rate in m.POORER)
    assert m.break_even(8, middling, m.SMALL) == 1
    gains = [m.speedup(batch, 8, middling, m.SMALL) for batch in (1, 64, 256)]
    assert max(gains) < 1
    assert m.break_even(3, m.usual(), m.SMALL) is None
    assert m.break_even(3, poor, m.SMALL) == 124
    assert m.speedup(64, 8, m.usual(), m.SMALL, 4000) == pytest.approx(1.07, abs=0.005)


def test_the_head_keeps_fewer_drafts_on_this_target_than_on_the_published_curves() -> (
    None
):
    """So 0.84 is a good guesser, and 0.7 no poor one."""
    here = [fit.alpha for fit in m.on_this_target()]
    assert min(here) >= 0.66 and round(max(here), 2) == m.POORER[0] < m.usual().rate
    assert all(0.91 <= fit.falls < 0.94 for fit in m.on_this_target())
    off = [abs(fit.falling_error) for fit in m.on_this_target()]
    assert max(off) < 0.06


def test_a_costly_pass_alone_does_not_explain_the_measured_loss() -> None:
    lost = float(SMALL_LOSES)
    assert m.speedup(128, 3, m.usual(), m.SMALL) > measured.small_gain(m.usual(), 128)
    assert measured.small_gain(m.usual(), 128) > 1 > lost
    middling = Acceptance(m.POORER[0], m.usual().falls)
    assert lost < measured.small_gain(middling, 128) < 1


def test_the_calculation_by_hand_adds_up_in_the_digits_that_are_shown() -> None:
    """As a reader checks it, from the printed numbers alone."""
    page = Path(__file__).resolve().parents[2] / "chapters/speculative_decoding.ipynb"
    text = "".join("".join(c["source"]) for c in json.loads(page.read_text())["cells"])
    found = dict(
        (name, said.split(" ")[0])
        for said, name in re.findall(r"\[([^\[\]]+)\]\(#num-(\w+)\)", text)
    )

    def gives(value: float, name: str) -> None:
        digits = len(found[name].partition(".")[2])
        assert f"{value:.{digits}f}" == found[name], name

    n = {name: float(said) for name, said in found.items() if BARE.fullmatch(said)}
    gives(3 * n["small_ms"] + n["verify_three"], "byhand_price")
    gives(n["byhand_price"] / n["byhand_tokens"], "byhand_ms")
    gives(n["plain_ms"] / n["byhand_ms"], "hook_gain")
    gives(n["fourth_tokens"] / n["fourth_ms"], "fourth_rate")
    gives(n["byhand_tokens"] / n["byhand_price"], "three_rate")
    gives(n["eight_draft64"] + n["eight_verify64"], "eight_round64")
    gives(n["eight_round64"] / n["plain64_ms"], "eight_need64")
    assert 0 < n["eight_yield"] - n["eight_need64"] < 0.01
    gives(1 + n["keep_one"] + n["keep_two"] + n["keep_three"], "byhand_tokens")
    gives(n["p_cat"] / n["q_cat"], "ratio_cat")
    gives(n["p_fox"] - n["q_fox"], "more_fox")
    gives(n["more_fox"] / n["more_all"], "fox")
    gives(n["fixed_measured"] - n["plain_measured"], "head_extra")
    head = n["head_measured"] + n["head_extra"] / 3
    gives(head / n["plain_measured"], "head_share")
    over = n["fixed3_measured"] - n["plain_measured"]
    head = n["head3_measured"] + over / 3
    gives(head / n["plain_measured"], "head3_share")
    four = n["fixed3_measured"] + 4 * n["head3_measured"]
    gives(four / n["tokens3_four"], "line_four")
    low = [fit.falling_error for fit in m.published() if fit.falling_error < 0]
    assert len(low) == n["low"] and found["low_mean"] == f"{-np.mean(low):.0%}"


def test_the_best_chain_is_where_one_draft_more_adds_less_than_the_average() -> None:
    """The rule of the calculation by hand, against trying every chain."""
    for batch, source in product((1, 16, 64, 256), (m.SMALL, m.HEAD)):
        best = m.best(batch, m.usual(), source)[0]
        for drafts in range(1, m.MOST):
            rate = m.usual().tokens(drafts) / m.round_s(batch, drafts, source)
            more = m.marginal(batch, drafts + 1, m.usual(), source)
            assert (more > rate) == (drafts < best)


def test_the_gain_falls_with_the_batch_as_measured() -> None:
    """Remember 4: on four tasks, with the host's time once a round and not oftener."""
    for run in BATCH_RUNS:
        gains = [measured.batch_gain(run, batch) for batch in BATCHES]
        assert gains == sorted(gains, reverse=True)
        assert all(run.gains[batch] > 1 for batch in BATCHES)
        off = [abs(measured.batch_off(run, batch)) for batch in BATCHES]
        assert max(off) < (0.3 if run.task == "CNN/DailyMail" else 0.11)
        said = measured.predicted_gains(run)
        least = min(measured.left(run.gains), measured.left(said))
        assert measured.left(measured.charged_gains(run)) < least - 0.04
    chat = BATCH_RUNS[0]
    assert [measured.batch_gain(chat, batch) for batch in (1, 128)] == pytest.approx(
        [1.82, 1.30], abs=0.01
    )


def test_reading_the_prompts_is_counted_where_it_was_measured() -> None:
    """Whole requests, token by token: without their prompts the model errs more."""
    off: dict[str, list[float]] = {"whole": [], "decoding": []}
    for run, batch in product(BATCH_RUNS, BATCHES):
        context = run.prompt + run.answer // 2
        read = running_example.cost().seconds(
            IterationLoad.of(chunk=run.prompt, context=0).times(batch)
        )
        rounds = run.answer / run.tokens
        drafted = rounds * m.round_s(batch, 3, m.HEAD, context)
        plain = run.answer * m.plain_s(batch, context)
        whole = (read + plain) / (read + drafted)
        assert measured.batch_gain(run, batch) == pytest.approx(whole)
        off["whole"].append(abs(whole / run.gains[batch] - 1))
        off["decoding"].append(abs(plain / drafted / run.gains[batch] - 1))
    assert np.mean(off["whole"]) < 0.08 and np.mean(off["decoding"]) > 0.11
    summaries = BATCH_RUNS[-1]  # the longest prompts: reading them takes the most
    cut = [
        measured.decode_gain(summaries, batch) / measured.batch_gain(summaries, batch)
        for batch in BATCHES
    ]
    assert cut[0] < 1.02 and cut[-1] > 1.1


def test_the_larger_the_batch_the_less_drafts_gain_at_all_stops() -> None:
    """The title of the figure: at every cost, acceptance and chain of its sliders."""
    figure = figures.when_drafts_lose()
    for drafts in (1.0, 4.0, 8.0):
        for rate in figures.RATES[::3]:
            for cost in (figures.COSTS[0], 0.27, figures.COSTS[-1]):
                gains = [
                    figure.values(
                        n_draft=drafts,
                        accept_rate=rate,
                        draft_cost=cost,
                        batch=float(b),
                    )["speculative_speedup"]
                    for b in figures.BATCHES
                ]
                assert gains == sorted(gains, reverse=True)


def test_later_drafts_are_kept_less_often_on_every_curve() -> None:
    """The title of the other figure."""
    for fit in m.published():
        steps = np.diff([1.0, *fit.curve.tokens])
        assert steps[0] > steps[1] > steps[3] and fit.falls < 1


def test_memory_holds_every_batch_of_the_figure() -> None:
    assert max(figures.BATCHES) <= m.fits(m.SMALL) <= m.fits(m.HEAD)
    assert m.break_even(1, Acceptance(1.0), m.LOOKUP) is None
