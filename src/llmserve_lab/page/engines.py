"""What the book's mechanisms are called in vLLM: one table, one pinned release.

Every name was read in the sources of that release; ``path`` is relative to its root.
Whatever a page calls an option or a metric of the engine stands here, and a test looks
through all pages: options by concept, further options, metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from llmserve_lab.checks import key_of

ENGINE, VERSION = "vLLM", "0.33.0"
SOURCE = "https://github.com/vllm-project/vllm/blob/v0.33.0/"
DOCS = "https://docs.vllm.ai/en/v0.33.0/"
SERVE, BENCH_SERVE, METRICS_PAGE = "cli/serve/", "cli/bench/serve/", "usage/metrics/"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
SCHEDULER_CONFIG = "vllm/config/scheduler.py"
CACHE = "vllm/v1/core/kv_cache_manager.py"
BLOCKS = "vllm/v1/core/block_pool.py"
CACHE_CONFIG = "vllm/config/cache.py"
BENCH = "vllm/benchmarks/serve.py"
DATASETS = "vllm/benchmarks/datasets/datasets.py"
ARGUMENTS = "vllm/engine/arg_utils.py"
LOGGERS = "vllm/v1/metrics/loggers.py"
NIXL = "vllm/distributed/kv_transfer/kv_connector/v1/nixl/stats.py"
CONNECTOR = "vllm/distributed/kv_transfer/kv_connector/v1/base.py"
PARALLEL_CONFIG = "vllm/config/parallel.py"
LINEAR = "vllm/model_executor/layers/linear.py"
COMMUNICATORS = "vllm/distributed/device_communicators"
PROXY = "tests/v1/kv_connector/nixl_integration/toy_proxy_server.py"


@dataclass(frozen=True)
class Named:
    """A name in the engine, the file where it stands, and what to know beside it."""

    name: str
    path: str
    note: str = ""

    @property
    def url(self) -> str:
        """The file in the pinned release."""
        return SOURCE + self.path

    @property
    def docs(self) -> str:
        """The page of the documentation that lists it; empty where none does."""
        if self.name.startswith("vllm:"):
            return DOCS + METRICS_PAGE
        if not self.name.startswith("--") or self.path == PROXY:
            return ""
        return DOCS + (BENCH_SERVE if self.path in (BENCH, DATASETS) else SERVE)


NAMES: dict[str, Named] = {
    "engine-loop": Named(
        "EngineCore.step()",
        "vllm/v1/engine/core.py",
        "schedule, execute the model, update from its output",
    ),
    "scheduler": Named(
        "Scheduler.schedule()",
        SCHEDULER,
        "requests that run come first, then those that wait, within one token budget",
    ),
    "policy": Named("--scheduling-policy", SCHEDULER_CONFIG, "fcfs or priority"),
    "slots": Named("--max-num-seqs", SCHEDULER_CONFIG),
    "token-budget": Named("--max-num-batched-tokens", SCHEDULER_CONFIG),
    "chunked-prefill": Named("--enable-chunked-prefill", SCHEDULER_CONFIG),
    "chunk-cap": Named(
        "--long-prefill-token-threshold", SCHEDULER_CONFIG, "0, its default, is no cap"
    ),
    "admission": Named(
        "scheduler_reserve_full_isl",
        SCHEDULER_CONFIG,
        "a request is admitted if its whole present sequence fits into free blocks",
    ),
    "preemption": Named(
        "Scheduler._preempt_request()", SCHEDULER, "blocks are freed and recomputed"
    ),
    "max-context": Named("--max-model-len", "vllm/config/model.py"),
    "block-size": Named("--block-size", CACHE_CONFIG, "16 tokens by default"),
    "memory-share": Named("--gpu-memory-utilization", CACHE_CONFIG),
    "cache-manager": Named("KVCacheManager", CACHE),
    "allocate": Named("KVCacheManager.allocate_slots()", CACHE, "blocks, or None"),
    "free": Named("KVCacheManager.free()", CACHE),
    "prefix-lookup": Named("KVCacheManager.get_computed_blocks()", CACHE),
    "prefix-caching": Named("--enable-prefix-caching", CACHE_CONFIG),
    "block-pool": Named("BlockPool.get_new_blocks()", BLOCKS),
    "block-sharing": Named("BlockPool.touch()", BLOCKS, "one reference more"),
    "free-list": Named("FreeKVCacheBlockQueue", "vllm/v1/core/kv_cache_utils.py"),
    "block-hash": Named("hash_block_tokens()", "vllm/v1/core/kv_cache_utils.py"),
    "speculation": Named("--speculative-config", "vllm/config/speculative.py"),
    "rejection": Named(
        "RejectionSampler",
        "vllm/v1/sample/rejection_sampler.py",
        "what replaces a rejected draft is called a recovered token",
    ),
    "prompt-lookup": Named(
        "NgramProposer",
        "vllm/v1/spec_decode/ngram_proposer.py",
        'method "ngram", with prompt_lookup_max and prompt_lookup_min',
    ),
    "kv-transfer": Named("KVConnectorBase_V1", CONNECTOR),
    "tensor-parallel": Named("--tensor-parallel-size", PARALLEL_CONFIG),
    "sequence-parallel": Named(
        "sp_reduce_scatter()",
        "vllm/models/common/ops/sequence_parallel.py",
        "model by model; for compiled models a pass, enable_sp in pass_config",
    ),
    "pipeline-parallel": Named("--pipeline-parallel-size", PARALLEL_CONFIG),
    "batches-in-flight": Named(
        "VllmConfig.max_concurrent_batches",
        "vllm/config/vllm.py",
        "as many as stages, one more with asynchronous scheduling",
    ),
    "layers-of-stages": Named("get_pp_indices()", "vllm/distributed/utils.py"),
    "context-parallel": Named(
        "--prefill-context-parallel-size",
        PARALLEL_CONFIG,
        "every rank gathers the keys and values of all",
    ),
    "decode-context": Named(
        "--decode-context-parallel-size",
        PARALLEL_CONFIG,
        "the cache is shared out over ranks of the tensor-parallel group",
    ),
    "merged-partials": Named(
        "merge_attn_states()", "vllm/v1/attention/ops/merge_attn_states.py"
    ),
    "data-parallel": Named("--data-parallel-size", PARALLEL_CONFIG),
    "column-parallel": Named("ColumnParallelLinear", LINEAR),
    "row-parallel": Named("RowParallelLinear", LINEAR),
    "kv-copies": Named("QKVParallelLinear.num_kv_head_replicas", LINEAR),
    "all-reduce": Named(
        "CudaCommunicator.all_reduce()", f"{COMMUNICATORS}/cuda_communicator.py"
    ),
    "expert-parallel": Named("--enable-expert-parallel", PARALLEL_CONFIG),
    "all-to-all": Named("--all2all-backend", PARALLEL_CONFIG),
    "expert-balance": Named("--enable-eplb", PARALLEL_CONFIG),
    "two-batch-overlap": Named("--enable-dbo", PARALLEL_CONFIG),
    "latent-attention": Named(
        "MLAAttention",
        "vllm/model_executor/layers/attention/mla_attention.py",
        "absorbed for requests with few new rows, plain for the others",
    ),
    "grouped-router": Named(
        "grouped_topk()",
        "vllm/model_executor/layers/fused_moe/router/grouped_topk_router.py",
        "topk_group of num_expert_group groups",
    ),
    "varlen-attention": Named(
        "flash_attn_varlen_func()",
        "vllm/v1/attention/backends/flash_attn.py",
        "its cu_seqlens_q is the batch's query_start_loc",
    ),
    "attention-backend": Named(
        "--attention-backend",
        "vllm/config/attention.py",
        "left alone, FLASH_ATTN is tried first on a Hopper GPU",
    ),
    "flash-version": Named(
        "--attention-config.flash_attn_version",
        "vllm/config/attention.py",
        "left alone, FlashAttention-3 on Hopper, 4 on Blackwell (SM100), else 2",
    ),
    "splits": Named(
        "flash_attn_max_num_splits_for_cuda_graph",
        "vllm/config/attention.py",
        "of --attention-config; 32 by default, outside CUDA graphs no bound",
    ),
    "merge": Named(
        "merge_attn_states()",
        "vllm/v1/attention/ops/merge_attn_states.py",
        "where a context is spread over GPUs; splits are merged in the kernel library",
    ),
    "quantization": Named(
        "--quantization",
        "vllm/model_executor/layers/quantization/__init__.py",
        "read from the checkpoint unless given; fp8 quantizes while loading",
    ),
    "gptq": Named(
        "auto_gptq",
        "vllm/model_executor/layers/quantization/__init__.py",
        "loads checkpoints that were quantized before",
    ),
    "cache-precision": Named(
        "--kv-cache-dtype", CACHE_CONFIG, "auto is the model's; fp8 is fp8_e4m3"
    ),
    "model-precision": Named(
        "--dtype", "vllm/config/model.py", "of weights and activations not quantized"
    ),
    "goodput": Named("--goodput", BENCH, "requests within every limit, per second"),
    "utilisation": Named(
        "--enable-mfu-metrics",
        "vllm/config/observability.py",
        "off by default; FLOPs and bytes are estimated from what was scheduled",
    ),
    "percentiles": Named(
        "--metric-percentiles", BENCH, "NumPy's linear interpolation between ranks"
    ),
}


def _listed(path: str, names: str) -> dict[str, Named]:
    """Names of one file, by themselves."""
    return {name: Named(name, path) for name in names.split()}


# Options that stand for no mechanism of the book, and those of the tools beside it.
OPTIONS: Mapping[str, Named] = MappingProxyType(
    _listed(
        ARGUMENTS,
        "--attention-config --data-parallel-address --data-parallel-rpc-port "
        "--data-parallel-size-local --data-parallel-start-rank "
        "--dbo-decode-token-threshold --enforce-eager --eplb-config "
        "--kv-events-config --kv-offloading-size --kv-transfer-config --master-addr "
        "--master-port --nnodes --node-rank --prefix-caching-hash-algo "
        "--profiler-config --watermark",
    )
    | _listed("vllm/entrypoints/common/cli_args.py", "--headless --port")
    | _listed(
        BENCH,
        "--ignore-eos --max-concurrency --model --num-warmups --percentile-metrics "
        "--profile --ready-check-timeout-sec --request-rate",
    )
    | _listed(
        DATASETS,
        "--custom-output-len --dataset-name --dataset-path --num-prompts "
        "--random-input-len --random-output-len --seed",
    )
    | _listed(
        PROXY, "--decoder-hosts --decoder-ports --prefiller-hosts --prefiller-ports"
    )
)
METRICS: Mapping[str, Named] = MappingProxyType(
    _listed(
        LOGGERS,
        "vllm:cache_config_info vllm:e2e_request_latency_seconds "
        "vllm:generation_tokens vllm:inter_token_latency_seconds "
        "vllm:iteration_tokens_total vllm:kv_cache_usage_perc vllm:num_preemptions "
        "vllm:num_requests_running vllm:num_requests_waiting vllm:prefix_cache_hits "
        "vllm:prefix_cache_queries vllm:prompt_tokens "
        "vllm:request_prefill_time_seconds vllm:request_queue_time_seconds "
        "vllm:time_to_first_token_seconds",
    )
    | _listed(
        "vllm/v1/metrics/perf.py",
        "vllm:estimated_flops_per_gpu_total vllm:estimated_read_bytes_per_gpu_total "
        "vllm:estimated_write_bytes_per_gpu_total",
    )
    | _listed(
        "vllm/v1/spec_decode/metrics.py",
        "vllm:spec_decode_num_accepted_tokens vllm:spec_decode_num_drafts "
        "vllm:spec_decode_num_accepted_tokens_per_pos",
    )
    | _listed(
        NIXL,
        "vllm:nixl_bytes_transferred vllm:nixl_num_kv_expired_reqs "
        "vllm:nixl_xfer_time_seconds",
    )
)
# What Prometheus appends to the name of a counter or a histogram.
SUFFIXES = ("_total", "_bucket", "_count", "_sum")


def shown(name: str) -> Named:
    """An option or a metric as a page writes it: ``--no-…``, ``…_total``, too.

    Raises:
        ValueError: the engine has none of this name in the table.
    """
    known = {each.name: each for each in NAMES.values()} | {**OPTIONS, **METRICS}
    plain = "--" + name.removeprefix("--no-") if name.startswith("--no-") else name
    bare = (plain.removesuffix(suffix) for suffix in SUFFIXES)
    for found in (name, plain, *(bare if name.startswith("vllm:") else ())):
        if found in known:
            return known[found]
    raise ValueError(
        f"name must be an option or a metric of {ENGINE} {VERSION} in the table, "
        f"got {name!r}"
    )


def named(concept: str) -> Named:
    """What the engine calls ``concept``.

    Raises:
        ValueError: the table has no such concept; the message lists those it has.
    """
    key_of("concept", concept, NAMES)
    return NAMES[concept]
