"""Predicted TTFT, TPOT and end-to-end time of many rows at once, and their errors.

What the engine counted is priced for all rows together, so that a set of constants
costs milliseconds to try.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, get_args

import numpy as np

from llmserve_lab.checks import UnknownKeyError, key_of
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.exposure import (
    Exposure,
    Exposures,
    exposures_of_all,
    overlapped,
)
from llmserve_lab.validation.protocol import Protocol, protocol_of
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import Bill, Floats, bill_of, stacked

Kind = Literal["tpot", "ttft", "e2e"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, eq=False)
class Times:
    """Mean times in s, each [rows]: to the first token, per token, to the last."""

    ttft: Floats
    tpot: Floats
    e2e: Floats

    @classmethod
    def of(cls, ttft: Floats, tpot: Floats, output_len: Floats) -> Times:
        """With the end-to-end time that follows, for outputs of a mean length."""
        return cls(ttft, tpot, ttft + tpot * (output_len - 1))


class _Stacked:
    """One kind of exposure of many rows, as flat arrays."""

    def __init__(self, parts: Sequence[Exposure]) -> None:
        self.own = np.repeat(np.arange(len(parts)), [len(each.rows) for each in parts])
        self.rows = np.concatenate([each.rows for each in parts])
        self.share = np.concatenate([each.share for each in parts])
        self.pairs, self.kv_tokens, self.requests, self.prompts = (
            np.array([getattr(each, name) for each in parts])
            for name in ("pairs", "kv_tokens", "requests", "prompts")
        )
        self.iterations = np.array([each.iterations for each in parts])
        self.row_sum = np.array([each.share @ each.rows for each in parts])

    def seconds(self, has: Mapping[str, Floats], overlap: float) -> Floats:
        """Mean times of all rows; as :meth:`Exposure.seconds` of each.

        ``has`` are fields of an :class:`IterationCost`, each [rows].
        """
        reading = has["weights_s"][self.own]
        if "experts_s" in has:
            touched = 1 - has["expert_miss"][self.own] ** self.rows
            reading = reading + has["experts_s"][self.own] * touched
        computing = self.rows * has["row_s"][self.own]
        products = overlapped(computing, reading, overlap)
        seconds: Floats = (
            np.bincount(self.own, weights=self.share * products)
            + self.pairs * has["pair_s"]
            + self.kv_tokens * has["kv_token_s"]
            + self.requests * has["request_s"]
            + self.prompts * has["prompt_s"]
            + self.iterations * has["overhead_s"]
            + self.row_sum * has["collective_row_s"]
        )
        return seconds

    def contexts(self) -> Floats:
        """Iterations, each times the tokens in cache of its mean request, [rows]."""
        found: Floats = self.iterations * self.kv_tokens / self.requests
        return found


class Predictor:
    """Measured rows with what the engine counted of them, ready to be priced.

    ``protocols`` stand for the rows' own where what another one would do is asked.

    Raises:
        ValueError: there is no row.
    """

    def __init__(
        self,
        rows: Sequence[MeasuredRow],
        exposures: Sequence[Exposures] | None = None,
        *,
        protocols: Sequence[Protocol] | None = None,
    ) -> None:
        if not rows:
            raise ValueError("rows must hold at least one measured row, got none")
        self.rows = tuple(rows)
        self.protocols = tuple(
            [protocol_of(row) for row in rows] if protocols is None else protocols
        )
        self.exposures = tuple(self._counted() if exposures is None else exposures)

    def _counted(self) -> list[Exposures]:
        """What the engine counts of each row."""
        return exposures_of_all(self.rows, self.protocols)

    def subset(self, chosen: np.ndarray) -> Self:
        """The rows for which ``chosen`` [rows] is true."""
        places = np.flatnonzero(chosen)
        return type(self)(
            [self.rows[place] for place in places],
            [self.exposures[place] for place in places],
            protocols=[self.protocols[place] for place in places],
        )

    def predict(self, reached: ServingConstants) -> Times:
        """The times of all rows on a machine that reaches so much."""
        return self._times(self._bill.slopes(reached), reached)

    def _times(self, has: Mapping[str, Floats], reached: ServingConstants) -> Times:
        ttft, tpot = (part.seconds(has, reached.overlap) for part in self._parts)
        return Times.of(ttft + reached.client_s, tpot, self._output_len)

    @cached_property
    def measured(self) -> Times:
        """The times that were measured."""
        ttft, tpot = (
            np.array([getattr(row, name) for row in self.rows])
            for name in ("ttft_s", "tpot_s")
        )
        return Times.of(ttft, tpot, self._output_len)

    def label(self, name: str) -> np.ndarray:
        """A property of the rows by name (model, system, engine, group), [rows].

        Raises:
            LookupError: rows have no such property.
        """
        if not hasattr(self.rows[0], name):
            raise UnknownKeyError(f"name must be a property of a row, got {name!r}")
        return np.array([getattr(row, name) for row in self.rows])

    @cached_property
    def public(self) -> np.ndarray:
        """Which rows have a public protocol, [rows]."""
        return self.label("public")

    @cached_property
    def _output_len(self) -> Floats:
        return np.array([each.output_len for each in self.exposures])

    @cached_property
    def _bill(self) -> Bill[Floats]:
        return stacked(
            [
                bill_of(row, kv_bytes=protocol.kv_bytes)
                for row, protocol in zip(self.rows, self.protocols, strict=True)
            ]
        )

    @cached_property
    def _parts(self) -> tuple[_Stacked, _Stacked]:
        ttft = _Stacked([each.ttft for each in self.exposures])
        return ttft, _Stacked([each.tpot for each in self.exposures])


def errors(predicted: Times, measured: Times, kind: Kind) -> Floats:
    """Relative errors of one kind of time, [rows]: above 0 where predicted too long.

    Raises:
        LookupError: there is no such kind.
    """
    key_of("kind", kind, KINDS)
    error: Floats = getattr(predicted, kind) / getattr(measured, kind) - 1
    return error
