"""Speculative decoding on two transformers: exact, and by chi-square on samples."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from llmserve_lab.speculative import toy
from llmserve_lab.speculative.decoding import kept_by_place, speculate, tokens_of
from llmserve_lab.speculative.drafters import OwnHead, PromptLookup, SmallModel
from llmserve_lab.speculative.enumeration import law_of_a_text, mean_tokens
from llmserve_lab.speculative.readers import Reader, law_of
from llmserve_lab.speculative.verification import verify
from llmserve_lab.transformer import Transformer, generate, tiny_shape
from llmserve_lab.transformer.sampling import draw

PROMPT = tuple(toy.tokenize(toy.PROMPT))
KINDS = ("small model", "own head", "prompt")


def target(text: tuple[int, ...]) -> np.ndarray:
    return toy.next_law("target", PROMPT + text)


def draft(text: tuple[int, ...]) -> np.ndarray:
    return toy.next_law("draft", PROMPT + text)


@pytest.mark.long
def test_the_law_of_the_transformers_is_exact() -> None:
    """All paths over the real laws of both: two tokens, drafted by twos."""
    found = law_of_a_text(target, draft, 2, 2)
    first = target(())
    wanted = np.array([first[i] * target((i,)) for i in range(len(first))])
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.long
def test_samples_follow_the_target_by_chi_square() -> None:
    rng, count = np.random.default_rng(7), 20_000
    found: Counter[int] = Counter()
    for _ in range(count):
        token = draw(draft(()), rng)
        laws = np.array([target(()), target((token,))])
        tokens = verify([token], draft(())[np.newaxis], laws, rng).tokens
        second = tokens[1] if len(tokens) > 1 else draw(target(tokens), rng)
        found[tokens[0] * len(toy.WORDS) + second] += 1
    first = target(())
    law = np.concatenate([first[i] * target((i,)) for i in range(len(first))])
    often = np.flatnonzero(law * count >= 5)
    seen = np.array([found[int(i)] for i in often])
    seen, wanted = np.append(seen, count - seen.sum()), law[often] * count
    wanted = np.append(wanted, count - wanted.sum())
    assert len(often) > 50
    assert stats.chisquare(seen, wanted).pvalue > 0.01
    off = np.append(draft(())[often // 20] / first[often // 20], 1.0)
    biased = wanted * off * wanted.sum() / (wanted * off).sum()
    assert stats.chisquare(seen, biased).pvalue < 1e-6  # it would see the draft's law


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_says_what_the_target_says_alone(kind: str) -> None:
    model = toy.model("target")
    alone = generate(model, PROMPT, 40)
    reader = toy.reader("target", temperature=0)
    source = toy.drafter(kind, temperature=0)
    passes = speculate(reader, source, PROMPT, 40, 4, np.random.default_rng(0))
    assert list(tokens_of(passes)[:40]) == list(alone)
    assert reader.passes == len(passes) + 1 < 40


@pytest.mark.parametrize("kind", KINDS)
def test_each_pass_runs_a_row_for_the_newest_token_and_each_draft(kind: str) -> None:
    reader, source = toy.reader("target"), toy.drafter(kind)
    passes = speculate(reader, source, PROMPT, 60, 3, np.random.default_rng(1))
    drafted = sum(len(each.drafts.tokens) for each in passes)
    assert reader.rows == len(PROMPT) - 1 + len(passes) + drafted
    assert reader.text == [*PROMPT, *tokens_of(passes)][:-1]
    if isinstance(source, SmallModel):
        # one pass a draft; after a pass in which all were kept it reads two tokens
        assert source.reader.passes == drafted == 3 * len(passes)
    for each in passes:  # the laws used are those of a pass without any cache
        law = toy.next_law("target", each.text)
        assert (
            each.verdict.checks[0].target
            == pytest.approx(law[each.drafts.tokens[0]], abs=1e-10)
            if each.verdict.checks
            else True
        )


@pytest.mark.long
def test_kept_shares_are_what_the_laws_have_in_common() -> None:
    """The first draft is kept with chance sum(min(p, q)), averaged over the texts."""
    passes = speculate(
        toy.reader("target"),
        toy.drafter("small model"),
        PROMPT,
        380,
        2,
        np.random.default_rng(3),
    )
    common = [
        float(
            np.minimum(
                toy.next_law("target", each.text), toy.next_law("draft", each.text)
            ).sum()
        )
        for each in passes
    ]
    found = kept_by_place(passes, 2)[0]
    spread = np.sqrt(sum(c * (1 - c) for c in common)) / len(common)
    assert abs(found - np.mean(common)) < 3 * spread
    assert mean_tokens(target, draft, 1) == pytest.approx(
        1 + np.minimum(target(()), draft(())).sum()
    )


def test_prompt_lookup_finds_the_longest_and_latest() -> None:
    look = PromptLookup(20, longest=2)
    assert look.found([1, 2, 3, 1, 2, 4, 1, 2]) == [4, 1, 2]
    assert look.found([9, 2, 3, 1, 2]) == [3, 1, 2]
    assert look.found([1, 2, 3]) == []
    rng, none = np.random.default_rng(0), np.zeros(1)
    drafts = look.propose([5, 6, 7, 5], 2, rng, none)
    assert drafts.tokens == (6, 7) and drafts.laws[0, 6] == drafts.laws[1, 7] == 1
    assert look.propose([1, 2, 3], 2, rng, none).laws.shape == (0, 20)


def test_temperature_and_top_p() -> None:
    logits = np.array([2.0, 1.0, 0.0, -1.0])
    cold, hot = (law_of(logits, temperature=t) for t in (0.25, 4.0))
    assert cold[0] > law_of(logits, temperature=1)[0] > hot[0]
    assert list(law_of(logits, temperature=0)) == [1, 0, 0, 0]
    cut = law_of(logits, temperature=1, top_p=0.8)
    assert (cut > 0).sum() == 2 and cut.sum() == pytest.approx(1)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    reader = toy.reader("target")
    other = Reader(Transformer(tiny_shape(vocab=7)), room=9)
    with pytest.raises(ValueError, match="drafter must know the target's 20 tokens"):
        speculate(reader, SmallModel(other), PROMPT, 4, 2, rng)
    small = toy.drafter("small model")
    with pytest.raises(ValueError, match="n_draft must be at least 1 draft, got 0"):
        speculate(reader, small, PROMPT, 4, 0, rng)
    with pytest.raises(ValueError, match="num_tokens must be at least 1 token, got 0"):
        speculate(reader, small, PROMPT, 0, 2, rng)
    with pytest.raises(ValueError, match="prompt must have at least 2 tokens, got 1"):
        speculate(reader, small, [1], 4, 2, rng)
    with pytest.raises(ValueError, match=r"temperature must be .*got -1"):
        law_of(np.zeros(3), temperature=-1)
    with pytest.raises(ValueError, match=r"step must have shape \(64, 32\), got"):
        OwnHead(toy.model("target"), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="kind must be small model, own head or"):
        toy.drafter("oracle")
    with pytest.raises(ValueError, match="text must use the words of WORDS, got 'ox'"):
        toy.tokenize("the ox")
