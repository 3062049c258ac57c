"""From a prediction and its band to a number of GPUs, under a promise to the users.

The example's server with 4 to 64 clients: what is predicted, the worst end of the band,
the most clients that still keep the promise there, and servers for the tokens asked.
Predictions and bands are as if no row of that server had been measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, expm1

import numpy as np

from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.record import chosen
from llmserve_lab.validation import Band, MeasuredRow, Setting
from llmserve_lab.validation.bands import (
    TIMES,
    Predicted,
    half_width,
    logs,
    nearest,
    stretch,
)
from llmserve_lab.validation.prediction import Kind

TPOT_S, TTFT_S = 0.020, 1.0  # promised: the longest mean times that users are given
ASKED_PER_S = 40_000.0  # output tokens that all users together ask for, per second


@dataclass(frozen=True)
class PlannedLoad:
    """A server with so many clients: mean times and rate, predicted and at the end.

    The end of a band is where the server is worst: longest times, lowest rate.
    """

    clients: int
    tpot_s: float
    longest_tpot_s: float
    ttft_s: float
    longest_ttft_s: float
    longest_e2e_s: float
    answer_len: float
    tokens_per_s: float
    fewest_per_s: float
    measured_per_s: float
    measured_tpot_s: float

    @property
    def keeps(self) -> bool:
        """Whether both promises are kept at the worse ends."""
        return self.longest_tpot_s <= TPOT_S and self.longest_ttft_s <= TTFT_S

    @property
    def hopes(self) -> bool:
        """Whether the predictions alone keep them."""
        return self.tpot_s <= TPOT_S and self.ttft_s <= TTFT_S


@cache
def loads() -> tuple[PlannedLoad, ...]:
    """The example's rows as a planner would see them."""
    rows = example.predictor()
    times, measured = rows.predict(example.unseen()), rows.measured
    found = []
    for place, row in enumerate(example.rows()):
        answer_len = float(rows.exposures[place].output_len)
        tokens = row.clients * answer_len
        tpot_s, ttft_s, e2e_s = (
            float(each[place]) for each in (times.tpot, times.ttft, times.e2e)
        )
        found.append(
            PlannedLoad(
                row.clients,
                tpot_s,
                error_band("tpot", row).around(tpot_s)[1],
                ttft_s,
                error_band("ttft", row).around(ttft_s)[1],
                error_band("e2e", row).around(e2e_s)[1],
                answer_len,
                tokens / e2e_s,
                error_band("tokens_per_s", row).around(tokens / e2e_s)[0],
                tokens / float(measured.e2e[place]),
                row.tpot_s,
            )
        )
    return tuple(found)


@cache
def error_band(kind: Predicted, row: MeasuredRow) -> Band:
    """The band that a setting would get if its own server had never been measured.

    As :func:`llmserve_lab.validation.band`, from the nearest rows of other servers.
    """
    rows, error = chosen(TIMES[kind], "model")
    other = np.array([each.server != row.server for each in rows])
    rows = tuple(each for each in rows if each.server != row.server)
    numbers = np.array([logs(Setting.of(each)) for each in rows])
    near = nearest(rows, numbers, Setting.of(row))
    half = stretch(TIMES[kind]) * half_width(error[other][near])
    found = Band(expm1(-half), expm1(half), "rows of other servers", len(near))
    return found.inverse() if kind.endswith("_per_s") else found


def power(kind: Kind) -> float:
    """The power to which the factor of the nearest errors is raised in a band."""
    return stretch(kind)


def hoped() -> PlannedLoad:
    """The most clients with which the predictions alone keep the promises."""
    return [each for each in loads() if each.hopes][-1]


def planned() -> PlannedLoad:
    """The most clients with which the worse ends keep them."""
    return [each for each in loads() if each.keeps][-1]


def servers(per_s: float) -> int:
    """Servers for all the tokens that are asked for."""
    return ceil(ASKED_PER_S / per_s)
