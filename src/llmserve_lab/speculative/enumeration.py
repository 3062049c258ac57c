"""The exact law of speculative decoding: the sum over all that can happen in a pass.

Every chain of drafts, every place of the first rejection and every token that may then
be drawn is a path with a probability. Nothing is sampled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.speculative.verification import residual
from llmserve_lab.transformer.arithmetic import Array

MOST_DRAFTS = 12  # every outcome of them is listed
Text = tuple[int, ...]
Law = Callable[[Text], Array]  # of the next token [V] after a text


def law_of_a_pass(target: Law, draft: Law, n_draft: int) -> dict[Text, float]:
    """Probability of every outcome of a pass: the tokens that it yields.

    Raises:
        ValueError: there are fewer than 1 drafts.
    """
    whole(of="draft", most=MOST_DRAFTS, n_draft=n_draft)
    found: dict[Text, float] = defaultdict(float)
    for outcome, chance in _paths(target, draft, n_draft, (), 1.0):
        found[outcome] += chance
    return dict(found)


def _paths(
    target: Law, draft: Law, left: int, text: Text, reached: float
) -> Iterator[tuple[Text, float]]:
    """Each way to go on after the drafts in ``text`` were kept."""
    p = target(text)
    if left == 0:
        yield from (((*text, i), reached * float(p[i])) for i in range(len(p)))
        return
    q = draft(text)
    kept = np.minimum(p, q)  # drawn, and kept
    rejected = 1.0 - float(kept.sum())
    if rejected > 0 and (p > q).any():
        more = residual(p, q)
        for i in np.flatnonzero(more):
            yield (*text, int(i)), reached * rejected * float(more[i])
    for i in np.flatnonzero(kept):
        on = (*text, int(i))
        yield from _paths(target, draft, left - 1, on, reached * float(kept[i]))


def mean_tokens(target: Law, draft: Law, n_draft: int) -> float:
    """Expected tokens of a pass, exactly."""
    outcomes = law_of_a_pass(target, draft, n_draft).items()
    return sum(len(tokens) * chance for tokens, chance in outcomes)


def law_of_a_text(target: Law, draft: Law, n_draft: int, length: int) -> Array:
    """Law of the first ``length`` tokens of speculative decoding, [V, …, V].

    Passes follow each other until the text is long enough; what is too much is cut.
    """
    whole(of="token", most=MOST_DRAFTS, length=length)
    whole(of="draft", most=MOST_DRAFTS, n_draft=n_draft)
    vocab = len(target(()))
    found = np.zeros((vocab,) * length)
    _extend(found, target, draft, n_draft, (), 1.0)
    return found


def _extend(
    found: Array, target: Law, draft: Law, n_draft: int, text: Text, reached: float
) -> None:
    """Add what every continuation of ``text`` contributes."""
    passed = law_of_a_pass(
        lambda more: target(text + more), lambda more: draft(text + more), n_draft
    )
    for tokens, chance in passed.items():
        longer = (text + tokens)[: found.ndim]
        if len(longer) == found.ndim:
            found[longer] += reached * chance
        else:
            _extend(found, target, draft, n_draft, longer, reached * chance)


def law_of_the_target(target: Law, length: int) -> Array:
    """Law of the first ``length`` tokens, one drawn after the other, [V, …, V]."""
    vocab = len(target(()))
    found = np.ones((vocab,) * length)
    for text in product(range(vocab), repeat=length):
        for place, token in enumerate(text):
            found[text] *= target(text[:place])[token]
    return found
