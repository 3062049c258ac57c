"""Where drafts come from: a small model, the target's own head, the text so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.speculative.readers import Reader, law_of
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.sampling import draw


@dataclass(frozen=True)
class Drafts:
    """A chain of drafted tokens [k], and the law [k, V] that each was drawn from."""

    tokens: tuple[int, ...]
    laws: Array


class Drafter(Protocol):
    """What speculative decoding asks of a source of drafts."""

    @property
    def vocab(self) -> int:
        """Tokens that it knows."""

    def propose(
        self,
        text: Sequence[int],
        n_draft: int,
        rng: np.random.Generator,
        feature: Array,
    ) -> Drafts:
        """At most ``n_draft`` tokens that may follow ``text``.

        ``feature`` [d] is the target's own, of the last row that it has run: that of
        the last token but one.
        """


class SmallModel:
    """A smaller transformer of the same vocabulary drafts, one pass a token."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.vocab = reader, reader.vocab

    def propose(
        self,
        text: Sequence[int],
        n_draft: int,
        rng: np.random.Generator,
        feature: Array,
    ) -> Drafts:
        """Draw one token after the other, each from the small model's law."""
        known, laws, tokens = list(text), [], []
        for _ in range(n_draft):
            law = self.reader.follow(known)
            token = draw(law, rng)
            known.append(token)
            tokens.append(token)
            laws.append(law)
        return Drafts(tuple(tokens), np.array(laws))


class OwnHead:
    """A head on the target's features drafts (EAGLE in miniature, with one matrix).

    A feature is the row that the LM head reads. From the feature of a token and the
    embedding of the next one, ``step`` [2d, d] guesses the next feature; the target's
    LM head turns it into a law, and the guess is what the next guess starts from.
    """

    def __init__(
        self,
        model: Transformer,
        step: Array,
        *,
        temperature: float = 1.0,
        top_p: float = 1.0,
    ) -> None:
        width = model.shape.d_model
        if step.shape != (2 * width, width):
            raise ValueError(
                f"step must have shape {(2 * width, width)}, got {step.shape}"
            )
        self.model, self.step, self.vocab = model, step, model.shape.vocab
        self.temperature, self.top_p = temperature, top_p

    def propose(
        self,
        text: Sequence[int],
        n_draft: int,
        rng: np.random.Generator,
        feature: Array,
    ) -> Drafts:
        """Guess feature after feature; draw a token from each."""
        token, laws, tokens = text[-1], [], []
        for _ in range(n_draft):
            embedded = self.model.weights.embedding[token]
            feature = np.concatenate([feature, embedded]) @ self.step
            logits = feature @ self.model.weights.lm_head
            law = law_of(logits, temperature=self.temperature, top_p=self.top_p)
            token = draw(law, rng)
            tokens.append(token)
            laws.append(law)
        return Drafts(tuple(tokens), np.array(laws))


@dataclass(frozen=True)
class PromptLookup:
    """The text itself drafts (prompt lookup, n-gram): what followed the last words.

    The longest run of ``longest`` to 1 last tokens that stands earlier in the text is
    looked up, its latest place first; the tokens that followed there are the drafts.
    Each is certain of itself, so its law is all on one token. It costs no pass.

    Raises:
        ValueError: ``longest`` is below 1 token.
    """

    vocab: int
    longest: int = 3

    def __post_init__(self) -> None:
        whole(of="token", vocab=self.vocab, longest=self.longest)

    def propose(
        self,
        text: Sequence[int],
        n_draft: int,
        rng: np.random.Generator,
        feature: Array,
    ) -> Drafts:
        """The tokens that followed the same words before; none if they are new."""
        tokens = tuple(self.found(list(text))[:n_draft])
        laws = np.zeros((len(tokens), self.vocab))
        laws[np.arange(len(tokens)), list(tokens)] = 1.0
        return Drafts(tokens, laws)

    def found(self, text: list[int]) -> list[int]:
        """What followed the latest earlier place of the longest run of last tokens."""
        for run in range(min(self.longest, len(text) - 1), 0, -1):
            last = text[-run:]
            for start in range(len(text) - run - 1, -1, -1):
                if text[start : start + run] == last:
                    return text[start + run :]
        return []
