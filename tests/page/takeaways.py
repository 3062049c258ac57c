"""The lists "Remember", read once more: numbers by name, words with an opposite."""

# Of each sentence in its order: the names of its numbers, and between them in quotes
# the words that could be turned round, each with the word after it.
KEPT: dict[str, list[str]] = {
    "attention_ffn": [
        (
            "‘further Attention’ ‘long as’ balance loop_two ‘with the’ ‘With prompts’ "
            "prompt_long loop_long"
        ),
        "‘nothing of’ three_word ‘no port’ ‘longer than’ third_lost",
        "‘Long requests’ ‘many steps’ meets",
        "lost_top ‘best ratio’ lost_far far",
        (
            "gpus tight ‘best split’ behind_free ‘less than’ ‘with a’ all_behind "
            "‘less in’ n_behind n_variants ‘fast it’ half_ahead ‘With one’ "
            "behind_node ahead_node ‘No such’"
        ),
    ],
    "capacity": [
        "price afternoon rate_only ‘faster some’ ‘with a’ ‘slower’",
        "‘Beyond the’ ‘rises but’ ‘falls at’ past_rate past_kept",
        "‘with the’ ratio low_ratio",
        "day_high day_used ‘with the’ ‘with the’",
        "slow target ‘best one’ flight_missed ‘late with’ ‘with fast’ fast flight_fast "
        "‘always stand’ fixed_missed fixed_day_h ‘with the’ loop_day_h ‘slow start’ "
        "auto_late ‘late in’ ‘worst half’",
    ],
    "continuous_batching": [
        "‘longest answer’ ‘with slots’ slots idle_many",
        "‘before every’ ‘with slots’ slots prompt answer sat_factor",
        "long freeze timed_whole",
        (
            "budget gap_small ‘most timed_gap’ timed_gap later ‘later later_least’ "
            "later_least later_most"
        ),
        "‘not a’ target fits_start fits_end",
    ],
    "deepseek_twin": [
        "dt_kv dt_factor ‘less than’ dt_heads",
        "‘not from’ dt_absorb ‘long cache’ ‘fewer FLOPs’",
        ("‘longest dt_sent_share’ dt_sent_share dt_many dt_n_gpus ‘after another’"),
        (
            "‘with many’ ‘many requests’ ‘with few’ ‘few dt_step_two’ dt_step_two "
            "dt_step_one ‘with dt_many’ dt_many dt_context dt_few_two dt_few_one "
            "‘with dt_few’ dt_few"
        ),
        (
            "‘larger group’ ‘strict or’ dt_n_gpus dt_ep32 dt_more33 dt_t33 "
            "dt_more50 dt_target dt_more100 dt_t100 dt_uneven33 dt_uneven50 "
            "dt_uneven100 ‘No run’ "
            "dt_at72 dt_target dt_range72"
        ),
    ],
    "disaggregation": [
        "prompt late_fast ‘late over’ made ‘late by’ sent",
        "‘small part’ on_wire handover",
        "ride ‘longer at’ per_gpu ‘grows from’ hand_step gap_round",
        (
            "‘With a’ strict prompt_bare answer_count ‘least strict_more’ strict_more "
            "‘more requests’ ‘with one’ ‘least lead_strict’ lead_strict "
            "‘more than’ ‘with one’ budget_small ‘with loose’ loose ‘nothing’"
        ),
        (
            "‘faster than’ prefix share_link dram_gain ‘fast whereas’ ‘faster only’ "
            "‘more than’"
        ),
    ],
    "end_to_end": [
        "layers vocab",
        "‘no row’ ‘later one’ ‘never change’ kv_token",
        "row_flops prompt_row share_ffn",
        "prompt answer ratio held",
        "read_bytes",
    ],
    "flash_attention": [
        "book square_layer",
        "d_head ‘larger score’",
        (
            "‘With tile’ tile d_head ‘long causal’ less_book ‘fewer bytes’ "
            "less_whole less_skip both_len over_plain ‘fast as’"
        ),
        ("heads_kv sms ‘with splits’ splits long_tokens gain ‘fast on’ ‘with this’"),
        "short decode_of_step ‘fewer bytes’",
    ],
    "how_wrong": [
        (
            "‘With one’ tpot dense_blind ‘always too’ ‘short and’ second_blind "
            "fourth_blind"
        ),
        "rung_sheet ‘always too’ ‘fast and’ ‘largest correction’",
        "‘worse than’ ttft",
        "‘within one’ full_ttft",
        "‘not made’ single_least single_most first_least first_most dense_held",
    ],
    "kv_memory": [
        "kappa_kib tokens share ‘with up’ uncrossed",
        "limit used_reserved block used_paged",
        "saved",
        (
            "‘no room’ ‘raises the’ ‘with assistants’ assistants prompts_fit "
            "hits_load hits_prefix"
        ),
        (
            "‘with slots’ slots card_slots ‘within worst_error’ worst_error "
            "‘with seqs’ seqs ‘within log_error’ log_error scout_off ‘high for’"
        ),
    ],
    "mixture_of_experts": [
        (
            "‘more experts’ ‘few hundred’ crowd_users touched64 experts hit "
            "routed64 ‘many as’"
        ),
        "ridge_rows sparse ‘many as’",
        (
            "‘smallest group’ ‘with kept’ kept least least_h200 ‘larger one’ ‘more "
            "room’ ‘long requests’"
        ),
        (
            "large ‘less time’ small ‘below about’ law_rows ‘more above’ ‘above "
            "because’ ‘longer’"
        ),
        (
            "hot middle ‘with rows’ rows hot32 ‘long although’ hot32_layer "
            "turn32 ‘not measured’ small ‘no longer’ ‘longer but’"
        ),
    ],
    "parallelism": [
        (
            "alone_ms ‘large GPU’ ‘sooner first’ ‘long prompts’ ‘not faster’ "
            "‘faster tokens’"
        ),
        ("‘shrinks with’ ‘with the’ hand_more_bubble ‘with sixteen’ ‘many batches’"),
        (
            "fewer fewer_two ‘many tensor-parallel’ ‘no room’ ‘long prompts’ "
            "‘sooner In’ ‘no pipeline’"
        ),
        (
            "‘With one’ busy_eight ‘least miss’ miss ‘With fewer’ ‘fewer queries’ "
            "‘below a’ border_least_rows border_rows"
        ),
        "ds_even",
    ],
    "quantization": [
        ("‘largest number’ ‘largest code’ ‘no weight’ ‘more than’ b_nvfp4 ‘not four’"),
        "‘Large numbers’ g128 clean_128 ‘With outlier’ spoil_128 g16 spoil_16",
        "logit_gptq logit_rtn ‘not seen’",
        "‘below about’ crossover cross_least cross_most heads_32 ‘grows with’ "
        "‘with the’",
        "‘more than’ ‘many with’ ‘with a’ ‘with a’ ev_error ev_error_seen",
    ],
    "roofline": [
        "read_s row_s",
        "ridge_rows prompt",
        (
            "batch ‘with context’ context ‘least bound_short’ bound_short batch "
            "bound_one_short"
        ),
        (
            "‘not share’ ‘with context’ context ‘no batch’ ‘large does’ ‘more than’ "
            "endless"
        ),
        "‘longer than’ batch alone_batch alone_mbu total",
    ],
    "speculative_decoding": [
        "‘with chance’ texts",
        "flat_plain ‘many tokens’ ‘with a’ ‘worst error’ fall_worst",
        "‘with four’ four plain ‘not’",
        "eagle_gain_one eagle_gain_many batch128 eagle_said_one eagle_said_many",
        (
            "lose_eight ‘with chance’ alpha ‘later ones’ ‘less often’ ‘with rate07’ "
            "rate07"
        ),
    ],
    "symptoms": [
        "gap_whole gap_cut ‘long prompt’ gap_pre gap_vain",
        (
            "‘late first’ long_share ‘with long’ ‘long prompts’ few_share ‘with "
            "too’ ‘few slots’"
        ),
        "‘many law_rate’ law_rate law_queue law_waiting ‘long as’",
        (
            "share_new share_old ‘not end’ safe ‘more than’ ‘below the’ "
            "‘raises the’ ‘more work’"
        ),
        "n_help n_priced ‘worse by’ helps ‘more checked’",
    ],
    "tensor_parallel": [
        "calls",
        "‘less than’ shot_seen nccl_seen",
        "‘above turn_rows’ turn_rows ‘faster than’ vllm_kib",
        "‘not from’ ‘with quantized’ gain_4 predicted_4 gain_eight ‘not measured’",
        "fit_two usual fit_eight ‘most checked’",
    ],
    "varlen_batching": [
        "‘longest batches’ pad8",
        "many many ‘many pairs’",
        "",
        "overtake",
        "best_measured ‘fast at’ best_rows ‘no faster’ ‘faster at’ flat_rows",
    ],
}
