"""Speculative decoding: draft, verify in one pass, keep what the target agrees with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.speculative.drafters import Drafter, Drafts
from llmserve_lab.speculative.readers import Reader
from llmserve_lab.speculative.verification import Verified, verify


@dataclass(frozen=True)
class Round:
    """One round: the text before it, the drafts, and what came of them."""

    text: tuple[int, ...]
    drafts: Drafts
    verdict: Verified


def speculate(
    target: Reader,
    drafter: Drafter,
    prompt: Sequence[int],
    num_tokens: int,
    n_draft: int,
    rng: np.random.Generator,
) -> list[Round]:
    """Passes that yield at least ``num_tokens`` tokens after ``prompt``.

    The first reads all of the prompt but its last token; from then on each pass of the
    target runs the newest token and the drafts, and forgets the rows of the drafts that
    were not kept.

    Raises:
        ValueError: there are fewer than 1 drafts or tokens, or 2 tokens of prompt; or
            the drafter knows another vocabulary.
    """
    whole(of="draft", n_draft=n_draft)
    whole(of="token", num_tokens=num_tokens)
    if len(prompt) < 2:
        raise ValueError(f"prompt must have at least 2 tokens, got {len(prompt)}")
    if drafter.vocab != target.vocab:
        raise ValueError(
            f"drafter must know the target's {target.vocab} tokens, got {drafter.vocab}"
        )
    text = list(map(int, prompt))
    target.follow(text[:-1])
    feature, passes = target.features[-1], list[Round]()
    while len(text) < len(prompt) + num_tokens:
        drafts = drafter.propose(text, n_draft, rng, feature)
        laws = target.read([text[-1], *drafts.tokens])
        verdict = verify(drafts.tokens, drafts.laws, laws, rng)
        passes.append(Round(tuple(text), drafts, verdict))
        text += verdict.tokens
        target.rewind(len(text) - 1)
        feature = target.features[len(verdict.kept)]
    return passes


def tokens_of(passes: Sequence[Round]) -> tuple[int, ...]:
    """All tokens that the passes have yielded."""
    return tuple(token for each in passes for token in each.verdict.tokens)


def kept_by_place(passes: Sequence[Round], n_draft: int) -> list[float]:
    """Share of drafts kept at each place, of those before which all were kept."""
    checked, kept = np.zeros(n_draft), np.zeros(n_draft)
    for each in passes:
        for place, check in enumerate(each.verdict.checks):
            checked[place] += 1
            kept[place] += check.kept
    with np.errstate(invalid="ignore"):
        return [float(share) for share in kept / checked]
