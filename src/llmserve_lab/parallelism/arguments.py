"""What the chapter asks about a model, a GPU and a link, and what it offers."""

from __future__ import annotations

import math
from dataclasses import replace

from llmserve_lab import running_example, validation
from llmserve_lab.catalog import (
    ACCELERATORS,
    LINKS,
    MODELS,
    PRECISIONS,
    Accelerator,
    Cited,
    Given,
    Link,
    ModelShape,
    machine,
    wire,
    workload,
)
from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS
from llmserve_lab.catalog.evidence.long_context import EXCHANGE_SHARE, RING_PORT
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.records.cited import fraction
from llmserve_lab.notation import bytes_act, quantity
from llmserve_lab.validation.cache_blocks import working_space

BYTES_ACT = PRECISIONS["bf16"].bytes_in(bytes_act.unit)  # rows travel as weights do
BYTES_KV = PRECISIONS["bf16"].bytes_kv
UTILISATION = float(MEMORY_SHARE)
MODEL, DEVICE = MODELS["llama-3.1-70b"], ACCELERATORS["h100-sxm"]
LINK_KEYS = ("nvlink4", "infiniband-ndr")
CHOSEN_LINKS = tuple(LINKS[key] for key in LINK_KEYS)
PORT_SHARE = fraction(RING_PORT, LINKS["infiniband-ndr"].bandwidth)


def sizes_of(model: ModelShape) -> dict[str, Given]:
    """What the chapter's formulas ask about a model in 16 bits."""
    spec = model.attention
    shape = {
        "n_layers": model.n_layers,
        "d_model": model.d_model,
        "n_heads": spec.n_heads,
        "n_kv_heads": getattr(spec, "n_kv_heads", 1),
        "d_head": spec.d_head,
    }
    cited = {n: model.cited(value, quantity(n).unit) for n, value in shape.items()}
    return {**workload(model), **cited, "bytes_act": BYTES_ACT, "bytes_kv": BYTES_KV}


def on(device: Accelerator) -> dict[str, Given]:
    """A GPU at the shares that servers reach, with its room for weights and cache."""
    usable = device.usable_bytes
    left = UTILISATION * float(usable) - working_space()
    note = "nine tenths of what a program can allocate, less working space"
    room = Cited(left, "byte", "estimate", usable.source, note)
    return {**machine(device, efficiency=running_example.share()), "hbm_bytes": room}


def over(link: Link) -> dict[str, Given]:
    """A link at the share of its bandwidth that servers reach, with its latency.

    Inside a server the share is that of the fit; of a network port it is what a ring of
    servers sent through one, hop by hop.
    """
    known: dict[str, Given] = {**wire(link, efficiency=running_example.share())}
    if link.scope == "scale-out":
        known["eff_link"] = PORT_SHARE
    return known


def fast_port() -> dict[str, Given]:
    """A network port at the share that the fastest published exchange reached.

    It is DeepEP's all-to-all, whose kernels fill the port that a ring leaves half idle.
    """
    return {**over(LINKS["infiniband-ndr"]), "eff_link": EXCHANGE_SHARE}


def fast_link() -> Link:
    """The same port as a link that reaches so much at the share of a ring."""
    link = LINKS["infiniband-ndr"]
    more = float(EXCHANGE_SHARE) / float(PORT_SHARE)
    return replace(
        link, bandwidth=replace(link.bandwidth, value=more * float(link.bandwidth))
    )


def attending() -> dict[str, Given]:
    """The chapter's GPU at the share of its peak that an attention kernel reaches."""
    rate = CAUSAL_RUNS[max(CAUSAL_RUNS)]
    return {**on(DEVICE), "eff_compute": fraction(rate, DEVICE.peak("bf16"))}


def served(model: ModelShape, device: Accelerator, link: Link) -> dict[str, Given]:
    """Every argument of ``pipe_token_s`` but the load and the stages."""
    return {
        **sizes_of(model),
        **on(device),
        **validation.achieved().beside_the_work(),
        **over(link),
        "chunk": 1.0,
    }


CUT_BY_HEADS = ("q_proj", "k_proj", "v_proj", "q_b_proj", "kv_b_proj", "o_proj")


def attention_bytes(model: ModelShape, precision: str = "bf16") -> Cited:
    """Bytes of attention's weights that tensor parallelism cuts, in all layers."""
    params = sum(
        math.prod(shape)
        for name, shape in model.attention.weights(model.d_model)
        if name in CUT_BY_HEADS
    )
    each = float(PRECISIONS[precision].bytes_weight)
    return model.cited(params * model.n_layers * each, "byte")
