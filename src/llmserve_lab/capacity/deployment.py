"""Candidate deployment: so many replicas of a model, each on a group of like GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.checks import UnknownKeyError, whole
from llmserve_lab.engine import Chunked, IterationCost, Pool

HOUR_S = 3600.0
Prices = Mapping[str, Cited | float]


def hourly(device: str, prices: Prices = HOURLY) -> float:
    """Dollars an hour of one GPU.

    Raises:
        KeyError: the GPU has no price.
        ValueError: its price is below zero.
    """
    if device not in prices:
        raise UnknownKeyError(
            f"prices must name {device}, got only {', '.join(prices)}"
        )
    return not_below_zero(float(prices[device]))


def not_below_zero(price: float) -> float:
    """A price, unless it is below zero.

    Raises:
        ValueError: it is below zero or not a number.
    """
    if not price >= 0:
        raise ValueError(f"price must be at least 0 dollars an hour, got {price}")
    return price


@dataclass(frozen=True)
class Candidate:
    """``replicas`` of a model under chunked prefill, each on ``tp`` GPUs.

    ``rows`` is the budget of an iteration (vLLM: ``max_num_batched_tokens``).

    Raises:
        LookupError: the catalog does not know the model or the GPU.
        ValueError: a count is below 1.
    """

    device: str
    tp: int
    replicas: int
    rows: int
    model: str = "llama-3.1-70b"

    def __post_init__(self) -> None:
        whole(tp=self.tp, replicas=self.replicas, rows=self.rows)
        catalog.accelerator(self.device)
        catalog.model(self.model)

    @property
    def num_gpus(self) -> int:
        """GPUs of all replicas."""
        return self.tp * self.replicas

    def with_spare(self, number: int = 1) -> Candidate:
        """The same with so many replicas more."""
        return replace(self, replicas=self.replicas + number) if number else self

    def dollars_per_hour(self, prices: Prices = HOURLY) -> float:
        """What it costs while it stands, busy or not."""
        return self.num_gpus * hourly(self.device, prices)

    @cached_property
    def cost(self) -> IterationCost:
        """An iteration of one replica, fitted to servers."""
        gpu = catalog.accelerator(self.device)
        return running_example.served_by(catalog.model(self.model), gpu, tp=self.tp)

    @property
    def pool(self) -> Pool:
        """The deployment as the engine runs it."""
        return Pool(self.cost, Chunked(self.rows), replicas=self.replicas)

    def __str__(self) -> str:
        name = catalog.accelerator(self.device).name
        return f"{self.replicas} × {self.tp} {name}, {self.rows:,} tokens a step"


def grid(
    *,
    devices: Iterable[str] = tuple(HOURLY),
    tps: Iterable[int] = (1, 2, 4, 8),
    replicas: Iterable[int] = range(1, 10),
    rows: Iterable[int] = (512, 2048),
    model: str = "llama-3.1-70b",
) -> tuple[Candidate, ...]:
    """Every combination, in a fixed order."""
    several, budgets, groups = tuple(replicas), tuple(rows), tuple(tps)
    return tuple(
        Candidate(device, tp, count, budget, model)
        for device in devices
        for tp in groups
        for count in several
        for budget in budgets
    )
