"""What a paragraph derives in words from its other numbers, read once more.

On the left the name of a number as the prose links it, on the right what the words
around it say that it is: made of numbers by their names, as they are printed.
"""

DERIVED: dict[str, tuple[str, ...]] = {
    "attention_ffn": (
        "hand_attn = hand_slope × hand_batch × hand_theta + hand_fixed",
        "hand_each = hand_batch × hand_ffn_slope",
        "hand_ffn = hand_each + hand_ffn_fixed",
        "hand_busy = hand_ffn / hand_attn",
        "hand_eight = 8 × hand_each + hand_ffn_fixed",
        "eight_busy = hand_eight / hand_attn",
        "hand_bigger_rate = hand_bigger / hand_round",
        "hand_group = group_requests / hand_round",
        "gpus = split_attn + split_ffn",
        "group_step = group_attn + group_ffn + group_wait + group_rest",
        "h_attn = h_gemm + h_kernel + h_small_us",
        "halves_rate = group_batch / group_step",
    ),
    "capacity": (
        "hour_requests = rate_only × hour_s",
        "gpu_both = gpu_in + gpu_out",
        "step_prompt = step_shared − step_alone",
        "step_sum = step_steps × step_each",
        "bill = bill_in + bill_out",
        "day_quotient = day_high / azure_goodput",
        "day_paid = day_busy / day_used",
        "day_saved = day_busy / day_better",
        "surplus = burst_high − ready",
        "backlog = slow_s × surplus",
        "late_all = burst_high × slow_s",
        "little = rate_only × little_s",
        "target_most = little / tolerated",
        "own_flight = azure_goodput × own_latency",
    ),
    "continuous_batching": ("sat_factor = sat_continuous / sat_static",),
    "end_to_end": ("ratio = again / once", "time_ratio = time_again / time_once"),
    "kv_memory": (
        "left_mib = allowed − weights − beside",
        "fit = tokens / context",
        "used_paged = mean_held / paged_mean",
    ),
    "mixture_of_experts": (
        "sum_alone = alone + rest_alone + sent_alone",
        "sum_crowd = crowd + rest_crowd + sent_crowd",
        "times_all = sum_crowd / sum_alone",
        "routed64 = touched64 / k",
        "less_work = total / active",
        "toy_travel = toy_choices − toy_stay",
        "toy_all = 2 × toy_travel",
    ),
    "parallelism": (
        "hand_gain = hand_one_gpu / hand_total",
        "miss = kv_each / q_each",
        "new_share = new / ( old + new )",
        "follow = kv_each × ( old + new ) / ( q_each × new )",
        "block_each = ( old + new ) / 4",
        "block_bytes = block_each × kv_each",
        "new_each = new / 4",
    ),
    "roofline": (
        "big_per_s = h200_bw / big_bytes",
        "total = alone_batch + served_more",
    ),
    "speculative_decoding": ("ratio_small = small_ms / plain_ms",),
    "symptoms": (
        "law_waiting = law_rate × law_queue",
        "law_running = law_rate × ( law_latency − law_queue )",
        "c_needs = storm_prompt + c_written",
        "loop_latency = loop_clients / loop_rate",
        "ms_waits = ms_queue / ms_whole",
        "ms_queue = ms_after − ms_before",
    ),
    "tensor_parallel": (
        "gain_eight = hand_sum / token_eight",
        "token_eight = work_eight + still_eight",
        "fit_factor = fit_eight / fit_two",
    ),
    "varlen_batching": (
        "hook_wasted = hook_padded − hook_packed",
        "pad8 = hook_wasted / hook_padded",
        "short_share = short_useful / short_slots",
        "timed_free = timed_attention / ( timed_pass − timed_attention )",
    ),
}
