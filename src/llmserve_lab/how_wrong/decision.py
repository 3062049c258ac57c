"""From a prediction and its band to a number of GPUs, under a promise to the users.

The example's server with 4 to 64 clients: what is predicted, the worst end of the band,
the most clients that still keep the promise there, and servers for the tokens asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil

from llmserve_lab.how_wrong import example
from llmserve_lab.validation import Band, MeasuredRow, Setting, achieved, band
from llmserve_lab.validation.bands import Predicted, stretch
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
    times, measured = rows.predict(achieved()), rows.measured
    found = []
    for place, row in enumerate(example.rows()):
        tokens = row.clients * rows.exposures[place].output_len
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
                tokens / e2e_s,
                error_band("tokens_per_s", row).around(tokens / e2e_s)[0],
                tokens / float(measured.e2e[place]),
                row.tpot_s,
            )
        )
    return tuple(found)


def error_band(kind: Predicted, row: MeasuredRow) -> Band:
    """The band of a row of the example.

    Raises:
        LookupError: the row has none.
    """
    found = band(kind, Setting.of(row))
    if not isinstance(found, Band):
        raise LookupError(f"row must be near to measured ones, got {row}")
    return found


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
