"""Arguments of the formulas: what they ask about a model, a machine and its traffic."""

from __future__ import annotations

from llmserve_lab.catalog import precision, workload
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.known import Numbers
from llmserve_lab.deepseek.model.setup import Setup

ATTENTION = ("q_", "kv_", "o_proj")
TRANSFERS = 2  # of a row in a layer: dispatch, and combine
OUTSIDE = ("dense.", "router", "lm_head", "norm", "input_", "post_")
SCALE_GROUP = 128  # numbers that share one scale of 4 bytes when sent in FP8
SCALE_BYTES = 4


def number_bytes(sent: str) -> float:
    """Bytes of one number as it is sent; FP8 brings a scale for every 128."""
    size = float(precision(sent).bytes_kv)
    return size + SCALE_BYTES / SCALE_GROUP if sent == "fp8" else size


def shape(setup: Setup, assumed: Assumptions) -> Numbers:
    """Parameters, bytes and FLOPs of the model that ``setup`` holds."""
    experts = setup.experts
    stack = setup.params("experts.") / experts.n_experts
    widths = ("n_heads", "d_head", "d_rope")
    heads = {name: getattr(setup.latent, name) for name in widths}
    heads["n_layers"] = setup.model.n_layers
    known = workload(setup.model, precision=assumed.cache)
    return known | {
        "bytes_weight": float(precision(assumed.gemm).bytes_weight),
        "mla_params": setup.params(*ATTENTION),
        "up_params": setup.params("kv_b_proj"),
        "expert_stack": stack,
        "other_params": setup.params(*OUTSIDE)
        + assumed.embedding_table_read * setup.params("embed_tokens"),
        "table_params": setup.params("embed_tokens"),
        "n_experts": experts.n_experts,
        "top_k": experts.top_k,
        "n_shared": experts.n_shared,
        "vanilla_pair_flops": f.VANILLA_PAIR_FLOPS(**heads),
    }


def machine(setup: Setup, assumed: Assumptions) -> Numbers:
    """Rates that kernels reach on these GPUs, and how many of them there are.

    Raises:
        LookupError: the GPU does not compute in a precision that is assumed, or
            nothing is known of kernels for its architecture.
    """
    device = setup.accelerator
    share = assumed.kernels_on(device)
    return {
        "read_rate": float(device.hbm_bw) * share.memory,
        "cache_rate": float(device.hbm_bw) * share.cache,
        "attn_rate": float(device.peak(assumed.attention)) * share.attention,
        "gemm_rate": float(device.peak(assumed.gemm)) * share.gemm,
        "far_rate": float(setup.far.bandwidth) * share.far,
        "near_rate": float(setup.near.bandwidth) * share.near,
        "launch_s": share.launch_s,
        "n_nodes": setup.n_nodes,
        "ep": setup.n_gpus,
        "host_s": assumed.host_s,
        "overlap_slowdown": assumed.overlap_slowdown,
    }


def traffic(setup: Setup, assumed: Assumptions) -> Numbers:
    """Copies of a row, their bytes in all layers, and how unevenly they fall."""
    experts = setup.experts
    layers = setup.model.n_layers
    layers -= 0 if assumed.dense_layers_send else experts.n_dense_layers
    there, back = map(number_bytes, (assumed.dispatch, assumed.combine))
    start = assumed.kernels_on(setup.accelerator).transfer_start_s
    return {
        "transfer_starts_s": TRANSFERS * layers * start,
        "dispatched_copies": experts.top_k
        + assumed.shared_expert_sent * experts.n_shared,
        "copy_bytes": layers * setup.model.d_model * (there + back),
        "dispatch_share": there / (there + back),
        "balancedness": assumed.balancedness if setup.n_gpus > 1 else 1.0,
    }
