"""Symptom of a mixture of experts: one GPU has far more rows than the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from llmserve_lab.moe.placement import Placement, balance, contiguous, redundant
from llmserve_lab.moe.routing_sampler import draw, rows_of_experts
from llmserve_lab.moe.serving import SPEC
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.dashboard import Dashboard

EP, COPIED = 8, 32  # GPUs of the group; seats for copies of experts
STEPS = 48  # of a window
HOT = 0.25  # popularity of the hot expert; the others share the rest
BATCH, SCANT = 256, 4  # rows of a step


@dataclass(frozen=True)
class RoutedWindow:
    """A router's choices over a window of steps, and where the experts lie.

    One expert has the popularity ``hot``, all others an equal part of the rest; with
    None all are equal. ``extra`` seats hold copies of the experts that were busiest
    in the window before this one.
    """

    hot: float | None
    rows: int
    seed: int
    extra: int = 0

    def chosen(self, window: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
        """Rows of every expert [E] in each step of a window."""
        popularity = np.full(SPEC.n_experts, 1.0)
        if self.hot is not None:
            favourite = np.random.default_rng(self.seed).integers(SPEC.n_experts)
            popularity *= (1 - self.hot) / (SPEC.n_experts - 1)
            popularity[favourite] = self.hot
        first = 10_000 * self.seed + STEPS * window
        return [
            rows_of_experts(
                draw(popularity, n_rows=self.rows, top_k=SPEC.top_k, seed=first + step),
                SPEC.n_experts,
            )
            for step in range(STEPS)
        ]

    def placement(self) -> Placement:
        """Equal slices, or copies of what was busy in the window before."""
        if not self.extra:
            return contiguous(SPEC.n_experts, EP)
        return redundant(np.sum(self.chosen(0), axis=0), EP, self.extra)

    def observe(self) -> Dashboard:
        """Balancedness of every step, and of all steps of the window together."""
        counts, where = self.chosen(1), self.placement()
        loads = np.array([where.loads(each) for each in counts])
        values = {
            "balance_step": float(np.mean([balance(each) for each in loads])),
            "balance_window": balance(loads.sum(axis=0)),
        }
        return Dashboard(MappingProxyType(values))


def _rows(many: int) -> Callable[[Watchable], Watchable]:
    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, RoutedWindow)
        return replace(setup, rows=many)

    return change


def _copies(setup: Watchable) -> Watchable:
    assert isinstance(setup, RoutedWindow)
    return replace(setup, extra=COPIED)


DOUBLED = "hold copies of busy experts"
LARGER = "a larger batch"
EXPERT = Symptom(
    key="hot-expert",
    title="One hot expert",
    symptom="In each iteration one GPU has far more rows than the mean; all wait.",
    alarm=Sign("balance_step", most=0.7),
    goal="balance_step",
    rising=True,
    question="Are the rows balanced over many steps together?",
    machine=f"DeepSeek-V3's router, {SPEC.n_experts} experts on {EP} GPUs",
    healthy=lambda seed: RoutedWindow(None, BATCH, seed),
    healthy_load=f"{BATCH} rows an iteration, experts equally popular",
    causes=(
        Cause(
            "one expert that nearly all choose",
            f"{BATCH} rows an iteration, one expert with a quarter of the popularity",
            lambda seed: RoutedWindow(HOT, BATCH, seed),
            (Sign("balance_window", most=0.75),),
            (
                Remedy(DOUBLED, True, _copies, "mixture_of_experts", "--enable-eplb"),
                Remedy(LARGER, False, _rows(2 * BATCH), "mixture_of_experts"),
            ),
        ),
        Cause(
            "few rows in an iteration",
            f"{SCANT} rows an iteration, experts equally popular",
            lambda seed: RoutedWindow(None, SCANT, seed),
            (Sign("balance_window", least=0.75),),
            (
                Remedy(LARGER, True, _rows(64), "mixture_of_experts"),
                Remedy(DOUBLED, False, _copies, "mixture_of_experts", "--enable-eplb"),
            ),
        ),
    ),
)
