"""Quasi-static model: the pipeline's period, averaged over the stationary loads.

A load drifts over about μ_D steps, a pipeline settles in a handful. So at any moment
the bundle runs at the period ``pipeline_s`` of the loads that it has just then, and the
long run is the mean of that over the loads. What counts of them is two extremes:

- the slowest *instance*, by the mean over its m batches, sets the pace of Attention;
- the slowest *batch* on any instance sets the time of a loop.

A load is a sum over many slots, so it is nearly Gaussian; what few slots leave of their
skewness shifts its quantiles (Cornish and Fisher). The largest of n is at its quantile
u^(1/n) when it is at its own quantile u. Both extremes are taken at the same u, which
runs over the midpoints of equal parts: that is the whole rule. It is that of a steady
state; what a short run from fresh slots shows is ``theory.finite_run``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from llmserve_lab import notation as q
from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Bundle
from llmserve_lab.afd.simulation.length_distributions import Floats, SlotLaw

NODES = 64
FAR = 64  # ratios searched first
MOST_RATIOS = 10_000  # each is a row of an array


def period_s(bundle: Bundle, slot: SlotLaw, ratio: ArrayLike | None = None) -> Floats:
    """Mean time between two steps in steady state, in seconds, at one ratio or many.

    Without ``ratio`` it is the bundle's own; a ratio need not be whole.

    Raises:
        ValueError: a ratio is not positive.
    """
    given = q.af_ratio.checked(bundle.ratio if ratio is None else ratio)
    r = np.asarray(given)[..., None]
    ffn_s, m = bundle.ffn(r * bundle.batch), bundle.n_batches
    mean_s = bundle.attn(bundle.batch * slot.theta)
    empty_s = bundle.attn.intercept  # quantiles of few slots would go below no load
    instances = r * bundle.n_ffn
    # A loop waits for the worst of m batches on every instance, each with its own load.
    slowest_s = mean_s + _largest(bundle, slot, m * instances, n_batches=1)
    loop_s = f.LOOP_S(
        attn_s=np.maximum(slowest_s, empty_s),
        comm_s=bundle.comm_s,
        ffn_s=ffn_s,
        n_batches=m,
    )
    attn_s = np.maximum(mean_s + _slowest(bundle, slot, instances), empty_s)
    at = f.PIPELINE_S(attn_s=attn_s, ffn_s=ffn_s, loop_s=loop_s)
    mean: Floats = np.asarray(at).mean(axis=-1)
    return mean


def _slowest(bundle: Bundle, slot: SlotLaw, instances: Floats) -> Floats:
    """How far the slowest instance is above the mean, in seconds, quantile by quantile.

    If the stage moves on together it waits in every batch, not once in m of them.
    """
    m = bundle.n_batches
    late = _largest(bundle, slot, instances, n_batches=m)
    if bundle.barrier == "instance":
        return late
    alone = _largest(bundle, slot, instances, n_batches=1)
    # The spread is that of the mean over m batches, the level that of one batch.
    found: Floats = late + (alone - late).mean(axis=-1, keepdims=True)
    return found


def _largest(bundle: Bundle, slot: SlotLaw, n: Floats, *, n_batches: int) -> Floats:
    """Quantiles, at equal chances, of the largest of ``n`` Attention times.

    In seconds above the mean; each time is the mean of ``n_batches`` batches.
    """
    from llmserve_lab.extras import special

    if slot.variance == 0:
        return np.zeros((*n.shape[:-1], NODES))
    chances = (np.arange(NODES) + 0.5) / NODES
    # The largest of n is below x with chance F(x)^n, so its quantile u is F's at
    # u^(1/n).
    z = special.ndtri(chances ** (1 / n))
    skewness = slot.skewness / (bundle.batch * n_batches) ** 0.5
    sd_s = f.ATTN_SD_S(
        a_attn=bundle.attn.slope,
        batch=bundle.batch,
        slot_sd=slot.variance**0.5,
        n_batches=n_batches,
    )
    # Cornish and Fisher to the first order: few slots with long tails are lopsided.
    found: Floats = sd_s * (z + skewness * (z**2 - 1) / 6)
    return found


def tokens_per_s(bundle: Bundle, slot: SlotLaw, ratio: ArrayLike | None = None) -> Any:
    """Tokens per second and instance in steady state, at one ratio or at many.

    As the paper's (6) counts: one for every slot in every step. Where the last step of
    a request finds its end and writes nothing, (u − 1)/u of it are tokens, u being
    ``slot.steps``.
    """
    return f.INSTANCE_TOKENS_PER_S(
        af_ratio=bundle.ratio if ratio is None else ratio,
        batch=bundle.batch,
        cycle_s=period_s(bundle, slot, ratio),
    )


def best_ratio(bundle: Bundle, slot: SlotLaw, *, most: int | None = None) -> int:
    """The whole number of Attention instances, up to ``most``, that pays best.

    Without ``most`` the search goes on until the top is not its last ratio.

    Raises:
        ValueError: ``most`` is below 1, or above ``MOST_RATIOS``.
    """
    if most is not None and not 1 <= most <= MOST_RATIOS:
        raise ValueError(
            f"most must be a ratio of at least 1 and at most {MOST_RATIOS}, got {most}"
        )
    ratios = np.arange(1, (most or FAR) + 1)
    while True:
        best = int(ratios[np.argmax(tokens_per_s(bundle, slot, ratios))])
        if most is not None or best < ratios.size:
            return best
        ratios = np.arange(1, 2 * ratios.size + 1)
