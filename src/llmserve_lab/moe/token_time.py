"""Time of a whole token: the opening's server, and a published decode beside the model.

Both add up the parts of a layer from ``layer_time`` over all MoE layers.
"""

from __future__ import annotations

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS, DecodeRun
from llmserve_lab.catalog.evidence.deployments import PROFILED_DECODE
from llmserve_lab.moe import deadline, layer_time
from llmserve_lab.moe.exchange_time import exchange_s, hot_exchange_s, start_s
from llmserve_lab.moe.formulas import EXPERT_PARAMS
from llmserve_lab.moe.grouped_router import busiest_reads
from llmserve_lab.moe.kernel_time import kernel_s, kernels, kernels_s, layer_kernels_s
from llmserve_lab.moe.serving import GPUS, MOE_LAYERS, setting
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.served import PART

__all__ = [
    "R1",
    "counted_error",
    "floor_s",
    "hot_in_turn_s",
    "kernel_s",
    "kernels",
    "kernels_s",
    "measured_crowd",
    "opening_s",
    "predicted_crowd_s",
    "predicted_s",
    "profiled_s",
]
NODE = 8.0  # GPUs of one server
R1 = "deepseek-ai/DeepSeek-R1-0528"
CROWD = 64  # requests of the opening


def opening_s(n_rows: int, context: float = layer_time.CONTEXT) -> dict[str, float]:
    """Parts of a token's time on one server of eight H200, in seconds.

    The experts are those of the busiest GPU. With one request a single GPU has it.
    The fixed time of kernels is in none of the parts: see ``kernel_time``.
    """
    known, gpu = setting(GPUS[1]), GPUS[1]
    reached = float(known["hbm_bw"]) * float(known["eff_mem"])
    expert_s = float(EXPERT_PARAMS.at(known)) / reached  # FP8: a byte a parameter
    own = max(1.0, n_rows / NODE)
    layer = {
        "experts": busiest_reads(n_rows) * expert_s,
        "rest": layer_time.rest_s(own, context, gpu),
        "sending": exchange_s(NODE, own, gpu),
    }
    return {name: MOE_LAYERS * each for name, each in layer.items()}


def floor_s(ep: float) -> float:
    """Seconds that a layer takes for any batch that reads all its experts, on H800.

    Weights are read, and two transfers take their constant; each token adds to it.
    """
    known = setting()
    reached = float(known["hbm_bw"]) * float(known["eff_mem"])
    held = float(EXPERT_PARAMS.at(known)) * float(known["n_experts"]) / ep
    return held / reached + layer_time.rest_s(0.0) + 2 * start_s()


def hot_in_turn_s(ep: float, gpu_rows: float, hot_share: float) -> float:
    """Seconds of a layer in sequence if one H800 draws so much of all choices."""
    above = ep * hot_share + 1 - hot_share  # times the mean load
    parts = layer_time.hot_layer_s(ep, ep * gpu_rows, hot_share, GPUS[0])
    sent_s = hot_exchange_s(ep, above, gpu_rows)
    return max(parts.values()) + sent_s + layer_time.rest_s(gpu_rows)


def measured_crowd() -> DecodeRun:
    """A decode of as many requests as the opening's crowd on eight H200, FP8."""
    wanted = ("h200-sxm", "fp8", int(NODE), CROWD / NODE, "sglang")
    return next(
        run
        for run in DECODE_RUNS
        if (run.accelerator, run.precision, run.ep, run.requests_per_gpu, run.engine)
        == wanted
    )


def predicted_crowd_s() -> float:
    """The same by this chapter's model; caches half way through the answers."""
    run = measured_crowd()
    context = run.prompt_tokens + run.output_tokens / 2
    return sum(opening_s(CROWD, context).values()) + kernels_s()


def profiled_s() -> float:
    """Seconds of a token in DeepSeek's published profile, if nothing was drafted."""
    record = PROFILED_DECODE
    assert record.batch is not None
    return float(record.batch) / float(record.gpu_tokens_per_s)


def predicted_s() -> dict[str, float]:
    """The same token by this chapter's model, in sequence and in two halves.

    "hidden" is the time of two halves if the fixed time of a half's kernels passed
    while the other half is sent; "halves" takes it twice besides.
    """
    record = PROFILED_DECODE
    assert record.batch is not None
    ep, rows = float(record.n_gpus), float(record.batch)
    context = float(record.context)
    works, sends = layer_time.halves_s(ep, rows, context)
    hidden = 2 * MOE_LAYERS * max(works + layer_kernels_s(), sends)
    return {
        "in turn": deadline.in_turn_s(ep, rows, context=context),
        "halves": deadline.halves_s(ep, rows, context),
        "hidden": hidden,
    }


def counted_error() -> float:
    """Mean error of TPOT on DeepSeek-R1's servers, constants fitted to others.

    It has the shape of DeepSeek-V3. The form of the prediction is that of
    :mod:`llmserve_lab.validation.served_cost`, which counts kernels as here.
    """
    return float(record()[PART]["model left out"][R1]["tpot"]["mean"])
