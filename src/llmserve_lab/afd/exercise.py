"""The reader's own pipeline: when the last batch is through, for any batches in flight.

The check runs the package's max-plus recursion beside it and says what is still wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llmserve_lab.afd.simulation.pipeline import pipeline

Finish = Callable[[float, float, float, int, int], float]
# Attention, FFN, one way on the wire, batches in flight: all of them are tried.
CASES = (
    (3.0, 3.0, 1.0, 1),
    (3.0, 3.0, 1.0, 2),
    (3.0, 3.0, 1.0, 3),
    (5.0, 2.0, 0.5, 2),
    (2.0, 5.0, 0.5, 2),
    (3.0, 3.0, 4.0, 4),
)
STEPS = 60


def in_turn(
    attn: float, ffn: float, wire: float, n_batches: int, n_steps: int
) -> float:
    """One step after another, as if only one batch were in flight."""
    return n_steps * (attn + wire + ffn + wire) - wire


def in_flight(
    attn: float, ffn: float, wire: float, n_batches: int, n_steps: int
) -> float:
    """Step n starts when its batch is back and Attention is free; then the FFN."""
    back = [0.0] * n_batches  # when each batch is at Attention again
    attn_free = ffn_free = 0.0
    for n in range(n_steps):
        batch = n % n_batches
        attn_free = max(attn_free, back[batch]) + attn
        ffn_free = max(ffn_free, attn_free + wire) + ffn
        back[batch] = ffn_free + wire
    return ffn_free


def check(finish: Finish) -> str:
    """What is still wrong with a pipeline, or that all is well.

    Raises:
        ValueError: the answer is no positive number.
    """
    for attn, ffn, wire, n_batches in CASES:
        found = finish(attn, ffn, wire, n_batches, STEPS)
        if not found > 0:
            raise ValueError(f"finish must return a time above 0, got {found}")
        right = float(
            pipeline(
                np.full((STEPS, 1), attn),
                ffn,
                2 * wire,
                n_batches=n_batches,
                barrier="instance",
            )[1][-1]
        )
        if abs(found - right) > 1e-9 * right:
            return (
                f"not yet: Attention {attn:g}, FFN {ffn:g}, wire {wire:g} each way,\n"
                f"{n_batches} in flight: step {STEPS} leaves the FFN at {right:g}; "
                f"yours at {found:g}."
            )
    return f"well done: all {len(CASES)} pipelines end when they should."
