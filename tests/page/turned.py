"""Titles and sentences of figures, read once more: words that have an opposite.

Each stands with the word after it. A figure that is not named has no such word.
"""

TITLES: dict[str, str] = {
    "afd.every_split": "‘With the’ ‘no split’",
    "afd.throughput": "‘best ratio’",
    "capacity.burst_by_minute": "‘after the’",
    "capacity.cost_latency": "‘fuller the’ ‘cheaper a’ ‘slower its’",
    "continuous_batching.blocks_run_out": "‘No block’",
    "continuous_batching.chunk_from_target": "‘further a’ ‘fewer rows’",
    "continuous_batching.mixed_iterations": "‘fewer rows’",
    "deepseek.two_batches": "‘with many’ ‘many requests’ ‘with few’ ‘few they’",
    "deepseek.group_size": "‘Beyond H100s’ ‘larger groups’",
    "deepseek.waterfall": "‘With requests’",
    "disaggregation.goodput": "‘most’",
    "disaggregation.promises": "‘strict promise’ ‘more than’",
    "disaggregation.routes_by_rule": "‘shortest bar’ ‘best it’ ‘with the’ ‘later of’",
    "end_to_end.heat": "‘high temperature’",
    "flash_attention.split_decoding": "‘after fewer’ ‘fewer ticks’",
    "flash_attention.tiles_walked": "‘No score’",
    "flash_attention.traffic": "‘fewer bytes’",
    "how_wrong.ladder": "‘most of’",
    "how_wrong.residuals": "‘short for’ ‘long for’",
    "kv_memory.capacity": "‘longer each’ ‘fewer requests’",
    "moe.group": "‘larger group’ ‘less reading’ ‘more sending’",
    "moe.route": "‘few experts’ ‘most GPUs’",
    "moe.touched": "‘larger the’ ‘more experts’",
    "parallelism.pipe_rate": "‘grows until’ ‘many batches’",
    "parallelism.pipeline": "‘few batches’",
    "parallelism.pipeline_steps": "‘few batches’",
    "quantization.few_bits": "‘fewer bits’",
    "quantization.gptq_columns": "‘not’",
    "roofline.batch_and_context": "‘With long’ ‘long contexts’ ‘no batch’ ‘large’",
    "roofline.iteration_time": "‘long as’ ‘longer of’",
    "roofline.reuse": "‘longer than’",
    "roofline.tile_reuse": "‘longer than’",
    "speculative.tokens_of_a_pass": "‘Later drafts’ ‘less often’",
    "speculative.when_drafts_lose": "‘larger the’ ‘less drafts’ ‘many of’",
    "symptoms.storm": "‘fewer slots’",
    "symptoms.storm_steps": "‘fewer slots’",
    "tensor_parallel.all_reduce": "‘fastest for’ ‘small tensors’ ‘large ones’",
    "tensor_parallel.collectives_on_four": "‘many steps’",
    "tensor_parallel.tp_time": "‘not’",
    "varlen.attention_share": "‘large models’ ‘after tens’",
    "varlen.attention_square": "‘within each’",
}
# Of live figures; those of stills stand in tests/data/seen.
SENTENCES: dict[str, str] = {
    "afd.every_split": "‘most target’ ‘best split’",
    "afd.throughput": "‘best ratio’ ‘with the’ ‘best ratio’",
    "capacity.cost_latency": "‘most ttft’ ‘most tpot’",
    "continuous_batching.chunk_from_target": "‘after a’",
    "continuous_batching.lanes": "‘after first_s’",
    "deepseek.group_size": (
        "‘least every’ ‘with gpu_requests’ ‘No point’ ‘not fit’ ‘no batch’"
    ),
    "deepseek.waterfall": (
        "‘with context’ ‘after another’ ‘with the’ ‘not fully’ ‘longer counts’"
    ),
    "disaggregation.goodput": (
        "‘within ms’ ‘further one’ ‘with one’ ‘with extra’ ‘with two’"
    ),
    "disaggregation.promises": "‘with one’ ‘with two’ ‘best split’ ‘large fleet’",
    "end_to_end.again_or_once": "‘with a’",
    "flash_attention.decode_splits": "‘with context’ ‘least time’",
    "how_wrong.ladder": "‘With these’",
    "kv_memory.capacity": "‘few slots’",
    "moe.group": "‘with gpu_rows’",
    "moe.route": "‘many copies’ ‘With DeepSeek-V3's’ ‘with one’ ‘with one’",
    "moe.touched": "‘With the’",
    "parallelism.pipe_rate": "‘with batch’ ‘nothing to’ ‘no pipeline’",
    "quantization.few_bits": "‘with context’ ‘with weights’ ‘with bits’",
    "roofline.attention_kinds": "‘with a’ ‘long context’",
    "roofline.batch_and_context": "‘with context’",
    "roofline.iteration_time": "‘least decode_iteration_s’ ‘least prefill_iteration_s’",
    "roofline.roofline": "‘with context’",
    "speculative.tokens_of_a_pass": "‘with eight’",
    "speculative.when_drafts_lose": "‘with chance’ ‘with batch’",
    "tensor_parallel.tp_time": "‘with context’ ‘fast as’ ‘with enough’ ‘no room’",
    "varlen.attention_share": "‘more FLOPs’ ‘most of’",
}
