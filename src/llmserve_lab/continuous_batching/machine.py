"""The chapter's load on the book's machine: a long prompt beside decoding requests."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab import validation
from llmserve_lab.catalog import Cited
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.running_example import PROMPT, cost, model, setting

LONG = 96 * 1024  # tokens of a long prompt; it fits the model's maximum context
DECODES = 5  # requests that write their answers when the long prompt arrives
BOOK_ARRIVES_S = 1.0  # after the others
TARGET_S = 0.1  # longest gap between two tokens that a reader should see


def served() -> dict[str, Cited | float]:
    """Beside ``setting``: what overlaps, and what neither computes nor reads.

    An iteration with a prompt beside the decodes pays ``overhead_s``. Of the embedding
    table only the rows of its tokens are read, so that ``weight_bytes`` leave it out.
    """
    fitted, known = validation.achieved(), setting()
    per_param = float(known["bytes_weight"])
    at_launch = cost().overhead_s + cost().prompt_s
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


def slower_attention(share: float) -> IterationCost:
    """The machine if attention reached only ``share`` of the peak."""
    reached = float(setting()["eff_compute"])
    return replace(cost(), pair_s=cost().pair_s * reached / share)


def decodes() -> dict[str, float]:
    """The requests that decode beside a long prompt, as arguments of the formulas."""
    return {"n_decodes": float(DECODES), "decode_context": float(PROMPT)}


def beside() -> dict[str, Cited | float]:
    """As ``served``, with what the decodes beside each chunk take counted as overhead.

    What the whole prompt takes in chunks is then what the readers see of it.
    """
    calm_s = cost().seconds(_decodes_at(PROMPT))
    written = int(BOOK_ARRIVES_S / calm_s) + LONG // 512 // 2  # in the middle of it
    load = _decodes_at(PROMPT + written)
    known = served()
    own_s = cost().compute_s(load) + cost().kv_token_s * load.kv_tokens
    return known | {"overhead_s": float(known["overhead_s"]) + own_s}


def _decodes_at(context: int) -> IterationLoad:
    """The requests that decode, each with ``context`` tokens in cache."""
    return IterationLoad.of(chunk=1, context=context).times(DECODES)
