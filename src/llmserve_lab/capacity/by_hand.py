"""A goodput by hand: what a request takes of a GPU, and what a step leaves for it.

Under a promised mean gap of ``tpot_s`` the GPU makes one step in each such time.
Launches and the reading of the weights take their part of it at any load. What is left
is shared among the requests: each brings a prompt, which lengthens one step, and an
answer, which has its own part in every step but the first token's.

It is ``shared_time_batch`` of the chapter on disaggregation, solved for the rate and
with a prompt's time taken at one batch. Means only: arrivals at random, and nine in ten
requests in time, leave less.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity import pools
from llmserve_lab.capacity.deployment import HOUR_S, hourly
from llmserve_lab.capacity.measured import real
from llmserve_lab.capacity.tables import UNSEEN, short
from llmserve_lab.capacity.triangle import DEVICES, LEVEL, goodput, points
from llmserve_lab.checks import positive
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT

ANSWERS = 40  # of the step whose times are taken
ALONE = IterationLoad.of(chunk=1, context=PROMPT + ANSWER // 2).times(ANSWERS)
SHARED = ALONE.plus(IterationLoad.of(chunk=PROMPT))


@dataclass(frozen=True)
class RequestTimes:
    """Seconds of a GPU: fixed in each step, for a prompt, for a whole answer."""

    device: str
    fixed_s: float
    prompt_s: float
    answer_s: float

    def rate(self, tpot_s: float) -> float:
        """Requests per second under a promised mean gap; 0 where a step is longer."""
        positive("tpot_s", tpot_s)
        left = max(0.0, 1 - self.fixed_s / tpot_s)
        return left / (self.prompt_s + self.answer_s)

    def replicas(self, rate: float, tpot_s: float) -> int:
        """GPUs that a rate takes by this sum."""
        return int(f.N_REPLICAS(peak_rate=rate, replica_rate=self.rate(tpot_s)))


def times_of(device: str) -> RequestTimes:
    """Times of the usual request of the book's model on a kind of GPU."""
    cost = pools.cost_of(device)
    fixed_s = cost.overhead_s + cost.weights_s
    alone_s, shared_s = cost.seconds(ALONE), cost.seconds(SHARED)
    each_s = (alone_s - fixed_s) / ANSWERS
    return RequestTimes(device, fixed_s, shared_s - alone_s, (ANSWER - 1) * each_s)


def engine_rate(device: str) -> float:
    """Goodput of the same GPU in the engine, under the promise of the page."""
    return goodput(points(device=device), LEVEL.ttft_s, LEVEL.tpot_s)


def both_rates(device: str) -> tuple[float, float]:
    """Requests per second of a GPU in the engine and by the sum."""
    return engine_rate(device), times_of(device).rate(LEVEL.tpot_s)


def rent(device: str, rate: float, off: float = 0.0) -> float:
    """Dollars an hour for a rate, if the engine's goodputs are off by a share."""
    one = real(round(engine_rate(device), 1), off)
    return int(f.N_REPLICAS(peak_rate=rate, replica_rate=one)) * hourly(device)


def table(rate: float) -> Table:
    """Table of the sum for each kind of GPU, cheapest first, and the engine beside."""
    found = []
    for device in DEVICES:
        one = times_of(device)
        many = one.replicas(rate, LEVEL.tpot_s)
        found.append((many * hourly(device), many, one))
    rows = [
        (
            short(one.device),
            *(f"{1e3 * s:.1f}" for s in (one.fixed_s, one.prompt_s, one.answer_s)),
            f"{one.rate(LEVEL.tpot_s):.1f}",
            f"{many}",
            f"{usd:.2f}",
            f"{usd / (rate * HOUR_S * ANSWER) * 1e6:.2f}",
            f"{engine_rate(one.device):.1f}",
        )
        for usd, many, one in sorted(found, key=lambda each: each[0])
    ]
    columns = (
        "GPU",
        "fixed, ms",
        "prompt, ms",
        "answer, ms",
        "requests/s",
        "GPUs",
        "$/hour",
        "$/Mtoken",
        "engine: requests/s",
    )
    caption = (
        f"The sum for {rate:.0f} requests/s, cheapest first (dollars for a million "
        "tokens of answers), and beside it the engine's goodput of one GPU"
    )
    return Table(caption, columns, rows, band=UNSEEN)
