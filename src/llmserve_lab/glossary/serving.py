"""Terms of serving: requests, schedulers, latencies, errors."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "request",
        "A prompt, and the answer that it is to get.",
        "continuous_batching",
        marked=False,
    ),
    Term(
        "prompt",
        "What the model is given to read.",
        "continuous_batching",
        marked=False,
    ),
    Term(
        "serving engine",
        "The program that runs a model for many requests at once; vLLM, SGLang "
        "and TensorRT-LLM are three.",
        "continuous_batching",
        (
            "inference engine",
            "inference server",
            "vLLM",
            "SGLang",
            "TensorRT-LLM",
        ),
    ),
    Term(
        "batch",
        "Requests that take part in the same pass.",
        "continuous_batching",
        ("batch size",),
        marked=False,
    ),
    Term(
        "row",
        "One token on its way through the model, a row of the matrix that is "
        "multiplied.",
        "end_to_end",
        ("rows",),
        marked=False,
    ),
    Term(
        "iteration",
        "One pass through all layers for all requests that take part; also a pass "
        "or a step.",
        "continuous_batching",
        (
            "engine step",
            "forward step",
        ),
    ),
    Term(
        "scheduler",
        "The part of a serving engine that decides which requests take part in "
        "the next iteration, and with how many tokens.",
        "continuous_batching",
    ),
    Term(
        "static batching",
        "A batch stays together until its longest answer is complete.",
        "continuous_batching",
        ("request-level batching",),
    ),
    Term(
        "continuous batching",
        "The batch is chosen anew before every iteration: what is complete "
        "leaves, what waits joins.",
        "continuous_batching",
        (
            "iteration-level scheduling",
            "in-flight batching",
            "inflight batching",
            "dynamic batching",
        ),
        said=("requests in one batch",),
    ),
    Term(
        "chunked prefill",
        "A prompt is read in pieces over several iterations, beside the decodes "
        "of others.",
        "continuous_batching",
        (
            "Sarathi",
            "stall-free batching",
            "piggybacking",
        ),
        said=(
            "chunk",
            "chunks",
        ),
    ),
    Term(
        "token budget",
        "The most tokens that an iteration may compute.",
        "continuous_batching",
        ("max_num_batched_tokens",),
    ),
    Term(
        "slot",
        "A place in the batch, for one request; also a seat.",
        "continuous_batching",
        ("max_num_seqs",),
        marked=False,
    ),
    Term(
        "padding",
        "Rows of nothing, added so that unlike prompts make a rectangle.",
        "varlen_batching",
    ),
    Term(
        "masking",
        "Computing pairs of tokens that must not see each other, and dropping them.",
        "varlen_batching",
        marked=False,
    ),
    Term(
        "varlen attention",
        "Attention over prompts of unlike lengths laid end to end, each within "
        "its own bounds.",
        "varlen_batching",
        (
            "varlen",
            "cu_seqlens",
            "ragged batching",
            "packing",
        ),
    ),
    Term(
        "preemption",
        "Taking a running request out of the batch because memory is full; its "
        "cache is dropped or moved.",
        "continuous_batching",
        (
            "eviction",
            "swapping",
            "recomputation",
        ),
    ),
    Term(
        "time to first token",
        "From the arrival of a request to the first token of its answer: the "
        "queue and the prefill.",
        "continuous_batching",
        ("TTFT",),
        said=("first token",),
    ),
    Term(
        "time per output token",
        "Mean time from one token of an answer to the next, the first left out.",
        "continuous_batching",
        ("TPOT",),
        said=(
            "gap",
            "one iteration",
            "time of an iteration",
        ),
        near=("inter-token latency",),
    ),
    Term(
        "inter-token latency",
        "A single gap between two tokens of an answer; its mean is the time per "
        "output token.",
        "continuous_batching",
        (
            "ITL",
            "time between tokens",
            "TBT",
        ),
        said=(
            "gap",
            "one iteration",
            "time of an iteration",
        ),
        near=("time per output token",),
    ),
    Term(
        "end-to-end latency",
        "From the arrival of a request to the last token of its answer.",
        "continuous_batching",
        (
            "E2E latency",
            "end-to-end time",
        ),
    ),
    Term(
        "throughput",
        "Tokens or requests per second of a whole server.",
        "continuous_batching",
        ("tokens per second",),
    ),
    Term(
        "goodput",
        "Requests per second that keep the promised latencies; of a deployment, the "
        "largest rate at which nine in ten keep them.",
        "continuous_batching",
        ("SLO attainment",),
    ),
    Term(
        "service level",
        "A promise about latency: so many per cent of requests within so much time.",
        "disaggregation",
        (
            "SLO",
            "SLA",
            "service-level objective",
        ),
    ),
    Term(
        "percentile",
        "The value that so many per cent of all requests stay below: P99 is the "
        "one of ninety-nine per cent.",
        "continuous_batching",
        (
            "P99",
            "P50",
            "tail latency",
        ),
    ),
    Term(
        "open loop",
        "A load whose requests arrive by a clock, whether or not earlier ones "
        "are complete.",
        "continuous_batching",
    ),
    Term(
        "closed loop",
        "A load of so many clients, each of which sends its next request when "
        "it has its answer.",
        "continuous_batching",
        ("concurrency",),
    ),
    Term(
        "prefill/decode disaggregation",
        "Prefill and decode on GPUs of their own, with the cache sent from one "
        "pool to the other.",
        "disaggregation",
        (
            "disaggregated serving",
            "PD disaggregation",
            "prefill–decode disaggregation",
            "DistServe",
            "Splitwise",
            "Mooncake",
        ),
    ),
    Term(
        "pool",
        "GPUs that do the same phase.",
        "disaggregation",
        (
            "prefill pool",
            "decode pool",
        ),
        marked=False,
    ),
    Term(
        "Attention–FFN disaggregation",
        "Attention and feed-forward networks on machines of their own.",
        "attention_ffn",
        (
            "AFD",
            "attention-FFN disaggregation",
        ),
    ),
)
