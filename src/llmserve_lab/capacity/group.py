"""One server of a plan: an engine on a tensor-parallel group, and what limits it.

It reads at most one prompt a step, whole, as in the formulas of the chapter on
disaggregation, and is priced by the engine's iterations, fitted to servers: the mean
gap is ``shared_gap_s``, requests in flight are rate × time (Little), and a prompt waits
as in an M/D/1 queue, ``fixed_queue_s``, and for half of the step that runs when it
comes. Promises are on means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.tables import WAITED
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.checks import positive
from llmserve_lab.engine import IterationCost
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.validation import Setting, band
from llmserve_lab.validation.room import requests_that_fit, working_bytes

Limit = Literal["TPOT", "TTFT", "memory", "prompts", "none"]
BLOCK, HALVINGS, THIRDS = 16, 60, 100


@dataclass(frozen=True)
class Operating:
    """A server with so many requests in flight on average: its times and its rate."""

    batch: float
    tpot_s: float
    wait_s: float
    ttft_s: float
    rate: float


@dataclass(frozen=True)
class Group:
    """A server on one tensor-parallel group: what fits and what it carries.

    ``setting`` is that of the error bands, whose number of clients it leaves open.
    """

    tp: int
    asked: ServerDemand
    cost: IterationCost
    setting: Setting
    vocab: int

    @property
    def weight_bytes(self) -> float:
        """Weights on all GPUs of the group."""
        return self.cost.weight_bytes

    @property
    def left_bytes(self) -> float:
        """What the weights leave of the engine's share of the memory, on each GPU."""
        usable_bytes = float(MEMORY_SHARE) * self.cost.hbm_bytes
        return (usable_bytes - self.weight_bytes) / self.tp

    @property
    def block_bytes(self) -> float:
        """A block of the cache on all GPUs, copies of KV heads included."""
        return BLOCK * self.cost.kv_bytes_per_token * self.cost.kv_copies

    @property
    def working_bytes(self) -> float:
        """Working space on all GPUs, with a slot on each for all requests that fit."""
        slots = max(1, self.fits)
        return self.tp * working_bytes(slots, vocab=self.vocab, n_gpus=self.tp)

    @property
    def room_bytes(self) -> float:
        """What is left for the cache beside the weights and the working space."""
        return max(0.0, self.left_bytes * self.tp - self.working_bytes)

    @property
    def blocks(self) -> int:
        """Blocks of the cache, one at least: it is asked of groups that hold some."""
        return max(1, int(self.room_bytes / self.block_bytes))

    @property
    def fits(self) -> int:
        """Requests with room for all their tokens, a slot and working space for each.

        By the rule of all pages.
        """
        blocks = -(-self.asked.length // BLOCK)
        return requests_that_fit(
            self.left_bytes,
            request_bytes=blocks * self.block_bytes / self.tp,
            vocab=self.vocab,
            n_gpus=self.tp,
        )

    @property
    def alone_ttft_s(self) -> float:
        """Time of a prompt that waits for nothing."""
        return self.cost.seconds(self.asked.reading)

    @property
    def alone_tpot_s(self) -> float:
        """Mean step of an answer that is alone."""
        return self.cost.seconds(self.asked.decodes(1))

    def at(self, batch: float) -> Operating:
        """What the server does with so many requests in flight."""
        cost, asked = self.cost, self.asked
        decodes = asked.decodes(max(1.0, batch))  # whoever decodes is there
        step_s = cost.seconds(decodes)
        with_prompt_s = cost.seconds(decodes.plus(asked.reading))
        # Each answer brings one prompt, which rides in one of its steps.
        gap_s = step_s + batch / asked.steps * (with_prompt_s - step_s)
        rate = batch / (asked.steps * gap_s)
        busy = rate * with_prompt_s
        wait_s = float("inf")
        if busy < 1 - 1e-12:
            wait_s = busy * with_prompt_s / (2 * (1 - busy)) + step_s / 2
        return Operating(batch, gap_s, wait_s, wait_s + with_prompt_s, rate)

    def breaks(self, batch: float) -> Limit:
        """Which promise so many requests in flight break, or that they do not fit."""
        at = self.at(batch)
        if at.tpot_s > self.asked.tpot_s:
            return "TPOT"
        if at.ttft_s > self.asked.ttft_s:
            return "TTFT"
        return "memory" if batch > self.fits else "none"

    @property
    def _least(self) -> float:
        """Fewest requests in flight that are tried; below one for a short answer."""
        return min(1.0, self.asked.steps / 1e3)

    @cached_property
    def best(self) -> Operating | None:
        """The largest rate within the promises; None where one request breaks them."""
        if self.breaks(self._least) != "none":
            return None
        low, high = self._least, float(max(self.fits, self.asked.steps)) + 1
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._keeps(middle) else (low, middle)
        return self.at(self._peak(low))

    @cached_property
    def limit(self) -> Limit:
        """What keeps the server from carrying more."""
        if self.best is None:
            return self.breaks(self._least)
        beyond = self.breaks(self.best.batch * (1 + 1e-9) + 1e-9)
        return "prompts" if beyond == "none" else beyond

    @property
    def batch(self) -> int:
        """Requests in flight that keep the promises, whole ones; 1 if below one."""
        return max(1, int(self.best.batch + 1e-6)) if self.best else 0

    def at_rate(self, rate: float) -> Operating:
        """What the server does at a rate that it carries.

        Raises:
            ValueError: it does not.
        """
        best = self.best
        if best is None or not 0 < rate <= best.rate * (1 + 1e-9):
            most = f"{self.carried_by_one:g}"
            raise ValueError(f"rate must be above 0 and at most {most}, got {rate:g}")
        low, high = 0.0, best.batch
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.at(middle).rate > rate else (middle, high)
        return self.at(high)

    def servers(self, rate: float) -> int:
        """Servers that a rate takes, by ``n_replicas``; 0 where one request breaks it.

        Raises:
            ValueError: the rate is not positive.
        """
        positive("rate", rate)
        if self.best is None:
            return 0
        return int(f.N_REPLICAS(peak_rate=rate, replica_rate=self.best.rate))

    @cached_property
    def replicas(self) -> int:
        """Servers for the rate that is asked for; one where none is."""
        return self.servers(self.asked.rate) if self.asked.rate else 1

    @property
    def gpus(self) -> int:
        """GPUs of all servers."""
        return self.replicas * self.tp

    @property
    def carried_by_one(self) -> float:
        """Requests per second that one server carries at most."""
        return self.best.rate if self.best else 0.0

    @property
    def carried(self) -> float:
        """Requests per second that all servers carry at most."""
        return self.replicas * self.carried_by_one

    @property
    def replicas_within(self) -> tuple[int, int] | None:
        """Fewest and most servers if the rate errs as others did; None: unmeasured."""
        rate, errors = self.asked.rate, self.rate_band
        if self.best is None or rate is None or not isinstance(errors, Band):
            return None
        low, high = errors.around(self.best.rate)
        few, many = (f.N_REPLICAS(peak_rate=rate, replica_rate=x) for x in (high, low))
        return int(few), int(many)

    @cached_property
    def planned(self) -> Operating | None:
        """What one of the servers does at its part of the rate."""
        if self.best is None or self.asked.rate is None:
            return self.best
        return self.at_rate(self.asked.rate / self.replicas)

    @property
    def queued(self) -> Operating | None:
        """``planned``, if only the prompts before it make a request wait.

        None where memory is the limit: there it waits for room, which is not counted.
        """
        return None if self.limit == "memory" else self.planned

    @property
    def gpu_rate(self) -> float:
        """Requests per second that each GPU carries at best."""
        return self.carried_by_one / self.tp

    def alone_band(self, kind: Literal["ttft", "tpot"]) -> Band | Unmeasured:
        """Error band of a time of a request that is alone."""
        return band(kind, self.setting)

    @property
    def tpot_band(self) -> Band | Unmeasured:
        """Error band of the TPOT."""
        return band("tpot", self._measured_like(self.planned))

    @property
    def rate_band(self) -> Band | Unmeasured:
        """Error band of the rate, as that of tokens per second of as many clients."""
        return band("tokens_per_s", self._measured_like(self.best))

    @property
    def ttft_band(self) -> Band | Unmeasured:
        """Waiting at random arrivals was measured nowhere."""
        return WAITED

    def _keeps(self, batch: float) -> bool:
        return self.breaks(batch) == "none"

    def _peak(self, most: float) -> float:
        """The batch of the largest rate up to ``most``: beyond it, prompts slow all."""
        low, high = 0.0, most
        for _ in range(THIRDS):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if self.at(left).rate < self.at(right).rate:
                low = left
            else:
                high = right
        return most if self.at(most).rate >= self.at(low).rate else low

    def _measured_like(self, at: Operating | None) -> Setting:
        clients = max(1, round(at.batch)) if at else 1
        return replace(self.setting, clients=clients)
