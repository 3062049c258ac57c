"""The scaling chapter on speculative decoding: passes counted, its law worked out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np

from llmserve_lab.claims.parts import Number, Passages, Size, Statement
from llmserve_lab.claims.record import Claim
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.transformer.arithmetic import Array

Tokens = tuple[int, ...]
DRAFTED, ACCEPTED, ORDINARY = 4, 3, 5  # the chapter's example
VOCABULARY = 3  # of the two small models whose law is worked out

in_speculative = partial(Claim, section="speculative decoding")


@dataclass
class TokenModel:
    """A model as a law of the next token, and how often it was run."""

    law: Callable[[Tokens], Array]
    passes: int = 0

    def next(self, tokens: Tokens) -> Array:
        """One pass: the law of the token after these."""
        self.passes += 1
        return self.law(tokens)

    def verify(self, tokens: Tokens, drafted: Tokens) -> list[Array]:
        """One pass over all drafted tokens: the laws at each of them, and after."""
        self.passes += 1
        ends = range(len(drafted) + 1)
        return [self.law(tokens + drafted[:end]) for end in ends]


def counting(*, right: int) -> Callable[[Tokens], Array]:
    """A law that counts up from 0, as the target does, for so many tokens."""

    def law(tokens: Tokens) -> Array:
        place = len(tokens)
        certain = np.zeros(2 * ORDINARY)
        certain[place if place <= right else 0] = 1.0
        return certain

    return law


def speculate(target: TokenModel, draft: TokenModel, drafted: int) -> Tokens:
    """Draft, verify in one pass, keep what agrees and one token of the target's."""
    found: Tokens = ()
    for _ in range(drafted):
        found += (int(draft.next((0, *found)).argmax()),)
    laws = target.verify((0,), found)
    kept = 0
    while kept < drafted and laws[kept][found[kept]] > 0:
        kept += 1
    return (*found[:kept], int(laws[kept].argmax()))


@cache
def example() -> tuple[TokenModel, TokenModel, Tokens]:
    """The chapter's example: four tokens drafted, of which three are accepted."""
    target = TokenModel(counting(right=2 * ORDINARY))
    draft = TokenModel(counting(right=ACCEPTED))
    return target, draft, speculate(target, draft, DRAFTED)


def ordinary_passes(tokens: int) -> float:
    """Target passes that so many tokens take one by one."""
    target = TokenModel(counting(right=2 * ORDINARY))
    found: Tokens = (0,)
    while len(found) <= tokens:
        found = (*found, int(target.next(found).argmax()))
    return float(target.passes)


def emitted() -> float:
    """Tokens that the example's one verification emits."""
    return float(len(example()[2]))


def drawn(seed: int) -> Callable[[Tokens], Array]:
    """A law that depends on the last token, drawn at random."""
    table = np.random.default_rng(seed).dirichlet(np.ones(VOCABULARY), VOCABULARY)
    return lambda tokens: np.asarray(table[tokens[-1]])


def outcomes(
    p: TokenModel, q: TokenModel, tokens: Tokens, left: int
) -> Iterator[tuple[Tokens, float]]:
    """What a step may emit, and with which chance: accept, or resample what is left."""
    ours, drafts = p.law(tokens), q.law(tokens)
    if not left:
        yield from (((x,), float(ours[x])) for x in range(VOCABULARY))
        return
    accept = np.minimum(1, ours / drafts)
    rest = np.clip(ours - drafts, 0, None)
    for x in range(VOCABULARY):
        for more, chance in outcomes(p, q, (*tokens, x), left - 1):
            yield (x, *more), float(drafts[x] * accept[x]) * chance
    rejected = float((drafts * (1 - accept)).sum())
    yield from (
        ((y,), rejected * float(rest[y] / rest.sum())) for y in range(VOCABULARY)
    )


def chance(law: Callable[[Tokens], Array], start: Tokens, tokens: Tokens) -> float:
    """Chance that a model emits these tokens, one by one."""
    found = 1.0
    for token in tokens:
        found *= float(law(start)[token])
        start = (*start, token)
    return found


def largest_gap(drafted: int = 2) -> float:
    """Largest difference between the law of the tokens and the target's own."""
    p, q = TokenModel(drawn(1)), TokenModel(drawn(2))
    joint: defaultdict[Tokens, float] = defaultdict(float)
    for tokens, weight in outcomes(p, q, (0,), drafted):
        for more in product(range(VOCABULARY), repeat=drafted + 1 - len(tokens)):
            joint[tokens + more] += weight * chance(p.law, (0, *tokens), more)
    return max(abs(w - chance(p.law, (0,), tokens)) for tokens, w in joint.items())


CLAIMS = (
    in_speculative(
        id="003-08",
        says="Passes of the example: ordinary ones for five tokens, tokens emitted by "
        "one verification, draft passes",
        parts=(
            Number("5", "dimensionless", lambda: ordinary_passes(ORDINARY), "ordinary"),
            Number("4", "dimensionless", emitted, "emitted"),
            Number("4", "dimensionless", lambda: example()[1].passes, "draft"),
        ),
        verdict=Ruling.EXACT,
        why="Counted on two small models that agree on three tokens.",
    ),
    in_speculative(
        id="003-16",
        says="The draft model guesses the next five tokens, and the first three are "
        "accepted",
        parts=(
            Passages("5 tokens drafted", "4 tokens drafted", "its listing and example"),
        ),
        verdict=Ruling.INCONSISTENT,
        why="Text and listing tell the same example with another number of drafts.",
    ),
    in_speculative(
        id="003-17",
        says="Five ordinary passes for five tokens, beside one verification",
        parts=(
            Size(
                "for 5 tokens",
                lambda: float(ORDINARY),
                emitted,
                unit="token",
                where="its next line",
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why=lambda: (
            "The verification emits one token less than the passes that it is set "
            f"against; as many take {ordinary_passes(int(emitted())):.0f} passes."
        ),
    ),
    in_speculative(
        id="003-18",
        says="One target pass can emit the accepted tokens and one more",
        parts=(
            Number("1", "dimensionless", lambda: example()[0].passes, "target passes"),
            Statement(
                "accepted tokens plus a correction",
                lambda: example()[2] == tuple(range(1, ACCEPTED + 2)),
                lambda: f"{emitted():.0f} tokens, those of the target alone",
            ),
        ),
        verdict=Ruling.EXACT,
        why="The pass has the target's law at every drafted token, and after the last.",
    ),
    in_speculative(
        id="003-19",
        says="Accepting by the ratio of chances and resampling the rest is exact",
        parts=(
            Statement(
                "exact",
                lambda: largest_gap() < 1e-12,
                lambda: (
                    "all sequences of three tokens as likely as under the target, "
                    f"{VOCABULARY**3} of them"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Every way to accept and to reject is gone through, so nothing is left to "
        "chance.",
    ),
)
