"""What a reader can turn here: the batch, the lengths, batches in flight, the wire."""

from __future__ import annotations

from llmserve_lab.afd.simulation.bundle import ascend
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider

LABELS = {
    "a_attn": "Attention, per token",
    "b_attn": "Attention, fixed",
    "a_ffn": "FFN, per request",
    "b_ffn": "FFN, fixed",
    "a_comm": "Wire, per request",
    "b_comm": "Round trip, fixed",
}
STOPS = {
    "batch": (32.0, 64.0, 128.0, 256.0, 512.0),
    "mean_prompt": (10.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
    "mean_decode": (50.0, 100.0, 200.0, 500.0, 1000.0),
    "n_batches": (2.0, 3.0, 4.0, 6.0),
}
START = {"batch": 256.0, "mean_prompt": 100.0, "mean_decode": 500.0, "n_batches": 2.0}
SIZES = {"batch": "Batch", "n_batches": "Batches in flight"}
SIZES |= {"mean_prompt": "Mean prompt", "mean_decode": "Mean answer"}
WIRES = {"as fitted": 1.0, "4 times slower": 4.0, "10 times slower": 10.0}


def controls(wire: str = "as fitted") -> tuple[Slider | Choice, ...]:
    """Sizes, and a wire that may be slower than the one that the paper fitted."""
    sizes = tuple(
        Slider(quantity(name), STOPS[name], START[name], SIZES[name]) for name in START
    )
    factors = {
        name: tuple(WIRES.values()) if name.endswith("comm") else (1.0,) * len(WIRES)
        for name in ascend()
    }
    columns = {
        name: tuple(round(factor * value, 15) for factor in factors[name])
        for name, value in ascend().items()
    }
    return (*sizes, Choice("wire", "Wire", tuple(WIRES), wire, columns))
