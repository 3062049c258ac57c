"""A transformer that reads a growing text once, and forgets what was read in vain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import norm
from llmserve_lab.transformer.sampling import chances


def law_of(logits: Array, *, temperature: float, top_p: float = 1.0) -> Array:
    """Law [V] of the next token; at temperature 0 all of it is on the largest logit.

    Raises:
        ValueError: the temperature is below 0 or not finite, or p is not in (0, 1].
    """
    if temperature == 0:
        greedy = np.zeros(len(logits))
        greedy[int(np.argmax(logits))] = 1.0
        return greedy
    return chances(logits, temperature, top_p)


class Reader:
    """A model with the cache of one text, of which it has read a first part.

    ``read`` runs tokens that follow, all in one pass, and returns the law of what comes
    after each. ``passes`` and ``rows`` count what was run.

    Raises:
        ValueError: there is no room for a token.
    """

    def __init__(
        self,
        model: Transformer,
        *,
        room: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
    ) -> None:
        whole(of="token", room=room)
        self.model, self.temperature, self.top_p = model, temperature, top_p
        self.cache = model.new_cache(room)
        self.text: list[int] = []
        self.passes = self.rows = 0
        self.features = np.zeros((0, model.shape.d_model))  # of the rows read last

    @property
    def vocab(self) -> int:
        """Tokens that the model knows."""
        return self.model.shape.vocab

    def read(self, tokens: Sequence[int]) -> Array:
        """Laws [n, V] of what follows each of these tokens, which come after the rest.

        Raises:
            TypeError, ValueError: as :meth:`Transformer.forward`.
        """
        hidden = self.model.hidden(tokens, (0, len(tokens)), [self.cache])
        self.features = norm(hidden, *self.model.weights.final_norm)
        logits = self.features @ self.model.weights.lm_head
        self.text += map(int, tokens)
        self.passes, self.rows = self.passes + 1, self.rows + len(tokens)
        law = {"temperature": self.temperature, "top_p": self.top_p}
        return np.array([law_of(row, **law) for row in logits])

    def follow(self, text: Sequence[int]) -> Array:
        """Law [V] after ``text``: forget what it does not share, read what is new.

        The last token is read again where all of it is known already.
        """
        shared = 0
        most = min(len(self.text), len(text) - 1)
        while shared < most and self.text[shared] == text[shared]:
            shared += 1
        self.rewind(shared)
        return np.asarray(self.read(text[shared:])[-1])

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.cache.rewind(length)
        del self.text[length:]
