"""The price of the split: a prompt's cache has to travel to the GPU that decodes."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, maximum, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import (
    ITERATION_FLOPS,
    LINEAR_FLOPS,
    WEIGHTS_S,
    partly_hidden,
)

ARTICLE = "article 06"
FITTED = "llmserve_lab.validation: the form that measured rows were fitted with"

__all__ = [
    "EXPOSED_S",
    "HANDOFF_BYTES",
    "KV_MADE_PER_S",
    "KV_MADE_SHORT",
    "PREFILL_COMPUTE_S",
    "PREFILL_EACH_S",
    "PREFILL_FLOPS",
    "PREFILL_LINEAR_S",
    "PREFILL_S",
    "TIER_GAIN",
    "TRANSFER_S",
]

HANDOFF_BYTES = Formula(
    result=q.handoff_bytes,
    expr=lambda kv_bytes_per_token, prompt_len, one_request: (
        kv_bytes_per_token * prompt_len * one_request
    ),
    title="Cache to hand over",
    source=f"{ARTICLE}, §5",
    holds="no part of the prompt is known where it will be decoded",
)
TRANSFER_S = Formula(
    result=q.transfer_s,
    expr=lambda handoff_bytes, link_bw, eff_link: handoff_bytes / (link_bw * eff_link),
    uses=(HANDOFF_BYTES,),
    title="Time to send it",
    source=f"{ARTICLE}, §6",
    holds="one link for each GPU, with nothing else on it; its latency is microseconds",
)
PREFILL_FLOPS = Formula(
    result=q.prefill_flops,
    expr=lambda: at(
        ITERATION_FLOPS, batch=q.one_request, context=0, chunk=q.prompt_len
    ),
    derived=True,
    title="FLOPs of a prompt",
    source=(
        "[iteration_flops](#eq-iteration_flops), one request and nothing in the cache"
    ),
    holds="the prompt is read at once, causally",
)
PREFILL_COMPUTE_S = Formula(
    result=q.prefill_compute_s,
    expr=lambda prefill_flops, peak_flops, eff_compute: (
        prefill_flops / (peak_flops * eff_compute)
    ),
    uses=(PREFILL_FLOPS,),
    title="Time to compute a prompt",
    source="[compute_s](#eq-compute_s)",
    holds="memory keeps up",
)
PREFILL_LINEAR_S = Formula(
    result=q.prefill_linear_s,
    expr=lambda: (
        at(LINEAR_FLOPS, batch=q.one_request, chunk=q.prompt_len)
        / (q.peak_flops.sympy * q.eff_compute.sympy)
    ),
    derived=True,
    title="Time of a prompt's linear layers",
    source="[compute_s](#eq-compute_s), its first part",
    holds="memory keeps up",
)


def _prefill(
    prefill_linear_s: Any,
    weights_s: Any,
    overlap: Any,
    prefill_compute_s: Any,
    overhead_s: Any,
    prompt_launch_s: Any,
    one_request: Any,
    request_s: Any,
) -> Any:
    """Products, attention, launches: what a served iteration takes."""
    return (
        partly_hidden(prefill_linear_s, weights_s, overlap)
        + prefill_compute_s
        - prefill_linear_s
        + overhead_s
        + prompt_launch_s
        + one_request * request_s
    )


PREFILL_S = Formula(
    result=q.prefill_s,
    expr=_prefill,
    uses=(PREFILL_LINEAR_S, PREFILL_COMPUTE_S, WEIGHTS_S),
    title="Time of a prefill",
    source=FITTED,
    holds="one prompt at a time on a GPU, read at once",
)


def _each(
    prompts_together: Any,
    prefill_linear_s: Any,
    weights_s: Any,
    overlap: Any,
    prefill_compute_s: Any,
    overhead_s: Any,
    prompt_launch_s: Any,
    one_request: Any,
    request_s: Any,
) -> Any:
    """Their products hide one reading of the weights, and they share the launches."""
    products = partly_hidden(prompts_together * prefill_linear_s, weights_s, overlap)
    shared_s = products + overhead_s + prompt_launch_s
    own_s = prefill_compute_s - prefill_linear_s + one_request * request_s
    return shared_s / prompts_together + own_s


PREFILL_EACH_S = Formula(
    result=q.prefill_each_s,
    expr=_each,
    uses=(PREFILL_LINEAR_S, PREFILL_COMPUTE_S, WEIGHTS_S),
    title="Time of a prefill, several prompts in an iteration",
    source=FITTED,
    holds="so many prompts, equally long, wait and fit the token budget",
)
EXPOSED_S = Formula(
    result=q.exposed_s,
    expr=lambda transfer_s, prefill_s, n_layers, one_layer: maximum(
        transfer_s * one_layer / n_layers,
        transfer_s - prefill_s * (n_layers - one_layer) / n_layers,
    ),
    uses=(TRANSFER_S, PREFILL_S),
    title="What is left of it, layer by layer",
    source="a pipeline of two stages",
    holds="every layer takes the same time to compute, and to send",
)
KV_MADE_PER_S = Formula(
    result=q.kv_made_per_s,
    expr=lambda handoff_bytes, prefill_s: handoff_bytes / prefill_s,
    uses=(HANDOFF_BYTES, PREFILL_S),
    title="Cache that a prefill makes per second",
    source="[handoff_bytes](#eq-handoff_bytes) over [prefill_s](#eq-prefill_s)",
    holds="as [prefill_s](#eq-prefill_s)",
)
KV_MADE_SHORT = Formula(
    result=q.kv_made_short,
    expr=lambda: (
        symbolic(HANDOFF_BYTES)
        * q.peak_flops.sympy
        * q.eff_compute.sympy
        / at(LINEAR_FLOPS, batch=q.one_request, chunk=q.prompt_len)
    ),
    derived=True,
    title="The same, whatever the prompt",
    source=(
        "[handoff_bytes](#eq-handoff_bytes) over [compute_s](#eq-compute_s), linear "
        "layers alone"
    ),
    holds="compute-bound, the FLOPs of attention left out: an upper bound",
)
TIER_GAIN = Formula(
    result=q.tier_gain,
    expr=lambda tier_bw, kv_made_per_s: tier_bw / kv_made_per_s,
    uses=(KV_MADE_PER_S,),
    title="Fetch or compute again",
    source="time to compute a prefix over time to fetch it",
    holds="s is the length of a prefix that the tier holds",
)
