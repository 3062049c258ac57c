"""What the rows themselves show: pairs alike but for the engine; the cache's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from llmserve_lab.how_wrong.folds import constants_without
from llmserve_lab.how_wrong.record import chosen, row_errors
from llmserve_lab.validation import Predictor
from llmserve_lab.validation.protocol import BLOCK_TOKENS, SHORTEST, protocol_of
from llmserve_lab.validation.rows import MeasuredRow, dense_rows

ALIKE = ("model", "system", "precision", "tp", "prompt_len", "output_len", "clients")
SERVER = ("model", "system", "engine", "precision", "tp", "prompt_len", "output_len")

ENDLESS = 100.0  # times the memory of a device: more than any row asks for

LEAST_LENGTH = SHORTEST  # of a drawn prompt or answer, as a share of the nominal one


def e2e_s(row: MeasuredRow) -> float:
    """End-to-end time of an answer of nominal length, in s."""
    return row.ttft_s + row.tpot_s * (row.output_len - 1)


def pairs(one: str, other: str) -> list[tuple[MeasuredRow, MeasuredRow]]:
    """Rows of two engines that agree in all else, in the order of the rows."""
    found = dict[tuple[object, ...], dict[str, MeasuredRow]]()
    for row in dense_rows():
        key = tuple(getattr(row, name) for name in ALIKE)
        found.setdefault(key, {})[row.engine] = row
    return [(has[one], has[other]) for has in found.values() if {one, other} <= {*has}]


@dataclass(frozen=True)
class Ratios:
    """Times of one engine over those of the other: medians over ``n`` pairs."""

    n: int
    ttft: float
    tpot: float
    e2e: float


def ratios(found: Sequence[tuple[MeasuredRow, MeasuredRow]]) -> Ratios:
    """Medians of the second's time over the first's.

    Raises:
        ValueError: there is no pair.
    """
    if not found:
        raise ValueError("found must hold at least one pair, got none")
    return Ratios(
        len(found),
        median(b.ttft_s / a.ttft_s for a, b in found),
        median(b.tpot_s / a.tpot_s for a, b in found),
        median(e2e_s(b) / e2e_s(a) for a, b in found),
    )


def servers() -> list[tuple[MeasuredRow, ...]]:
    """Rows of one server and one pair of lengths, by their number of clients."""
    found = dict[tuple[object, ...], list[MeasuredRow]]()
    for row in dense_rows():
        key = tuple(getattr(row, name) for name in SERVER)
        found.setdefault(key, []).append(row)
    return [tuple(sorted(rows, key=lambda row: row.clients)) for rows in found.values()]


def fullest() -> tuple[MeasuredRow, ...]:
    """The server whose time to first token grows most from few clients to many."""
    return max(servers(), key=lambda rows: rows[-1].ttft_s / rows[0].ttft_s)


def cache_requests(row: MeasuredRow) -> float:
    """Requests at their full nominal length for which a row's cache has room."""
    tokens = protocol_of(row).kv_blocks(row) * BLOCK_TOKENS
    return tokens / (row.prompt_len + row.output_len)


def closed_loop(
    one: tuple[int, float], other: tuple[int, float]
) -> tuple[float, float]:
    """Requests that fit, and seconds of an answer, from clients and TTFT at two loads.

    (N - C) / C answers pass before a request is admitted; both loads have equal ones.
    """
    (few, short), (many, long) = one, other
    ratio = short / long
    fit = (ratio * many - few) / (ratio - 1)
    return fit, short * fit / (few - fit)


def first_tokens() -> dict[str, tuple[int, float, float]]:
    """Rows with a public protocol, with and without a queue for the cache.

    For each: how many, mean size and bias of TTFT's error with the model left out. A
    queue is where more clients send than requests fit at full length.
    """
    rows, error = chosen("ttft", "model")
    full = np.array([row.clients > cache_requests(row) for row in rows])
    return {
        name: (
            int(own.sum()),
            float(np.abs(error[own]).mean()),
            float(error[own].mean()),
        )
        for name, own in (("queue", full), ("no queue", ~full))
    }


def shifted(label: str) -> float:
    """Mean size of TTFT's error if each name of a label may have one factor of its own.

    The factor is that of its own rows, so this is in-sample; the model is left out of
    the constants. What it removes stays the same from row to row of that name.
    """
    rows, error = chosen("ttft", "model")
    logs = np.log1p(error)
    name = np.array([getattr(row, label) for row in rows])
    rest = logs.copy()
    for each in np.unique(name):
        rest[name == each] -= logs[name == each].mean()
    return float(np.abs(np.expm1(rest)).mean())


def endless(rows: Sequence[MeasuredRow]) -> list[float]:
    """TTFT of rows on servers whose cache has no end, predicted, in s.

    The constants are those fitted without the rows' model, as in the prediction beside.
    """
    reached = constants_without("model", rows[0].model)
    protocols = [replace(protocol_of(row), memory=ENDLESS) for row in rows]
    predictor = Predictor(rows, protocols=protocols)
    return [float(each) for each in predictor.predict(reached).ttft]


def full_cache() -> list[tuple[MeasuredRow, float, float]]:
    """Rows of the fullest server, their TTFT predicted, and with a cache without end.

    All by the same constants, which never saw the model.
    """
    error = row_errors("ttft", "model")
    places = {id(row): place for place, row in enumerate(dense_rows())}
    return [
        (row, row.ttft_s * (1 + float(error[places[id(row)]])), free)
        for row, free in zip(fullest(), endless(fullest()), strict=True)
    ]


BETWEEN = (36, 40, 44, 46, 48, 50, 52, 56)  # clients where the cache fills, unmeasured


def first_tokens_between() -> tuple[list[int], list[float]]:
    """Predicted TTFT of the fullest server, also between its measured clients, in s."""
    rows = fullest()
    more = [replace(rows[0], clients=clients) for clients in BETWEEN]
    asked = sorted([*rows, *more], key=lambda row: row.clients)
    reached = constants_without("model", rows[0].model)
    found = Predictor(asked).predict(reached).ttft
    return [row.clients for row in asked], [float(each) for each in found]
