"""What predicts in this book: the few functions that every predicted time comes from.

A number that comes to one of these has an error band, or its record says that no
measurement stands beside it. Names are dotted, so that nothing is imported for them.
"""

from __future__ import annotations

_COST = "llmserve_lab.engine.timing.cost.IterationCost"
_TWIN = "llmserve_lab.deepseek.model"

# A function, a method or a field, and why its result is a prediction.
PREDICTORS = {
    "llmserve_lab.engine.simulate.simulate": "a server in simulated time",
    "llmserve_lab.engine.system.System.serve": "the same, run by hand",
    "llmserve_lab.capacity.record.recorded": "the same, stored",
    "llmserve_lab.disaggregation.record.recorded": "the same, stored",
    **{
        f"{_COST}.{name}": "seconds of an iteration, or of a part of it"
        for name in (
            "seconds", "compute_s", "memory_s", "read_s", "exposed_s", "fixed_s",
            "host_s", "chunk_within", "row_s", "pair_s", "weights_s", "kv_token_s",
        )
    },
    f"{_TWIN}.step_model.Twin.step_of": "a decode step of DeepSeek-V3",
    f"{_TWIN}.step_model.Twin.blocks_of": "the parts of that step",
    f"{_TWIN}.prefill.prefill_s": "a prefill step of DeepSeek-V3",
    f"{_TWIN}.prefill.prefill_blocks": "the parts of that step",
    "llmserve_lab.validation.prediction.Predictor.predict": "times of a whole server",
    "llmserve_lab.validation.experts.predict": "the same, of a mixture of experts",
    "llmserve_lab.moe.layer_time.rest_parts_s": "a layer but its routed experts",
    "llmserve_lab.moe.serving.layer_s": "the routed experts of a layer",
    "llmserve_lab.moe.prefill_time.products_s": "the products of a prefill",
    "llmserve_lab.moe.exchange_time.seconds": "dispatch or combine",
}  # fmt: skip

# Results of formulas, by their code names, that are a time of an iteration.
PREDICTED = {
    "iteration_s": "an iteration",
    "served_iteration_s": "an iteration, fitted to servers",
    "compute_s": "an iteration that computes",
    "weights_s": "an iteration that reads the weights",
    "kv_s": "an iteration that reads the cache",
    "linear_s": "the products of an iteration",
    "pairs_s": "attention in an iteration",
    **{
        name: "a decode step of DeepSeek-V3, or a part of it"
        for name in (
            "turn_s", "halves_s", "hidden_s", "mla_s", "experts_s", "all_to_all_s",
            "other_s", "attn_elementwise_s", "moe_elementwise_s", "attn_kernel_s",
            "attn_gemm_s", "expert_read_s", "expert_compute_s",
        )
    },
}  # fmt: skip

# What comes to a prediction and is none itself.
BESIDE = {
    "llmserve_lab.validation.scores": "errors: a prediction beside its measurement",
    "llmserve_lab.validation.bands": "errors",
    "llmserve_lab.validation.coverage": "errors",
    "llmserve_lab.validation.one_gpu": "errors",
    "llmserve_lab.validation.terms": "errors",
    "llmserve_lab.validation.tables": "errors",
    "llmserve_lab.validation.constants": "constants fitted to measurements",
    "llmserve_lab.validation.fit": "constants fitted to measurements",
    "llmserve_lab.validation.served": "constants fitted to measurements, and errors",
    "llmserve_lab.validation.served_cost": "a cost that is not yet asked",
    "llmserve_lab.validation.cache_blocks": "counted blocks",
    "llmserve_lab.how_wrong": "each prediction stands beside its measurement",
    **{
        f"llmserve_lab.deepseek.evaluation.{name}": "beside published runs, or errors"
        for name in (
            "ablations", "attribution", "bands", "blind_runs", "caveats",
            "decode_scores", "kernels", "predictions", "published_runs",
        )
    },
    f"{_TWIN}.step_model.Twin.settled": "what is put into a step",
    "llmserve_lab.quantization.speed.served": "a cost that is not yet asked",
    "llmserve_lab.deepseek.calibration": "constants fitted to measurements",
    "llmserve_lab.moe.exchange_time.compared": "errors",
    "llmserve_lab.moe.exchange_time.start_s": "a constant fitted to measurements",
    "llmserve_lab.engine.timing.cost_from_roofline": "a cost that is not yet asked",
    "llmserve_lab.engine.timing.cost.IterationCost.of": "a cost that is not yet asked",
    "llmserve_lab.engine.timing.cost.IterationCost.kv_blocks": "memory, not time",
    "llmserve_lab.running_example.band": "errors",
    "llmserve_lab.claims": "values that a source prints",
}  # fmt: skip

# Words in the name of a function, a property or a field that is a measured value, or
# an error against one. What is divided by a measured value is an error, too.
MEASURED = {"measured", "published", "profiled", "real"}
COMPARED = MEASURED | {"error", "errors", "off"}

# Fields that a run hands on as it was given them.
GIVEN = {"prompt_len", "output_len", "arrival_s", "budget", "clients", "num_requests"}
