"""One forward gives one token; a reply is the model run again on its own output."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import MOST_PLAYED, at_least, whole
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Integers
from llmserve_lab.transformer.inputs import token_ids
from llmserve_lab.transformer.model import Transformer
from llmserve_lab.transformer.rowwise import softmax


def next_token(
    logits: Array, *, temperature: float = 0, rng: np.random.Generator | None = None
) -> int:
    """The id that follows logits [V]: the largest, or one drawn from the softmax.

    Temperature 0 is greedy, and of equal logits the lower id wins. Otherwise one number
    is drawn from ``rng`` and looked up in the cumulative probabilities.

    Raises:
        ValueError: the temperature is negative or not finite, or positive without a
            generator; the logits are no list, or their largest is not finite.
    """
    at_least("temperature", temperature, 0)
    if logits.ndim != 1 or not np.isfinite(largest := logits.max(initial=-np.inf)):
        raise ValueError(
            f"logits must be [V] with a finite largest, got {logits.max(initial=0)} "
            f"in shape {logits.shape}"
        )
    if temperature == 0:
        return int(np.argmax(logits))
    if rng is None:
        raise ValueError(f"rng must be given to sample at temperature {temperature}")
    with np.errstate(over="ignore"):  # what is out of reach when it is cold is −∞
        reached = np.cumsum(softmax((logits - largest) / temperature))
    return int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))


def generate(
    model: Transformer,
    prompt: npt.ArrayLike,
    num_tokens: int,
    *,
    temperature: float = 0,
    rng: np.random.Generator | None = None,
    cached: bool = True,
    run: Execution = PLAIN,
) -> Integers:
    """The ``num_tokens`` ids [num_tokens] that follow ``prompt``.

    With a cache, the prompt is run once and each new token alone. Without one, every
    token runs the whole sequence again. The tokens are the same.

    Raises:
        TypeError, ValueError: as :meth:`Transformer.forward` and :func:`next_token`,
            or if ``num_tokens`` is no whole number, or below 1.
    """
    whole(of="token", most=MOST_PLAYED, num_tokens=num_tokens)
    sequence = token_ids(prompt, vocab=model.shape.vocab)
    n_prompt = len(sequence)
    cache = model.new_cache(n_prompt + num_tokens - 1) if cached else None
    new = sequence
    for _ in range(num_tokens):
        logits = model.forward(new if cached else sequence, cache, run=run)
        drawn = next_token(logits[-1], temperature=temperature, rng=rng)
        new = np.array([drawn])
        sequence = np.concatenate([sequence, new])
    return sequence[n_prompt:]
