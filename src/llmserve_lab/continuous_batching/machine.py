"""The book's running example: Llama-3.1-8B in 16 bits on one H100, and its requests.

One model, one GPU, one prompt and one answer for the whole chapter. What the machine
achieves of its datasheet is chosen here, once, for every figure and every number.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from llmserve_lab import catalog, validation
from llmserve_lab.catalog import (
    Accelerator,
    Cited,
    Efficiency,
    ModelShape,
    machine,
    workload,
)
from llmserve_lab.engine import IterationCost

MODEL, DEVICE, SHARE = "llama-3.1-8b", "h100-sxm", "datasheet"
PROMPT, ANSWER = 1000, 200  # tokens of the book's usual request
LONG = 96 * 1024  # tokens of a pasted book; it fits the model's maximum context
DECODES = 5  # requests that write their answers when the book arrives
TARGET_S = 0.05  # longest gap between two tokens that a reader should see


def model() -> ModelShape:
    """The model that the chapter serves."""
    return catalog.model(MODEL)


def device() -> Accelerator:
    """The GPU that serves it."""
    return catalog.accelerator(DEVICE)


def share() -> Efficiency:
    """What that GPU achieves of its datasheet."""
    return catalog.efficiency(SHARE)


def setting() -> dict[str, Cited]:
    """Model and machine as arguments of the formulas."""
    return workload(model()) | machine(device(), efficiency=share())


def decodes() -> dict[str, float]:
    """The requests that decode beside a long prompt, as arguments of the formulas."""
    return {"n_decodes": float(DECODES), "decode_context": float(PROMPT)}


@cache
def achieved() -> IterationCost:
    """The same model and GPU as measured servers reach them, fitted to their rows."""
    reached = validation.achieved()
    shares = replace(
        catalog.efficiency("datasheet"),
        compute=reached.cited("compute"),
        memory=reached.cited("memory"),
    )
    return IterationCost.of(
        model(),
        device(),
        efficiency=shares,
        overlap=reached.overlap,
        layer_s=reached.layer_s,
        prompt_layer_s=(reached.prompt_layers - 1) * reached.layer_s,
        request_s=reached.request_s,
        attention_apart=True,
    )


@cache
def cost() -> IterationCost:
    """Model and machine as the engine takes them."""
    return IterationCost.of(model(), device(), efficiency=share())
