"""What an average TTFT or TPOT of a row consists of, counted by the engine once.

In a closed loop without thinking time, a request is sent when another is answered. So
the order of events, and what each iteration carries, does not depend on how long
iterations take: the engine runs with every iteration lasting 1, and counts. A mean time
to first token is then so many iterations, rows, pairs and tokens of cache, to be priced
by any machine, exactly and without another run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llmserve_lab.catalog.records.cache_layers import CacheLayers
from llmserve_lab.engine import IterationCost, Pool, Report, Request, simulate
from llmserve_lab.engine.metrics.iteration_record import IterationRecord
from llmserve_lab.validation.protocol import (
    BLOCK_TOKENS,
    Protocol,
    protocol_of,
    requests_of,
)
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import Floats

Counts = np.ndarray[Any, np.dtype[np.int64]]
Recount = Callable[[tuple[IterationRecord, ...], Floats], Floats]
ONE_ITERATION = IterationCost(overhead_s=1.0)
_COUNTED: dict[tuple[object, ...], Exposures] = {}  # by what decides how it goes


@dataclass(frozen=True, eq=False)
class Exposure:
    """What lies in a mean time: iterations by their rows, and sums over them.

    ``share[i]`` iterations have ``rows[i]`` rows. ``pairs``, ``kv_tokens``,
    ``requests`` and ``prompts`` (iterations that carry one) are totals of them all.
    """

    rows: Floats
    share: Floats
    pairs: float
    kv_tokens: float
    requests: float
    prompts: float

    @property
    def iterations(self) -> float:
        """Iterations in a mean time."""
        return float(self.share.sum())

    def seconds(self, cost: IterationCost) -> float:
        """The mean time on a machine with this cost of an iteration.

        Raises:
            ValueError: attention overlaps with the products; the sums are not enough.
        """
        if not cost.attention_apart:
            raise ValueError("cost must have attention_apart, got one without")
        reading = np.array([cost.read_s(int(rows)) for rows in self.rows])
        products = overlapped(self.rows * cost.row_s, reading, cost.overlap)
        return float(
            self.share @ products
            + self.pairs * cost.pair_s
            + self.kv_tokens * cost.kv_token_s
            + self.requests * cost.request_s
            + self.prompts * cost.prompt_s
            + self.iterations * cost.fixed_s(0)
            + (self.share @ self.rows) * cost.collective_row_s
        )


@dataclass(frozen=True)
class Exposures:
    """Both of a row, and the tokens of its mean output."""

    ttft: Exposure
    tpot: Exposure
    output_len: float


def overlapped(computing: Floats, reading: Floats, overlap: float) -> Floats:
    """Seconds of products: the longer bill, and what is not hidden of the shorter."""
    longer = np.maximum(computing, reading)
    return longer + (1 - overlap) * np.minimum(computing, reading)


def exposures_of(
    row: MeasuredRow,
    *,
    protocol: Protocol | None = None,
    requests: Sequence[Request] | None = None,
    kept: CacheLayers | None = None,
    recount: Recount | None = None,
    leap: bool = True,
) -> Exposures:
    """Run the row's benchmark in the engine, and count what its means are made of.

    Another ``protocol`` or other ``requests`` than the row's own may be tried. Where
    some of the layers look through a window, as ``kept`` says, pairs and tokens of
    cache are means over the layers. How many blocks a request holds stays as it was.
    Or ``recount`` says what they are, of each record and as it would be counted else;
    without ``leap`` it has a record of each iteration.

    Raises:
        ValueError: a prompt is shorter than the window.
    """
    report = run(row, ONE_ITERATION, protocol=protocol, requests=requests, leap=leap)
    assert report.log is not None
    loads = _loads(tuple(report.log))
    if recount is not None:
        loads[:, 1:3] = recount(tuple(report.log), loads)
    if kept is not None and kept.window_layers:
        if (shortest := int(report.prompt_len.min())) < kept.window:
            raise ValueError(f"prompts must fill {kept.window} tokens, got {shortest}")
        share = kept.window_layers / kept.layers
        near = _through_window(tuple(report.log), kept.window)
        loads[:, 1:3] = (1 - share) * loads[:, 1:3] + share * near
    arrival, first, last = (
        np.rint(getattr(report, name)).astype(np.int64)
        for name in ("arrival_s", "first_token_s", "last_token_s")
    )
    tokens = report.output_len - 1
    waiting = _presence(arrival, first, np.ones(len(first)), len(loads))
    decoding = _presence(first, last, 1 / tokens, len(loads))
    mean_output = float(report.output_len.mean())
    return Exposures(_exposed(loads, waiting), _exposed(loads, decoding), mean_output)


def exposures_of_all(
    rows: Sequence[MeasuredRow],
    protocols: Sequence[Protocol],
    *,
    kept: CacheLayers | None = None,
) -> list[Exposures]:
    """The same for many rows; what the engine would do alike, it does once.

    Rows are alike by policy, requests and clients where the cache holds whatever all
    clients can have in it, or has as many blocks. What was counted is kept: the same
    rows are asked for with one of them left out, or beside others.
    """
    return [
        _COUNTED[key]
        if key in _COUNTED
        else _COUNTED.setdefault(key, exposures_of(row, protocol=p, kept=kept))
        for row, p in zip(rows, protocols, strict=True)
        for key in [(kept, *_alike(row, p))]
    ]


def _alike(row: MeasuredRow, protocol: Protocol) -> tuple[object, ...]:
    """What decides how a row's benchmark goes, iteration by iteration."""
    longest = -(-(row.prompt_len + row.output_len) // BLOCK_TOKENS) + 1
    blocks = min(protocol.kv_blocks(row), (row.clients + 1) * longest)
    return type(row), protocol.policy, *row.sent, blocks


def run(
    row: MeasuredRow,
    cost: IterationCost,
    *,
    protocol: Protocol | None = None,
    requests: Sequence[Request] | None = None,
    leap: bool = True,
) -> Report:
    """The row's benchmark in the engine: its requests, clients, policy and cache."""
    protocol = protocol_of(row) if protocol is None else protocol
    asked = requests_of(row) if requests is None else list(requests)
    pool = Pool(
        cost,
        protocol.policy,
        kv_blocks=protocol.kv_blocks(row),
        block_tokens=BLOCK_TOKENS,
    )
    return simulate(asked, pool, clients=row.clients, log=True, leap=leap)


def _loads(records: tuple[IterationRecord, ...]) -> Floats:
    """Rows, pairs, cache, requests and prompts of each iteration, [iterations, 5].

    In a span of like iterations, each decode sees one token more from one to the next;
    a chunk of c rows begins c tokens later, and its rows see c² pairs more.
    """
    count = np.array([record.count for record in records])
    first = np.array([record.load for record in records], dtype=np.float64)
    growth = np.zeros_like(first)
    for place, record in enumerate(records):
        rows = [chunk for _, chunk, _ in record.chunks]
        growth[place, 1] = record.decode_rows + sum(chunk * chunk for chunk in rows)
        growth[place, 2] = record.decode_rows + sum(rows)
    span = np.repeat(np.arange(len(count)), count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    loads: Floats = first[span] + growth[span] * step[:, None]
    return loads


def _through_window(records: tuple[IterationRecord, ...], window: int) -> Floats:
    """Pairs and tokens of cache through a window, by iteration, [iterations, 2].

    A row sees the last ``window`` tokens, itself among them. All prompts fill it, so
    that each decode does.
    """
    spans = [  # a chunk moves on with each step, and decodes see what they saw
        (record, step, 1 if record.chunks else record.count)
        for record in records
        for step in range(record.count if record.chunks else 1)
    ]
    found = np.array([_near(record, step, window) for record, step, _ in spans])
    repeated: Floats = np.repeat(found, [count for *_, count in spans], axis=0)
    return repeated


def _near(record: IterationRecord, step: int, window: int) -> tuple[float, float]:
    """Pairs and tokens of cache of one iteration through a window."""
    chunks = [(rows, before + step * rows) for _, rows, before in record.chunks]
    pairs = record.decode_rows * window
    pairs += sum(seen(rows, before, window) for rows, before in chunks)
    cached = record.decode_rows * (window - 1)
    cached += sum(min(before, window - 1) for _, before in chunks)
    return float(pairs), float(cached)


def seen(chunk: int, context: int, window: int) -> int:
    """Pairs of a chunk after so many tokens, each row with a window's at most."""
    growing = min(chunk, max(0, window - context))
    grown = growing * context + growing * (growing + 1) // 2
    return grown + (chunk - growing) * window


def _presence(begin: Counts, end: Counts, weight: Floats, size: int) -> Floats:
    """Mean over requests of their weights, in each iteration that they are in."""
    edges = np.zeros(size + 1)
    np.add.at(edges, begin, weight / len(begin))
    np.add.at(edges, end, -weight / len(begin))
    return np.cumsum(edges)[:-1]


def _exposed(loads: Floats, presence: Floats) -> Exposure:
    rows, place = np.unique(loads[:, 0], return_inverse=True)
    share = np.bincount(place, weights=presence)
    met = share > 1e-15 * share.max()
    pairs, kv_tokens, requests, _ = (float(each) for each in presence @ loads[:, 1:])
    prompts = float(presence[loads[:, 4] > 0].sum())
    return Exposure(rows[met], share[met], pairs, kv_tokens, requests, prompts)
