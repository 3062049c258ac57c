"""What the formulas ask about a model, a machine and what travels, choices made."""

from __future__ import annotations

from llmserve_lab.catalog import precision, workload
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.calibration.link_efficiency import number_bytes
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.known import Numbers
from llmserve_lab.deepseek.model.setup import Setup

ATTENTION = ("q_", "kv_", "o_proj")
TRIPS = 2  # of a row in a layer: there, and back
OUTSIDE = ("dense.", "router", "lm_head", "norm", "input_", "post_")


def shape(setup: Setup, choices: Choices) -> Numbers:
    """Parameters, bytes and FLOPs of the model that ``setup`` holds."""
    experts = setup.experts
    stack = setup.params("experts.") / experts.n_experts
    widths = ("n_heads", "d_head", "d_rope")
    heads = {name: getattr(setup.latent, name) for name in widths}
    heads["n_layers"] = setup.model.n_layers
    known = workload(setup.model, precision=choices.cache)
    return known | {
        "bytes_weight": float(precision(choices.products).bytes_weight),
        "mla_params": setup.params(*ATTENTION),
        "up_params": setup.params("kv_b_proj"),
        "expert_stack": stack,
        "rest_params": setup.params(*OUTSIDE)
        + choices.table_is_read * setup.params("embed_tokens"),
        "table_params": setup.params("embed_tokens"),
        "n_experts": experts.n_experts,
        "top_k": experts.top_k,
        "n_shared": experts.n_shared,
        "vanilla_pair_flops": f.VANILLA_PAIR_FLOPS(**heads),
    }


def machine(setup: Setup, choices: Choices) -> Numbers:
    """Rates that kernels reach on these GPUs, and how many of them there are.

    Raises:
        LookupError: the GPU does not compute in a precision that was chosen.
    """
    device = setup.accelerator
    share = choices.shares_on(device)
    return {
        "read_rate": float(device.hbm_bw) * share.memory,
        "attn_rate": float(device.peak(choices.attention)) * share.attention,
        "gemm_rate": float(device.peak(choices.products)) * share.products,
        "far_rate": float(setup.far.bandwidth) * share.far,
        "near_rate": float(setup.near.bandwidth) * share.near,
        "start_s": share.start_s,
        "n_nodes": setup.n_nodes,
        "ep": setup.n_gpus,
    }


def traffic(setup: Setup, choices: Choices) -> Numbers:
    """Copies of a row, their bytes in all layers, and how unevenly they fall."""
    experts = setup.experts
    layers = setup.model.n_layers
    layers -= 0 if choices.dense_layers_send else experts.n_dense_layers
    sizes = number_bytes(choices.dispatch) + number_bytes(choices.combine)
    share = choices.shares_on(setup.accelerator)
    return {
        "trips_s": TRIPS * layers * share.trip_s,
        "sent_copies": experts.top_k + choices.shared_travels * experts.n_shared,
        "copy_bytes": layers * setup.model.d_model * sizes,
        "balancedness": choices.balancedness if setup.n_gpus > 1 else 1.0,
    }
