"""Sentences of live figures, read once more: where each number stands, and why."""

# What the words of a sentence cannot tell apart, read once more: each field with what
# stands right before it.
ORDER: dict[str, dict[str, str]] = {
    "afd.every_split": {
        "split_gpu_tokens_per_s": ", makes ",
        "group_gpu_tokens_per_s": "on each GPU, one group ",
    },
    "afd.throughput": {
        "n_batches": "answers of {mean_decode}, ",
        "ratio_best": "the paper's best ratio is ",
        "ratio_pipeline": "with the loop counted the best ratio is ",
    },
    "deepseek.waterfall": {
        "attn_phase_s": "attention takes ",
        "attn_elementwise_s": "{attn_phase_s} (",
        "moe_phase_s": "the experts ",
        "moe_elementwise_s": "{moe_phase_s} (",
        "other_s": "other layers ",
    },
    "moe.traffic": {
        "n_rows": "",
        "busiest_rows": "for any other, ",
        "hot_bytes": "to rank 0: every rank has ",
        "cold_bytes": "for it and ",
    },
    "quantization.few_bits": {
        "few_bits_step_s": "a step takes ",
        "wide_few_bits_step_s": "with 16 bits ",
    },
    "roofline.attention_kinds": {
        "mha_limit": "multi-head attention ends at ",
        "gqa_limit": "grouped-query attention at ",
        "mla_limit": "latent attention at ",
    },
    "roofline.iteration_time": {
        "decode_iteration_s": "one decode iteration for {batch} takes at least ",
        "prefill_iteration_s": "a prefill of {chunk} takes at least ",
    },
    "roofline.roofline": {
        "products_intensity": "their products do ",
        "attn_intensity": "their attention does ",
    },
    "tensor_parallel.all_reduce": {
        "one_shot_s": "To add it up on {n_ranks} × H100 takes ",
        "in_switch_s": "{one_shot_s} in one shot, ",
        "all_reduce_s": "{in_switch_s} in the switch and ",
    },
    "speculative.when_drafts_lose": {
        "n_draft": "Chains of ",
        "accepted": "a pass yields ",
    },
    "varlen.attention_square": {
        "len_1": "Lengths ",
        "len_2": "{len_1}, ",
        "len_3": "{len_2}, ",
        "len_4": "{len_3} and ",
    },
}
FIELDS = {  # of each sentence, in the order in which its words ask for them
    "afd.every_split": (
        "device context target overlap af_ratio split_gpu_tokens_per_s "
        "group_gpu_tokens_per_s"
    ),
    "afd.throughput": (
        "batch mean_prompt mean_decode n_batches wire ratio_best ratio_pipeline hidden"
    ),
    "deepseek.group_size": (
        "held target ep_at gpu_tokens_per_s gpu_requests limit schedule"
    ),
    "deepseek.waterfall": (
        "ep device gpu_requests context attn_phase_s attn_elementwise_s moe_phase_s "
        "moe_elementwise_s all_to_all_s other_s turn_s room"
    ),
    "capacity.cost_latency": (
        "model accelerator gpu_hour load ttft tpot replica_rate price busy_cost"
    ),
    "continuous_batching.chunk_from_target": "context tbt_target chunk_fits",
    "continuous_batching.lanes": "limit first_s",
    "disaggregation.goodput": (
        "load limit large_goodput small_goodput extra pools_goodput hand"
    ),
    "disaggregation.links": (
        "model accelerator prompt_len handoff_bytes made_kv_made_per_s link "
        "transfer_s exposed_s"
    ),
    "disaggregation.promises": (
        "prompt_len new_tokens tpot_target one_shared_rate two_best_pools_rate"
    ),
    "end_to_end.again_or_once": (
        "model prompt_len new_tokens recompute_flops cached_flops flops_ratio "
        "kv_held_bytes"
    ),
    "flash_attention.decode_splits": (
        "batch context n_split decode_attn_s merge_s least_read_s"
    ),
    "flash_attention.traffic": (
        "prompt_len tile_rows tile_keys plain_intensity tiled_intensity ridge"
    ),
    "how_wrong.ladder": ("tpot_error tpot_low tpot_high ttft_error ttft_low ttft_high"),
    "how_wrong.residuals": (
        "kind left mean_error mean_low mean_high median_error all_bias tensorrt_bias "
        "vllm_bias"
    ),
    "moe.group": ("ep gpu_rows rows_per_expert layer_read_s layer_compute_s"),
    "moe.memory": ("ep gpu gpu_weight_bytes reserved_bytes holds"),
    "moe.route": ("row top_k rule row_copies row_out_bytes expert_copies_bytes"),
    "moe.touched": ("n_rows top_k n_experts touched_experts read_ratio"),
    "moe.traffic": (
        "n_rows top_k hot_share hot_bytes cold_bytes busiest_rows balancedness"
    ),
    "parallelism.pipe_rate": (
        "model n_stages link n_batches batch pipe_token_s pipe_rate decode_bubble "
        "stage_bytes fits"
    ),
    "quantization.few_bits": (
        "model accelerator batch context weights cache few_bits_step_s "
        "wide_few_bits_step_s multiplied"
    ),
    "roofline.attention_kinds": (
        "batch accelerator mha_limit gqa_limit mla_limit ridge"
    ),
    "roofline.batch_and_context": ("batch context decode_intensity ridge"),
    "roofline.iteration_time": ("batch decode_iteration_s chunk prefill_iteration_s"),
    "roofline.roofline": (
        "model accelerator batch context products_intensity attn_intensity ridge "
        "chunk held_bytes"
    ),
    "tensor_parallel.all_reduce": (
        "n_rows hidden_bytes n_ranks one_shot_s in_switch_s all_reduce_s"
    ),
    "tensor_parallel.tp_time": (
        "model n_ranks accelerator batch context tp_s rank_s link_s tp_speedup "
        "rank_bytes fits"
    ),
    "speculative.tokens_of_a_pass": (
        "curve measured_accepted flat_accepted falling_accepted"
    ),
    "speculative.when_drafts_lose": (
        "n_draft accept_rate draft_cost batch accepted accepted_needed"
    ),
    "kv_memory.capacity": "cache_bytes mean_held request_cache_bytes batch_fits",
    "varlen.attention_share": ("model overtake_prompt row_prompt read_whole larger"),
    "varlen.attention_square": (
        "len_1 len_2 len_3 len_4 padded_pairs masked_pairs varlen_pairs useful_pairs"
    ),
}
