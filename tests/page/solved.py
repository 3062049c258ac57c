"""Answers, and the wrong numbers of hints, from the numbers that a prompt states."""

from collections.abc import Callable
from math import ceil, exp
from operator import mul

import numpy as np

from llmserve_lab.engine import IterationLoad
from llmserve_lab.running_example import cost

Found = Callable[..., list[float]]


def ratio(batch: float, prompt: float, answer: float, wire: float = 0.0) -> float:
    """Attention machines that take as long as an FFN, and the wire where it counts."""
    attention = 0.00165 * batch * (prompt + answer) + 50
    return (attention - wire - 100) / (0.083 * batch)


def fits(decodes: float, cached: float, far: float, most_s: float) -> list[float]:
    load = IterationLoad.of(chunk=1, context=int(cached)).times(int(decodes))
    return [cost().chunk_within(most_s, load=load, context=at) for at in (int(far), 0)]


def sums(*scores: float) -> list[float]:
    """The running sum; without rescaling; of the second tile alone."""
    tops = [max(scores[:2]), max(scores)]
    first, second = (
        sum(exp(each - top) for each in tile)
        for tile, top in zip((scores[:2], scores[2:]), tops, strict=True)
    )
    return [first * exp(tops[0] - tops[1]) + second, first + second, second]


def made_up(*each: float) -> list[float]:
    made, true = np.array(each[:8:2]), np.array(each[1:8:2])
    off = made / true - 1
    whole = np.abs(made - true).sum() / true.sum()
    return [float(np.abs(off).mean()), float(off.mean()), float(whole)]


def planned(*each: float) -> list[float]:
    """GPUs at the end of the band, by each way to take the error, and servers."""
    token, clients, _, short, long, first, answer, gpus, rate = each
    times = [token / (1 - short), token * (1 + long), token * (1 + short)]
    servers = [
        ceil(rate / (clients * answer / (first + (answer - 1) * each)))
        for each in (*times, token / (1 + long))
    ]
    return [*(gpus * each for each in servers), servers[0]]


def ran(*each: float) -> list[float]:
    clients, first, whole, calm_clients, calm_first, again = each
    waited = (first - calm_first) / whole
    return [clients * (1 - waited), again * waited, calm_clients]


# Answers, and what hints are told to, from the numbers of the prompt.
FOUND: dict[str, Found] = {
    "afd.best-ratio": lambda prompt, answer, batch: [ratio(batch, prompt, answer)],
    "afd.loop": lambda batch, prompt, row, fixed: [
        ratio(batch, prompt, 500, wire=1e6 * (row * batch + fixed)),
        ratio(batch, prompt, 500),
    ],
    "continuous-batching.chunk-fits": fits,
    "flash-attention.running-sum": sums,
    "how-wrong.mape": made_up,
    "how-wrong.interval": planned,
    "speculative.common": lambda *p: [
        sum(map(min, p[:3], p[3:])), sum(map(mul, p[:3], p[3:])),
        1 - sum(map(min, p[:3], p[3:])),
    ],
    "symptoms.ran": ran,
    "symptoms.slots": lambda blocks, size, prompt, answer: [
        blocks // ceil((prompt + answer) / size), blocks * size // prompt,
        blocks / (prompt + answer),
    ],
}  # fmt: skip
