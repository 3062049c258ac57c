"""The chapter's load on the book's machine: a long prompt beside decoding requests."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab import validation
from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.evidence.servers import VLLM_GRAPH_ROWS
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.running_example import PROMPT, cost, model, setting

LONG = 96 * 1024  # tokens of a long prompt; it fits the model's maximum context
DECODES = 5  # requests that write their answers when the long prompt arrives
BOOK_ARRIVES_S = 1.0  # after the others
TARGET_S = 0.1  # longest gap between two tokens that a reader should see
GRAPH_ROWS = int(VLLM_GRAPH_ROWS.value)  # the most that launches are recorded for


def served(machine: IterationCost | None = None) -> dict[str, Cited | float]:
    """Beside ``setting``: what overlaps, and what neither computes nor reads.

    An iteration with a prompt beside the decodes pays ``overhead_s``, the launches of
    the fitted machine if none is given. Of the embedding table only the rows of its
    tokens are read, so that ``weight_bytes`` leave it out.
    """
    fitted, known = validation.achieved(), setting()
    per_param = float(known["bytes_weight"])
    launched = machine or cost()
    at_launch = launched.overhead_s + launched.prompt_s
    requests_s = (DECODES + 1) * cost().request_s
    layer, times = fitted.cited("layer_s"), fitted.cited("prompt_layers")
    source = f"{layer.source}; four times that with a prompt: {times.source}"
    return {
        "overlap": fitted.cited("overlap"),
        "overhead_s": Cited(at_launch + requests_s, "s", "estimate", source),
        "weight_bytes": Cited(
            per_param * model().params_read,
            "byte",
            "counted",
            known["params_total"].source,
            "all weights but the embedding table",
        ),
    }


def replayed() -> IterationCost:
    """The machine if an iteration with a prompt launched as cheaply as any other.

    That is what replaying a recorded sequence of launches (a CUDA graph) can save at
    most, where one was recorded: for iterations of few rows.
    """
    return replace(cost(), prompt_s=0.0)


def hidden() -> IterationCost:
    """The machine if the GPU never waited for a launch: its own work alone.

    Launches are orders that run ahead. Behind the work of a long iteration they may be
    hidden in part or altogether; the fit adds them, so that the truth lies between.
    """
    return replace(cost(), prompt_s=0.0, overhead_s=0.0)


def priced(budget: int) -> IterationCost:
    """The machine under a token budget, by the page's rule.

    Iterations without a prompt replay their launches under any budget. With a prompt
    they do so if none has more rows than are recorded, and else make each by itself.
    """
    return replayed() if budget <= GRAPH_ROWS else cost()


def slower_attention(share: float) -> IterationCost:
    """The machine if attention reached only ``share`` of the peak."""
    reached = float(setting()["eff_compute"])
    return replace(cost(), pair_s=cost().pair_s * reached / share)


def calm() -> IterationLoad:
    """The requests that decode beside a long prompt, as the load of an iteration."""
    return IterationLoad.of(chunk=1, context=PROMPT).times(DECODES)


def decodes() -> dict[str, float]:
    """The requests that decode beside a long prompt, as arguments of the formulas."""
    return {"n_decodes": float(DECODES), "decode_context": float(PROMPT)}
