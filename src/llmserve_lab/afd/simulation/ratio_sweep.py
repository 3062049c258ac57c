"""Ratio sweep with common random numbers: small bundles cut out of one large set.

With R instances simulated, a bundle of r can be made of them ⌊R/r⌋ times without using
any twice. The recursion is that of ``simulation.pipeline``, all bundles of all
sizes side by side, so that a curve over r costs hardly more than its last point.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from llmserve_lab.afd.simulation.bundle import Bundle, Load
from llmserve_lab.afd.simulation.length_distributions import Floats, Ints
from llmserve_lab.afd.simulation.pipeline import itself, max_plus
from llmserve_lab.afd.simulation.slots import fill
from llmserve_lab.checks import whole, whole_number

MOST_RATIO, MOST_STEPS = 1_024, 10**6
SOME = 0.1  # requests per slot: below, a run is one look at its loads


@dataclass(frozen=True)
class Groups:
    """The bundles: which instances are in each, one after the other in one row."""

    most: int

    @cached_property
    def sizes(self) -> Ints:
        """Instances of each bundle."""
        each = [[r] * (self.most // r) for r in range(1, self.most + 1)]
        return np.array([r for sizes in each for r in sizes])

    @cached_property
    def starts(self) -> Ints:
        """Where each bundle begins in the row."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def owner(self) -> Ints:
        """The bundle of each place in the row."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @cached_property
    def members(self) -> Ints:
        """The instance at each place in the row."""
        # Whole bundles only: what R/r leaves over is in none of size r.
        each = [range(self.most // r * r) for r in range(1, self.most + 1)]
        return np.array([i for members in each for i in members])

    def slowest(self, times: Floats) -> Floats:
        """Largest time in each bundle, of times in the row: that of its straggler."""
        found: Floats = np.maximum.reduceat(times, self.starts)
        return found

    def spread(self, times: Floats) -> Floats:
        """The time of each bundle at every place that it has in the row."""
        return times[self.owner]

    def by_ratio(self, values: Floats) -> Floats:
        """Mean over the bundles of each size, for sizes from 1 to the most."""
        total = np.bincount(self.sizes, values)[1:]
        return np.asarray(total / np.bincount(self.sizes)[1:])


@dataclass(frozen=True, eq=False)
class Ladder:
    """What each whole ratio from 1 on comes to in steady state, arrays over ratios.

    ``tokens_per_s`` is slots times steps, the paper's (6), as that of
    :class:`~llmserve_lab.afd.simulation.run.BundleRun`.
    """

    ratios: Ints
    period_s: Floats
    tokens_per_s: Floats
    idle_attn: Floats
    idle_ffn: Floats


@lru_cache(maxsize=64)
def ladder(bundle: Bundle, load: Load, *, most: int, seed: int) -> Ladder:
    """Simulate 1A–1F to (``most``)A–1F of one kind of bundle, in steady state.

    As long as it takes for about ``load.n_requests`` requests to complete on an
    instance. Starts from a steady state, whatever ``load.start`` says. Warns where so
    few complete that loads hardly change.

    Raises:
        ValueError: ``most`` is below 1, or the bundle has more than one FFN instance.
    """
    _check(bundle, load, most)
    m, groups = bundle.n_batches, Groups(most)
    each = load.law.slot(load.steps).steps / (bundle.batch * m)
    # Ten more than requests need: the first five rounds are thrown away as start-up.
    n_steps = 10 + int(load.n_requests * each)
    attn_s = attention_s(bundle, load, n_steps=n_steps, most=most, seed=seed)
    ratios = np.arange(1, most + 1)
    ffn_s = bundle.ffn(groups.sizes * bundle.batch)
    skip, out = 5 * m, _ends(bundle, attn_s, ffn_s, groups)
    # Two moments are all that a period takes. The steps between are computed and let
    # go one by one, or memory would grow with their number times all bundles.
    begun = next(islice(out, skip - 1, None))
    (ended,) = deque(out, maxlen=1)
    period_s = groups.by_ratio((ended - begun) / (len(attn_s) - skip))
    busy_s = groups.by_ratio(
        np.add.reduceat(attn_s[skip:].mean(axis=0)[groups.members], groups.starts)
        / groups.sizes
    )
    return Ladder(
        ratios,
        period_s,
        ratios * bundle.batch / period_s / (ratios + 1),
        1 - busy_s / period_s,
        1 - groups.by_ratio(ffn_s) / period_s,
    )


def _check(bundle: Bundle, load: Load, most: int) -> None:
    whole_number("most", most, of="instance", most=MOST_RATIO)
    if bundle.n_ffn != 1:
        raise ValueError(
            "n_ffn must be 1, for every whole ratio is a number of Attention "
            f"instances then, got {bundle.n_ffn}"
        )
    slots = bundle.batch * bundle.n_batches
    if load.n_requests < SOME * slots:
        warnings.warn(
            f"n_requests should be at least {SOME:g} for each of the {slots} slots of "
            f"an instance, or loads hardly change; got {load.n_requests}",
            stacklevel=3,
        )


def attention_s(
    bundle: Bundle, load: Load, *, n_steps: int, most: int, seed: int
) -> Floats:
    """Attention times, shape (steps of all batches, ``most`` instances), in seconds."""
    whole_number("most", most, of="instance", most=MOST_RATIO)
    whole(of="step", most=MOST_STEPS, n_steps=n_steps)
    steady, m = replace(load, start="stationary"), bundle.n_batches
    times = np.empty((n_steps, m, most))
    for batch in range(m):
        for instance in range(most):
            found = fill(
                steady,
                n_slots=bundle.batch,
                n_steps=n_steps,
                batch=batch,
                instance=instance,
                seed=seed,
            )
            times[:, batch, instance] = bundle.attn(found.load(n_steps))
    return times.reshape(n_steps * m, most)


def _ends(
    bundle: Bundle, attn_s: Floats, ffn_s: Floats, groups: Groups
) -> Iterator[Floats]:
    """When each step leaves the FFN of each bundle, one step after the other."""
    placed: Iterator[Floats] = (work[groups.members] for work in attn_s)
    options: dict[str, Any] = {"slowest": groups.slowest, "spread": groups.spread}
    if bundle.barrier == "stage":
        placed = map(groups.slowest, placed)
        options = {"slowest": itself, "spread": itself}
    m, half_s = bundle.n_batches, bundle.comm_s / 2
    return (out for *_, out in max_plus(placed, ffn_s, half_s, n_batches=m, **options))
