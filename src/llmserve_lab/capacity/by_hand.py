"""A goodput by hand: what a request takes of a GPU, and what a step leaves for it.

Under a promised mean gap of ``tpot_s`` the GPU makes one step in each such time.
Launches and the reading of the weights take their part of it at any load. What is left
is shared among the requests: each brings a prompt, which lengthens one step, and an
answer, which has its own part in every step but the first token's.

It is ``shared_time_batch`` of the chapter on disaggregation, solved for the rate and
with a prompt's time taken at one batch. Means only: arrivals at random, and nine in ten
requests in time, leave less. ``parts`` says how the times follow from a datasheet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmserve_lab import running_example
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity import pools
from llmserve_lab.capacity.deployment import hourly
from llmserve_lab.capacity.group import BLOCK
from llmserve_lab.capacity.measured import real
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.tables import UNSEEN, short
from llmserve_lab.capacity.trace import azure_hour, mean_lengths
from llmserve_lab.capacity.triangle import DEVICES, LEVEL, goodput, points
from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.data.prices import H100_OCTOBER, HOURLY
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.checks import positive
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT
from llmserve_lab.validation.room import library_bytes, requests_that_fit, slot_bytes

ANSWERS = 40  # of the step whose times are taken
STEPS = ANSWER - 1  # that a request decodes in


def answers_alone(prompt: int = PROMPT, answer: int = ANSWER) -> IterationLoad:
    """A step of answers, each at half of its length on average."""
    context = prompt + answer // 2
    return IterationLoad.of(chunk=1, context=context).times(ANSWERS)


ALONE = answers_alone()
SHARED = ALONE.plus(IterationLoad.of(chunk=PROMPT))
# Prices of one month: an H100's is known for a later one, a B200's is not.
ONE_MONTH: Mapping[str, Cited] = {**HOURLY, "h100-sxm": H100_OCTOBER}


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

    def under_way(self, tpot_s: float) -> float:
        """Requests that decode at once at that rate: rate times time (Little)."""
        return self.rate(tpot_s) * STEPS * tpot_s

    def first_s(self, tpot_s: float) -> float:
        """Bound of TTFT where no prompt waits: the step under way, then its own.

        A step without a prompt is shorter than the promised mean gap.
        """
        return 2 * (tpot_s + self.prompt_s)


def times_of(device: str) -> RequestTimes:
    """Times of the usual request of the book's model on a kind of GPU."""
    return priced(device, pools.cost_of(device))


def priced(
    device: str, cost: IterationCost, prompt: int = PROMPT, answer: int = ANSWER
) -> RequestTimes:
    """The same three times, of iterations that cost so much."""
    fixed_s = cost.overhead_s + cost.weights_s
    alone = answers_alone(prompt, answer)
    alone_s = cost.seconds(alone)
    shared_s = cost.seconds(alone.plus(IterationLoad.of(chunk=prompt)))
    each_s = (alone_s - fixed_s) / ANSWERS
    return RequestTimes(device, fixed_s, shared_s - alone_s, (answer - 1) * each_s)


def recorded_rate(device: str = pools.H100) -> float:
    """The sum for requests as long as the recorded ones on average, p90 as usual's.

    Neither bursts nor the spread of the lengths are in it.
    """
    prompt, answer = map(round, mean_lengths(azure_hour()))
    return p90_rate(priced(device, pools.cost_of(device), prompt, answer))


def room(device: str) -> int:
    """Usual requests that fit beside the weights, by the rule of all pages."""
    cost = pools.cost_of(device)
    blocks = -(-(PROMPT + ANSWER) // BLOCK)
    return requests_that_fit(
        float(MEMORY_SHARE) * cost.hbm_bytes - cost.weight_bytes,
        request_bytes=blocks * BLOCK * cost.kv_bytes_per_token,
        vocab=running_example.model().vocab,
    )


def working() -> tuple[float, float]:
    """Bytes that libraries take of a GPU, and working space of each slot."""
    return library_bytes(), slot_bytes(running_example.model().vocab)


def engine_rate(device: str) -> float:
    """Goodput of the same GPU in the engine, under the promise of the page."""
    return goodput(points(device=device), LEVEL.ttft_s, LEVEL.tpot_s)


def rent(device: str, rate: float, off: float = 0.0) -> float:
    """Dollars an hour for a rate, if the engine's goodputs are off by a share."""
    one = real(round(engine_rate(device), 1), off)
    return int(f.N_REPLICAS(peak_rate=rate, replica_rate=one)) * hourly(device)


def over_mean(device: str) -> float:
    """TPOT of nine in ten over the mean TPOT at the goodput of a GPU, as recorded."""
    return float(recorded()["levers"]["p90 over mean"][device])


def p90_rate(one: RequestTimes) -> float:
    """Requests per second with the TPOT of nine in ten, not the mean, at the target."""
    return one.rate(LEVEL.tpot_s / over_mean(one.device))


def table(rate: float) -> Table:
    """Table of the sum for each kind of GPU, cheapest first."""
    found = []
    for device in DEVICES:
        one = times_of(device)
        many = int(f.N_REPLICAS(peak_rate=rate, replica_rate=p90_rate(one)))
        found.append((many * hourly(device, ONE_MONTH), many, one))
    rows = [
        (
            short(one.device),
            *(f"{1e3 * s:.1f}" for s in (one.fixed_s, one.prompt_s, one.answer_s)),
            f"{one.rate(LEVEL.tpot_s):.1f}",
            f"{over_mean(one.device):.2f}",
            f"{p90_rate(one):.1f}",
            f"{engine_rate(one.device):.1f}",
            f"{many}",
            f"{usd:.2f}",
        )
        for usd, many, one in sorted(found, key=lambda each: each[0])
    ]
    times = ("fixed, ms", "prompt, ms", "answer, ms")
    rates = ("mean, /s", "over mean", "p90, /s", "engine, /s")
    columns = ("GPU", *times, *rates, "GPUs", "$/hour")
    caption = (
        f"By hand for {rate:.0f} requests/s, cheapest first: times; requests/s of one "
        "GPU if the mean TPOT keeps the target, and if its p90 does; beside it the "
        "simulated goodput; GPUs by the p90, at October's prices"
    )
    return Table(caption, columns, rows, band=UNSEEN)
