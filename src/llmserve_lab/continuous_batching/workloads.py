"""The chapter's requests: four of unlike length, a long one, a crowd, a full cache."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from llmserve_lab.checks import positive, whole
from llmserve_lab.continuous_batching.machine import (
    BOOK_ARRIVES_S as BOOK_ARRIVES_S,
)
from llmserve_lab.continuous_batching.machine import DECODES, LONG
from llmserve_lab.engine import Request
from llmserve_lab.running_example import ANSWER, PROMPT, model

MOST_REQUESTS = 10**6
LETTERS = "ABCDEF"
FOUR = ((0.0, 200), (0.0, 1000), (2.0, 250), (2.3, 300))  # arrival in s, answer
LONG_ANSWER = 800  # tokens of each answer beside the long one: enough to see it out
BEHIND_S, SHORT = 0.1, 100  # a short prompt comes so long after the long one
LONGEST = 4000  # tokens of an answer in the crowd


def numbered(sizes: Iterable[tuple[float, int, int]]) -> list[Request]:
    """Requests of these arrivals in s, prompts and answers in tokens; ids from 0 on."""
    return [
        Request(arrival_s=arrival, prompt_len=prompt, output_len=answer, id=number)
        for number, (arrival, prompt, answer) in enumerate(sizes)
    ]


def four() -> list[Request]:
    """A and B arrive together, C and D a little later; B wants by far the most."""
    return numbered((arrival, PROMPT, answer) for arrival, answer in FOUR)


def beside_a_book(
    *, prompt_len: int = LONG, n_decodes: int = DECODES, short: bool = False
) -> list[Request]:
    """Requests that write their answers until a long prompt arrives.

    With ``short``, a prompt of a hundred tokens comes just behind the long one.

    Raises:
        ValueError: the long prompt exceeds the model's maximum context.
    """
    model().require_context(prompt_len + 10)
    whole(of="request", first=0, most=MOST_REQUESTS, n_decodes=n_decodes)
    sizes = [(0.0, PROMPT, LONG_ANSWER)] * n_decodes
    sizes.append((BOOK_ARRIVES_S, prompt_len, 10))
    if short:
        sizes.append((BOOK_ARRIVES_S + BEHIND_S, SHORT, 10))
    return numbered(sizes)


def crowd(*, per_s: float, num_requests: int = 800, seed: int = 0) -> list[Request]:
    """Requests that arrive at random, ``per_s`` on average; answers of unlike length.

    Gaps between arrivals are exponential (a Poisson process), stretched so that the
    rate is ``per_s`` exactly. Lengths of answers are the quantiles of the geometric
    distribution with the running example's mean, none above ``LONGEST``, in random
    order, so that they ask for what they should in a short run, too.

    Raises:
        ValueError: the rate is not positive, or there is no request.
    """
    positive("per_s", per_s)
    whole(of="request", most=MOST_REQUESTS, num_requests=num_requests)
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / per_s, num_requests))
    arrivals *= num_requests / per_s / arrivals[-1]
    answers = np.minimum(_geometric(num_requests), LONGEST)
    rng.shuffle(answers)
    return [
        Request(arrival_s=float(t), prompt_len=PROMPT, output_len=int(u), id=number)
        for number, (t, u) in enumerate(zip(arrivals, answers, strict=True))
    ]


def _geometric(count: int) -> np.ndarray:
    """Quantiles of the geometric lengths in equal steps of probability, [count]."""
    shares = (np.arange(count) + 0.5) / count
    lengths: np.ndarray = np.ceil(np.log1p(-shares) / np.log1p(-1 / ANSWER))
    return lengths.astype(int)


def short_of_blocks() -> list[Request]:
    """Three requests for a cache that holds two of them only while they are short."""
    return numbered([(0.0, 40, 50), (0.0, 40, 70), (0.05, 40, 8)])
