"""Prefill on two nodes: experts compute, and copies are saved on the slower port.

With thousands of tokens on each GPU an expert is compute-bound, and the constant of a
transfer is a small part of it. What is left is the wire. High-throughput kernels send
one copy to each *node* and pass it on inside, one copy to each GPU; low-latency kernels
send each expert's copy directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.checks import positive
from llmserve_lab.moe.exchange_time import seconds
from llmserve_lab.moe.grouped_router import places_reached
from llmserve_lab.moe.layer_time import own_read_bytes, rest_parts_s
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.moe.serving import (
    CACHE_PRECISION,
    GPUS,
    MOE_LAYERS,
    SPEC,
    copy_bytes,
    layer_s,
    setting,
)

ROWS = 8192.0  # prompt tokens of a GPU in one iteration
GROUP = 16.0  # two nodes of eight
# The benchmarks count a copy for each node that a token reaches, its own included.
_rate = partial(
    Cited,
    unit="byte/s",
    kind="measured",
    note="of copies for each node, the token's own included",
)
FIRST = "DeepEP README, normal kernels on two nodes of H800, June 2025"
SECOND = "DeepEP README, version 2 on two nodes of Hopper GPUs, April 2026"
NODE_RATES: Mapping[str, Mapping[str, Cited]] = MappingProxyType(
    {
        "first": {
            "dispatch": _rate(43e9, source=FIRST),
            "combine": _rate(43e9, source=FIRST),
        },
        "second": {
            "dispatch": _rate(90e9, source=SECOND),
            "combine": _rate(81e9, source=SECOND),
        },
    }
)


def experts_s(gpu: str = GPUS[0]) -> dict[str, float]:
    """Seconds of one layer's routed experts: reading, computing."""
    return layer_s(GROUP, ROWS, gpu)


def products_s() -> float:
    """Seconds of the other matrix products of a layer; attention not included.

    The LM head is not either: of a prompt only the last token goes through it.
    """
    head = DEEPSEEK.vocab * DEEPSEEK.d_model / own_read_bytes()
    return rest_parts_s(ROWS)["weights computed"] * (1 - head)


def attention_s(prompt: float) -> float:
    """Seconds of attention over prompts of so many tokens, divided by the MoE layers.

    A token sees half of its prompt on average; keys and values are made anew from the
    latent, in BF16.
    """
    positive("prompt", prompt)
    pairs = ROWS * (prompt + 1) / 2
    peak = float(accelerator(GPUS[0]).peak(CACHE_PRECISION))
    reached = peak * float(setting()["eff_compute"])
    whole = pairs * DEEPSEEK.attn_flops_per_pair(absorbed=False)
    return whole / reached / MOE_LAYERS


def expert_rows() -> float:
    """Tokens that an expert gets, on average."""
    return GROUP * ROWS * SPEC.top_k / SPEC.n_experts


def direct_s() -> dict[str, float]:
    """Wire of a dispatch and of a combine, a copy for each expert, in seconds."""
    return {
        way: seconds(way, GROUP, gpu_rows=ROWS, start_s=0.0) for way in copy_bytes()
    }


def by_node_s(way: str = "dispatch") -> dict[str, float]:
    """Seconds of the two ports, a copy for each node and inside it for each GPU.

    A token comes from each node, and from each GPU, as often as from any other. So of
    the nodes that it reaches its own is one in as many as there are; of the GPUs
    neither its own nor the one that takes the copies for the other node is sent to.
    """
    known = setting()
    nodes = GROUP / float(known["node_gpus"])
    size = ROWS * copy_bytes()[way]
    far = places_reached(int(nodes)) * (1 - 1 / nodes)
    near = places_reached(int(GROUP)) * (1 - nodes / GROUP)
    return {
        "far": size * far / float(known["far_rate"]),
        "near": size * near / float(known["near_rate"]),
    }


def measured_s(version: str) -> dict[str, float]:
    """Seconds of a dispatch and of a combine at the rates that a README prints."""
    nodes = int(GROUP / float(setting()["node_gpus"]))
    copies = ROWS * places_reached(nodes)
    return {
        way: copies * size / float(NODE_RATES[version][way])
        for way, size in copy_bytes().items()
    }
