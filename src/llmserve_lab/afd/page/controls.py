"""What a reader can turn here: the batch, the lengths, and six coefficients."""

from __future__ import annotations

from llmserve_lab.afd.simulation.bundle import ascend, fitted
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Slider

LABELS = {
    "a_attn": "Attention, per token",
    "b_attn": "Attention, fixed",
    "a_ffn": "FFN, per request",
    "b_ffn": "FFN, fixed",
    "a_comm": "Wire, per request",
    "b_comm": "Round trip, fixed",
}
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
STOPS = {
    "batch": (32.0, 64.0, 128.0, 256.0, 512.0, 1024.0),
    "mean_prompt": (10.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 4000.0),
    "mean_decode": (50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0),
    "n_batches": (2.0, 3.0, 4.0, 6.0),
}
START = {"batch": 256.0, "mean_prompt": 100.0, "mean_decode": 500.0, "n_batches": 2.0}
SIZES = {"batch": "Batch", "n_batches": "Batches in flight"}
SIZES |= {"mean_prompt": "Mean prompt", "mean_decode": "Mean answer"}


def sliders() -> tuple[Slider, ...]:
    """Sizes first, then coefficients around those that the paper fitted."""
    sizes = tuple(
        Slider(quantity(name), STOPS[name], START[name], SIZES[name]) for name in START
    )
    return sizes + tuple(
        Slider(
            quantity(name),
            tuple(round(factor * value, 15) for factor in FACTORS),
            round(value, 15),
            LABELS[name],
            fitted()[name],
        )
        for name, value in ascend().items()
    )
