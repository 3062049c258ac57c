"""What a question asks to foresee comes true where it is carried out."""

import numpy as np
import pytest

from llmserve_lab.engine import (
    Acceptance,
    Chunked,
    IterationCost,
    Pool,
    Request,
    Speculation,
    simulate,
)
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.enumeration import law_of_a_pass
from llmserve_lab.speculative.page import questions


def test_the_draft_is_kept_as_often_as_the_paths_say() -> None:
    p, q = np.array(questions.P), np.array(questions.Q)
    found = law_of_a_pass(lambda _: p, lambda _: q, 1)
    kept = sum(chance for tokens, chance in found.items() if len(tokens) == 2)
    assert questions.common.right == pytest.approx(kept)


def test_a_word_redrawn_from_the_target_comes_too_seldom() -> None:
    """Drafts and replacements drawn as the question says."""
    rng = np.random.default_rng(0)
    p, q, n = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2]), 100_000
    drafts = rng.choice(3, n, p=q)
    kept = rng.random(n) < (p / q)[drafts]
    came = np.where(kept, drafts, rng.choice(3, n, p=p))
    share = np.mean(came == 0)
    assert share < 0.4
    assert questions.REDRAWN[int(questions.predict_redraw.right)].startswith("less")
    assert questions._redrawn() == pytest.approx(share, abs=0.01)


def test_eight_drafts_are_slower_in_the_engine() -> None:
    two, eight = (m.engine_gain(32, k, m.usual(), m.SMALL) for k in (2, 8))
    assert eight < two
    assert questions.EIGHT[int(questions.predict_eight.right)] == "fewer"


def test_the_token_s_time_is_that_of_a_run() -> None:
    """A long answer in the engine, at the prices of the exercise."""
    target = IterationCost(overhead_s=1e-3 * questions.PASS_MS)
    draft = IterationCost(overhead_s=1e-3 * questions.DRAFT_MS)
    law = Speculation(questions.CHAIN, Acceptance(questions.RATE), draft)
    one = Request(arrival_s=0, prompt_len=1, output_len=20_000, id=0)
    pool = Pool(target, Chunked(8), kv_blocks=2000, speculation=law)
    found = float(simulate([one], pool).tpot_s[0])
    assert questions.by_hand.right == pytest.approx(found, rel=0.02)


def test_a_chain_without_end_is_counted() -> None:
    rng = np.random.default_rng(0)
    kept = rng.geometric(1 - questions.ENDLESS, 200_000)  # the last token is its own
    assert questions.endless.right == pytest.approx(kept.mean(), rel=0.01)


def test_five_rows_take_about_as_long_as_one() -> None:
    assert m.verify_s(1, 4) / m.plain_s(1) < 1.02
    assert questions.ROWS[int(questions.predict_rows.right)] == "about as long"


def test_breaking_even_in_plain_passes() -> None:
    assert questions.break_even.right == pytest.approx(26.3 / 11.6, abs=0.001)
