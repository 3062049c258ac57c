"""Vectorized simulation: fill the slots, add up their loads, run the pipeline."""

from __future__ import annotations

import warnings
from math import sqrt

import numpy as np

from llmserve_lab.afd.simulation.bundle import Bundle, Load
from llmserve_lab.afd.simulation.pipeline import pipeline
from llmserve_lab.afd.simulation.run import BundleRun, stop_step
from llmserve_lab.afd.simulation.slots import Requests, fill

ENOUGH = 5  # requests per slot: below, start and end are most of the run


def simulate(bundle: Bundle, load: Load, *, seed: int) -> BundleRun:
    """Serve ``load`` on ``bundle``; the same seed gives the same run.

    Cost: requests plus steps times instances. A :class:`UserWarning` says so where
    there are too few requests per slot for a stable estimate.
    """
    per_slot = load.n_requests / (bundle.batch * bundle.n_batches)
    if per_slot < ENOUGH:
        warnings.warn(
            f"n_requests should be at least {ENOUGH} for each of the "
            f"{bundle.batch * bundle.n_batches} slots of an instance, or start and end "
            f"are most of the run; got {load.n_requests}",
            stacklevel=2,
        )
    mean = load.law.slot(load.steps).steps
    # A first guess: the steps of the requests, half a request for those in flight, and
    # two standard deviations of how unevenly the slots finish.
    n_steps = int(mean * (1.5 + per_slot + 2 * sqrt(per_slot / bundle.batch)))
    while True:
        run = _attempt(bundle, load, n_steps, seed)
        if run is not None:
            return run
        # By a factor, so that all attempts together cost at most five times the last.
        n_steps = 1 + n_steps * 5 // 4


def _attempt(bundle: Bundle, load: Load, n_steps: int, seed: int) -> BundleRun | None:
    """The run, if ``n_steps`` steps of each batch are enough for it."""
    m = bundle.n_batches
    parts, loads = [], np.empty((n_steps, m, bundle.n_attn))
    for batch in range(m):
        for instance in range(bundle.n_attn):
            part = fill(
                load,
                n_slots=bundle.batch,
                n_steps=n_steps,
                batch=batch,
                instance=instance,
                seed=seed,
            )
            loads[:, batch, instance] = part.load(n_steps)
            parts.append(part)
    requests = Requests.joined(parts)
    done = requests.last * m + requests.batch
    end = stop_step(load, bundle, requests, done)
    # The last round is cut off by n_steps: a batch may still miss requests in it.
    if end is None or end >= (n_steps - 1) * m:
        return None
    attn_s = bundle.attn(loads.reshape(n_steps * m, -1)[: end + m])
    left, out = pipeline(
        attn_s,
        bundle.ffn_s,
        bundle.comm_s,
        n_batches=m,
        barrier=bundle.barrier,
    )
    return BundleRun(bundle, load, attn_s, left, out, requests)
