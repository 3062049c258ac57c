"""The scaling chapter on speculative decoding: an example, a listing, and the rule."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Passages, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.speculative import toy
from llmserve_lab.speculative.enumeration import law_of_a_text, law_of_the_target
from llmserve_lab.speculative.verification import Verified, verify

PROPOSED, PREFIX = 4, 3  # drafts of the listing, and how many are accepted
ORDINARY = 5  # tokens of its ordinary passes
CLOSE = 1e-12

on_drafts = partial(Claim, section="speculative decoding")


@cache
def one_pass(drafts: int, accepted: int) -> Verified:
    """A pass whose first drafts the target is sure of, and whose next it excludes."""
    whole(of="draft", most=MOST_PLAYED, drafts=drafts)
    whole(of="draft", first=0, most=drafts, accepted=accepted)
    sure = np.eye(2)
    targets = np.array([sure[0]] * accepted + [sure[1]] * (drafts + 1 - accepted))
    drawn = np.array([sure[0]] * drafts)
    return verify([0] * drafts, drawn, targets, np.random.default_rng(0))


def emitted(drafts: int = PROPOSED, accepted: int = PREFIX) -> float:
    """Tokens of such a pass."""
    return float(len(one_pass(drafts, accepted).tokens))


def passes(name: str, tokens: int) -> float:
    """Passes that a transformer runs for so many tokens, one by one."""
    reader, prompt = toy.reader(name, temperature=0), toy.tokenize(toy.PROMPT)
    for _ in range(tokens):
        law = reader.read(prompt)[-1]
        prompt = [int(np.argmax(law))]
    return float(reader.passes)


@cache
def largest_difference() -> float:
    """Between the law of the output and the target's, over all texts of two words."""
    prompt = tuple(toy.tokenize(toy.PROMPT))
    target, draft = (toy.law_after(name, prompt) for name in ("target", "draft"))
    found = law_of_a_text(target, draft, 2, 2)
    return float(np.abs(found - law_of_the_target(target, 2)).max())


CLAIMS = (
    on_drafts(
        id="003-08",
        says="Passes of the example: ordinary ones for five tokens, tokens emitted by "
        "one verification, draft passes",
        parts=(
            Number("5", "dimensionless", lambda: passes("target", ORDINARY), "plain"),
            Number("4", "dimensionless", emitted, "emitted"),
            Number("4", "dimensionless", lambda: passes("draft", PROPOSED), "drafts"),
        ),
        verdict=Ruling.EXACT,
        why="Each is right by itself, counted on two transformers.",
    ),
    on_drafts(
        id="003-16",
        says="The draft model guesses five tokens, of which three are accepted",
        parts=(
            Passages("5 tokens drafted", "4 tokens drafted", "its listing and example"),
        ),
        verdict=Ruling.INCONSISTENT,
        why="Text and listing tell one example with five drafts and with four.",
    ),
    on_drafts(
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
            f"against; as many take {passes('target', int(emitted())):.0f} passes."
        ),
    ),
    on_drafts(
        id="003-18",
        says="One verification emits what is accepted, and a correction or another "
        "token",
        parts=(
            Statement(
                "accepted tokens plus a correction",
                lambda: all(emitted(4, kept) == kept + 1 for kept in range(5)),
                lambda: "a token more than were accepted, also when all were",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Where all drafts are accepted it is the bonus token.",
    ),
    on_drafts(
        id="003-19",
        says="Accept or reject with residual resampling is exact",
        parts=(
            Statement(
                "exact",
                lambda: largest_difference() < CLOSE,
                lambda: "the sum over all paths is the target's law, for 400 texts",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Added up over every chain, rejection and replacement on two transformers.",
    ),
)
