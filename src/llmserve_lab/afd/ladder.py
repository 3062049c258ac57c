"""Every whole ratio at once: small bundles are cut out of one large set of instances.

With R instances simulated, a bundle of r can be made of them ⌊R/r⌋ times without using
any twice. The recursion is that of :mod:`llmserve_lab.afd.pipeline`, all bundles of all
sizes side by side, so that a curve over r costs hardly more than its last point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from llmserve_lab.afd.bundle import Bundle, Load
from llmserve_lab.afd.laws import Floats, Ints
from llmserve_lab.afd.slots import fill


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
        each = [range(self.most // r * r) for r in range(1, self.most + 1)]
        return np.array([i for members in each for i in members])

    def by_ratio(self, values: Floats) -> Floats:
        """Mean over the bundles of each size, for sizes from 1 to the most."""
        total = np.bincount(self.sizes, values)[1:]
        return np.asarray(total / np.bincount(self.sizes)[1:])


@dataclass(frozen=True, eq=False)
class Ladder:
    """What each whole ratio from 1 on comes to in steady state, arrays over ratios."""

    ratios: Ints
    period_s: Floats
    tokens_per_s: Floats
    idle_attn: Floats
    idle_ffn: Floats


@lru_cache(maxsize=64)
def ladder(bundle: Bundle, load: Load, *, most: int, seed: int) -> Ladder:
    """Simulate 1A–1F to (``most``)A–1F of one kind of bundle, in steady state.

    As long as it takes for about ``load.n_requests`` requests to complete on an
    instance. Starts from a steady state, whatever ``load.start`` says.

    Raises:
        ValueError: ``most`` is below 1.
    """
    if most < 1:
        raise ValueError(f"most must be a ratio of at least 1, got {most}")
    m, groups = bundle.n_batches, Groups(most)
    each = load.law.slot(load.steps).steps / (bundle.batch * m)
    n_steps = 10 + int(load.n_requests * each)
    attn_s = attention_s(bundle, load, n_steps=n_steps, most=most, seed=seed)
    ratios = np.arange(1, most + 1)
    ffn_s = bundle.ffn(groups.sizes * bundle.batch)
    work = _together if bundle.barrier == "stage" else _alone
    out = work(attn_s, ffn_s, bundle.comm_s / 2, m, groups)
    skip = 5 * m
    period_s = groups.by_ratio((out[-1] - out[skip - 1]) / (len(out) - skip))
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


def attention_s(
    bundle: Bundle, load: Load, *, n_steps: int, most: int, seed: int
) -> Floats:
    """Attention times, shape (steps of all batches, ``most`` instances), in seconds."""
    steady, m = replace(load, start="stationary"), bundle.n_batches
    loads = np.empty((n_steps, m, most))
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
            loads[:, batch, instance] = found.load(n_steps)
    times: Floats = bundle.attn(loads.reshape(n_steps * m, most))
    return times


def _alone(
    attn_s: Floats, ffn_s: Floats, half_s: float, m: int, groups: Groups
) -> Floats:
    """Each instance moves on to the next batch as soon as it can."""
    out = np.full((m + len(attn_s), ffn_s.size), -half_s)
    free, busy = np.zeros(groups.members.size), np.zeros(ffn_s.size)
    for n, work in enumerate(attn_s):
        np.maximum(free, (out[n] + half_s)[groups.owner], out=free)
        free += work[groups.members]
        busy = np.maximum(np.maximum.reduceat(free, groups.starts) + half_s, busy)
        busy += ffn_s
        out[n + m] = busy
    return out[m:]


def _together(
    attn_s: Floats, ffn_s: Floats, half_s: float, m: int, groups: Groups
) -> Floats:
    """The stage waits for its slowest instance before it takes the next batch."""
    out = np.full((m + len(attn_s), ffn_s.size), -half_s)
    free, busy = np.zeros(ffn_s.size), np.zeros(ffn_s.size)
    for n, work in enumerate(attn_s):
        slowest = np.maximum.reduceat(work[groups.members], groups.starts)
        free = np.maximum(free, out[n] + half_s) + slowest
        busy = np.maximum(free + half_s, busy) + ffn_s
        out[n + m] = busy
    return out[m:]
