"""An hour of a real chat service: the Azure conversation trace of November 2023.

A copy lies in the package (Azure Public Dataset, CC BY 4.0): arrivals as gaps in whole
milliseconds, prompts and answers in tokens as published.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from llmserve_lab.checks import positive
from llmserve_lab.engine import Request

FILE = "data/azure_conversation_hour.csv.gz"
MINUTE_S, HOUR_S = 60.0, 3600.0
Requests = Sequence[Request]


@cache
def azure_hour() -> tuple[Request, ...]:
    """Requests of the hour, in order of arrival, ids from 0."""
    packed = files("llmserve_lab.capacity").joinpath(FILE).read_bytes()
    rows = csv.reader(io.StringIO(gzip.decompress(packed).decode("ascii")))
    next(rows)
    found, now_ms = [], 0
    for number, (gap_ms, prompt, answer) in enumerate(rows):
        now_ms += int(gap_ms)
        found.append(
            Request(
                arrival_s=now_ms / 1000,
                prompt_len=int(prompt),
                output_len=int(answer),
                id=number,
            )
        )
    return tuple(found)


def some(requests: Requests) -> Requests:
    """The requests, unless there are none.

    Raises:
        ValueError: there are none.
    """
    if not len(requests):
        raise ValueError("requests must hold at least 1 request, got none")
    return requests


def per_bin(requests: Requests, *, seconds: float = MINUTE_S) -> np.ndarray:
    """Requests that arrive in each interval of so many ``seconds``, [intervals].

    The last interval is the one with the last arrival.

    Raises:
        ValueError: there are no requests, or ``seconds`` is not positive.
    """
    positive("seconds", seconds)
    places = [int(each.arrival_s // seconds) for each in some(requests)]
    return np.bincount(places)


def mean_lengths(requests: Requests) -> tuple[float, float]:
    """Mean prompt and mean answer, in tokens.

    Raises:
        ValueError: there are no requests.
    """
    lengths = np.array([(e.prompt_len, e.output_len) for e in some(requests)], float)
    prompt, answer = lengths.mean(axis=0)
    return float(prompt), float(answer)
