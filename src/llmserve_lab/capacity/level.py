"""Service level: two latency targets, and the share of requests that has to keep both.

Requests per second that keep it are the goodput, as DistServe defines it. The share is
promised of each half hour by the clock: a day has many, and the worst of them counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Literal

import numpy as np

from llmserve_lab.capacity.trace import MINUTE_S
from llmserve_lab.checks import positive
from llmserve_lab.engine import Report
from llmserve_lab.engine.metrics.percentile import percentile

Target = Literal["ttft", "tpot"]
NINE_IN_TEN = 0.9
PROMISED_S = 1800.0  # of which the share is promised, one after the other


@dataclass(frozen=True)
class ServiceLevel:
    """Time to first token and time per output token, for ``share`` of the requests.

    Raises:
        ValueError: a target is not positive, or the share is not in (0, 1].
    """

    ttft_s: float
    tpot_s: float
    share: float = NINE_IN_TEN

    def __post_init__(self) -> None:
        positive("ttft_s", self.ttft_s)
        positive("tpot_s", self.tpot_s)
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be in (0, 1], got {self.share}")

    def spare(self, num_requests: int) -> int:
        """Requests of so many that may miss a target."""
        return num_requests - ceil(self.share * num_requests - 1e-9)

    def kept(self, report: Report) -> Kept:
        """What a run kept of the level.

        Raises:
            ValueError: no request was answered.
        """
        # A share is kept where at least so many are: no time between two is made up.
        reached = partial(percentile, q=100 * self.share, method="inverted_cdf")
        return Kept(
            level=self,
            ttft=report.slo_attainment(ttft_s=self.ttft_s),
            tpot=report.slo_attainment(tpot_s=self.tpot_s),
            both=report.slo_attainment(ttft_s=self.ttft_s, tpot_s=self.tpot_s),
            nearest_ttft_s=reached(report.ttft_s),
            nearest_tpot_s=reached(_steps(report)),
        )


@dataclass(frozen=True)
class Kept:
    """Shares of requests that kept each target and both, and targets that would do."""

    level: ServiceLevel
    ttft: float
    tpot: float
    both: float
    nearest_ttft_s: float
    nearest_tpot_s: float

    @property
    def good(self) -> bool:
        """Whether enough requests kept both."""
        return self.both >= self.level.share - 1e-12

    @property
    def binds(self) -> Target:
        """The target that fewer requests kept."""
        return "ttft" if self.ttft < self.tpot else "tpot"


def worst_late(arrival_s: np.ndarray, missed: np.ndarray) -> float:
    """Largest share of late requests in a half hour; ``missed`` by minute of arrival.

    Raises:
        ValueError: there are no requests.
    """
    if not len(arrival_s):
        raise ValueError("arrival_s must hold at least 1 request, got none")
    minutes = (arrival_s // MINUTE_S).astype(int)
    come = np.bincount(minutes, minlength=len(missed))
    begin = np.arange(0, len(come), int(PROMISED_S / MINUTE_S))
    all_of_it, late = (np.add.reduceat(each, begin) for each in (come, missed))
    return float((late[all_of_it > 0] / all_of_it[all_of_it > 0]).max())


def _steps(report: Report) -> np.ndarray:
    """TPOT of each request, 0 where there is but one token, [requests]."""
    found = np.zeros(report.num_requests)
    found[report.output_len > 1] = report.tpot_s
    return found
