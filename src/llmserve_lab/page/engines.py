"""What the book's mechanisms are called in vLLM: one table, one pinned release.

Every name was read in the sources of that release; ``path`` is relative to its root.
"""

from __future__ import annotations

from dataclasses import dataclass

ENGINE, VERSION = "vLLM", "0.33.0"
SOURCE = "https://github.com/vllm-project/vllm/blob/v0.33.0/"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
SCHEDULER_CONFIG = "vllm/config/scheduler.py"
CACHE = "vllm/v1/core/kv_cache_manager.py"
BLOCKS = "vllm/v1/core/block_pool.py"
CACHE_CONFIG = "vllm/config/cache.py"
BENCH = "vllm/benchmarks/serve.py"
CONNECTOR = "vllm/distributed/kv_transfer/kv_connector/v1/base.py"
PARALLEL_CONFIG = "vllm/config/parallel.py"
LINEAR = "vllm/model_executor/layers/linear.py"
COMMUNICATORS = "vllm/distributed/device_communicators"


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
        "model by model, no option of its own",
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
        "plain for what the scheduler calls prefill, absorbed for decode",
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
        "read from the checkpoint unless given; fp8 quantises while loading",
    ),
    "gptq": Named(
        "auto_gptq",
        "vllm/model_executor/layers/quantization/__init__.py",
        "loads checkpoints that were quantised before",
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


def named(concept: str) -> Named:
    """What the engine calls ``concept``.

    Raises:
        ValueError: the table has no such concept; the message lists those it has.
    """
    if concept not in NAMES:
        raise ValueError(f"concept must be one of {', '.join(NAMES)}, got {concept!r}")
    return NAMES[concept]
