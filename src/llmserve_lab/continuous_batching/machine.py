"""The book's running example: Llama-3.1-8B in 16 bits on one H100, and its requests.

One model, one GPU, one prompt and one answer for the whole chapter. The machine is the
one that measured servers reach; the datasheet's stands beside it for comparison.
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

MODEL, DEVICE = "llama-3.1-8b", "h100-sxm"
AS_MEASURED = "as measured"  # the default machine, beside those of the catalog
PROMPT, ANSWER = 1000, 200  # tokens of the book's usual request
LONG = 96 * 1024  # tokens of a pasted book; it fits the model's maximum context
DECODES = 5  # requests that write their answers when the book arrives
TARGET_S = 0.1  # longest gap between two tokens that a reader should see


def model() -> ModelShape:
    """The model that the chapter serves."""
    return catalog.model(MODEL)


def device() -> Accelerator:
    """The GPU that serves it."""
    return catalog.accelerator(DEVICE)


@cache
def share() -> Efficiency:
    """What measured servers reach of a datasheet, fitted to their rows."""
    reached = validation.achieved()
    return replace(
        catalog.efficiency("datasheet"),
        name=AS_MEASURED,
        compute=reached.cited("compute"),
        memory=reached.cited("memory"),
    )


def setting() -> dict[str, Cited]:
    """Model and machine as arguments of the formulas, at the shares reached."""
    return workload(model()) | machine(device(), efficiency=share())


def ideal() -> dict[str, Cited]:
    """The same on a machine that reaches all of its datasheet."""
    return workload(model()) | machine(device())


def served() -> dict[str, Cited | float]:
    """Beside ``setting``: what overlaps, and what neither computes nor reads.

    An iteration with a prompt beside the decodes pays ``overhead_s``. Of the embedding
    table only the rows of its tokens are read, so that ``weight_bytes`` leave it out.
    """
    fitted, table = validation.achieved(), model().vocab * model().d_model
    known = setting()
    per_param = float(known["bytes_weight"])
    at_launch = cost().overhead_s + cost().prompt_s
    requests_s = (DECODES + 1) * cost().request_s
    layer = fitted.cited("layer_s")
    return {
        "overlap": fitted.cited("overlap"),
        "overhead_s": Cited(at_launch + requests_s, "s", "estimate", layer.source),
        "weight_bytes": Cited(
            per_param * (model().params_total - table),
            "byte",
            "counted",
            known["params_total"].source,
            "all weights but the embedding table",
        ),
    }


def decodes() -> dict[str, float]:
    """The requests that decode beside a long prompt, as arguments of the formulas."""
    return {"n_decodes": float(DECODES), "decode_context": float(PROMPT)}


def served_by(shape: ModelShape, gpu: Accelerator) -> IterationCost:
    """A model on a GPU as measured servers reach it: the fitted machine."""
    fitted = validation.achieved()
    return IterationCost.of(
        shape,
        gpu,
        efficiency=share(),
        overlap=fitted.overlap,
        layer_s=fitted.layer_s,
        prompt_layer_s=(fitted.prompt_layers - 1) * fitted.layer_s,
        request_s=fitted.request_s,
        attention_apart=True,
        weights_read="touched",
        usable_memory=True,
        precision_exponent=fitted.exponent,
    )


@cache
def cost() -> IterationCost:
    """The chapter's default machine, as measured, as the engine takes it."""
    return served_by(model(), device())


@cache
def datasheet() -> IterationCost:
    """Model and GPU if all of the datasheet were reached and nothing else took time."""
    return IterationCost.of(model(), device())
