"""Accept or reject: drafts are checked so that the target's law is kept exactly.

A draft x, drawn from the draft's law q, is kept with chance min(1, p(x)/q(x)), where p
is the target's law. The first draft that is rejected is replaced by a token from the
residual max(0, p - q), scaled to a sum of one, and the drafts after it are dropped. If
all are kept, the target's next law gives a bonus token (Leviathan et al. 2023; Chen et
al. 2023). Greedy decoding is the case in which both laws have all of their weight on
one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.sampling import draw

CLOSE = 1e-9


@dataclass(frozen=True)
class Check:
    """A draft under check: its chance by both laws, the number drawn, the outcome."""

    token: int
    target: float
    draft: float
    drawn: float
    kept: bool

    @property
    def chance(self) -> float:
        """The chance that it is kept."""
        return min(1.0, self.target / self.draft)


@dataclass(frozen=True)
class Verified:
    """What a pass yields: the drafts that were kept, and one token of the target's."""

    kept: tuple[int, ...]
    last: int
    checks: tuple[Check, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """All tokens of the pass."""
        return (*self.kept, self.last)

    @property
    def bonus(self) -> bool:
        """Whether all drafts were kept, so that the last token is a bonus."""
        return len(self.kept) == len(self.checks)


def residual(target: Array, draft: Array) -> Array:
    """What the target has more than the draft, scaled to a sum of one.

    Raises:
        ValueError: no two laws of the same tokens, or equal: then nothing is rejected.
    """
    laws("target", target, len(target))
    laws("draft", draft, len(target))
    more = np.maximum(target - draft, 0.0)
    if not more.sum() > 0:
        raise ValueError("target must differ from draft to leave a residual, got equal")
    return np.asarray(more / more.sum())


def verify(
    drafts: Sequence[int],
    draft_laws: Array,
    target_laws: Array,
    rng: np.random.Generator,
) -> Verified:
    """Check k drafts, drawn from k laws, against the target's k + 1 laws.

    Raises:
        ValueError: the laws or the drafts do not fit together.
    """
    _check(drafts, draft_laws, target_laws)
    checks: list[Check] = []
    for token, p, q in zip(drafts, target_laws, draft_laws, strict=False):
        drawn = float(rng.random())
        kept = drawn < min(1.0, p[token] / q[token])
        checks.append(Check(token, float(p[token]), float(q[token]), drawn, kept))
        if not kept:
            replaced = draw(residual(p, q), rng)
            return Verified(tuple(drafts[: len(checks) - 1]), replaced, tuple(checks))
    return Verified(tuple(drafts), draw(target_laws[len(drafts)], rng), tuple(checks))


def laws(name: str, found: Array, vocab: int) -> None:
    """Refuse what is no law over ``vocab`` tokens, or no stack of such.

    Raises:
        ValueError: it is over other tokens, a probability is below zero or no number,
            or a sum is not one.
    """
    if found.ndim < 1 or found.shape[-1] != vocab:
        size = found.shape[-1] if found.ndim else 0
        raise ValueError(
            f"{name} must be a law over the target's {vocab} tokens, got {size}"
        )
    if not (found >= 0).all():
        least = found.min()  # nan where one is no number
        raise ValueError(f"{name} must have no probability below 0, got {least:g}")
    sums = found.sum(axis=-1)
    if not (np.abs(sums - 1) < CLOSE).all():
        odd = sums.flat[int(np.abs(sums - 1).argmax())]
        raise ValueError(f"{name} must sum to 1, got {odd:g}")


def _check(drafts: Sequence[int], draft_laws: Array, target_laws: Array) -> None:
    """Refuse laws and drafts that do not fit together."""
    if target_laws.ndim != 2 or len(target_laws) != len(drafts) + 1:
        raise ValueError(
            f"target_laws must be {len(drafts) + 1}, one more than the drafts, "
            f"got shape {target_laws.shape}"
        )
    vocab = target_laws.shape[1]
    laws("target_laws", target_laws, vocab)
    if not drafts:
        return
    if draft_laws.ndim != 2 or len(draft_laws) != len(drafts):
        raise ValueError(
            f"draft_laws must be {len(drafts)}, one a draft, got {draft_laws.shape}"
        )
    laws("draft_laws", draft_laws, vocab)
    for token, law in zip(drafts, draft_laws, strict=True):
        if not 0 <= token < vocab:
            raise ValueError(f"drafts must be ids from 0 to {vocab - 1}, got {token}")
        if not law[token] > 0:
            raise ValueError(
                f"drafts must be drawn from their laws, got {token} with chance 0"
            )
