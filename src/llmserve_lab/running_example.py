"""The book's running example: Llama-3.1-8B in 16 bits on one H100, and its request.

One model, one GPU, one prompt and one answer through the whole book. The machine is the
one that measured servers reach, ``cost()``; the datasheet's stands beside it for
comparison, ``datasheet()``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from llmserve_lab import catalog, validation
from llmserve_lab.catalog import (
    Accelerator,
    Cited,
    Efficiency,
    Link,
    ModelShape,
    machine,
    workload,
)
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.engine import IterationCost
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.validation.bands import Predicted
from llmserve_lab.validation.served_cost import mixture_cost

MODEL, DEVICE = "llama-3.1-8b", "h100-sxm"
FITTED = "fitted to servers"  # the default machine, beside those of the catalog
PROMPT, ANSWER = 1000, 200  # tokens of the book's usual request


def model() -> ModelShape:
    """The model that the book serves on one GPU."""
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
        name=FITTED,
        compute=reached.cited("compute"),
        memory=reached.cited("memory"),
        link=reached.cited("link"),
    )


def setting() -> dict[str, Cited]:
    """Model and machine as arguments of the formulas, at the shares reached."""
    return workload(model()) | machine(device(), efficiency=share())


def ideal() -> dict[str, Cited]:
    """The same on a machine that reaches all of its datasheet."""
    return workload(model()) | machine(device())


def served_by(
    shape: ModelShape,
    gpu: Accelerator,
    *,
    tp: int = 1,
    link: Link | None = None,
    precision: str | None = None,
) -> IterationCost:
    """A model on a GPU, fitted to servers that were measured.

    A mixture of experts is priced in a form and with constants of its own
    (:mod:`.validation.served_cost`). Weights and cache are in ``precision``, BF16 by
    default; the cache of a mixture in eight bits at least. On ``tp`` GPUs of one
    tensor-parallel group the bytes of the all-reduces go over ``link``, by default the
    one that joins the GPUs of a server. Their latency is in the fitted times.

    Raises:
        LookupError: there is no such precision, or the GPU does not compute in it and
            the model is dense.
        ValueError: the model cannot be cut for ``tp`` GPUs, or the link joins fewer.
    """
    if isinstance(shape.ffn, MoeFfn):
        return mixture_cost(shape, gpu, tp=tp, link=link, precision=precision)
    fitted = validation.achieved()
    if tp > 1:
        link = link or catalog.link(gpu.scale_up)
    return IterationCost.of(
        shape,
        gpu,
        precision=precision,
        tp=tp,
        link=link,
        link_latency_s=0.0 if tp > 1 else None,
        efficiency=share(),
        overlap=fitted.overlap,
        layer_s=fitted.layer_s,
        prompt_layer_s=(fitted.prompt_layers - 1) * fitted.layer_s,
        request_s=fitted.request_s,
        attention_apart=True,
        precision_exponent=fitted.exponent,
    )


@cache
def cost() -> IterationCost:
    """An iteration of the running example, fitted to servers, as an engine takes it."""
    return served_by(model(), device())


def fitted_row_s() -> float:
    """Seconds to compute a row by the fit's own count, which leaves out the LM head.

    The pages count the LM head for each row, as a decode needs it and the rows of a
    prompt do not; in all else both are one machine.
    """
    head = model().vocab * model().d_model
    return cost().row_s * (1 - head / model().params_active)


def head_s(rows: int = PROMPT) -> float:
    """Seconds that a prompt takes longer because its rows meet the LM head, too."""
    return rows * (cost().row_s - fitted_row_s())


@cache
def datasheet() -> IterationCost:
    """Model and GPU if all of the datasheet were reached and nothing else took time."""
    return IterationCost.of(model(), device())


def band(
    kind: Predicted,
    *,
    clients: int,
    prompt_len: int = PROMPT,
    output_len: int = ANSWER,
    tp: int = 1,
    model_key: str = MODEL,
    device_key: str = DEVICE,
    precision: str = "bf16",
) -> Band | Unmeasured:
    """How far off predictions of this ``kind`` were on runs like the running example.

    ``clients`` is the concurrency: requests under way at a time, the batch of a decode
    step. The predictions are those of the machine fitted to servers; see
    :func:`llmserve_lab.validation.band`.
    """
    return validation.band(
        kind,
        validation.Setting.on(
            model_key,
            device_key,
            tp=tp,
            clients=clients,
            prompt_len=prompt_len,
            output_len=output_len,
            precision=precision,
        ),
    )
