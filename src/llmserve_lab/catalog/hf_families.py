"""Families of models: what the fields of a ``config.json`` mean in each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmserve_lab.catalog.hf_fields import ConfigFields
from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.ffn import MoeFfn, SwigluFfn

QWEN3_D_HEAD = 128  # Qwen3Config's default, whatever hidden_size is
# Families whose files differ from Llama's in names of fields and in a norm or a bias.
QK_NORM = ("qwen3", "qwen3_moe")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
NUMBER_AND_WIDTH = ("num_local_experts", "intermediate_size")  # of experts


def _grouped_heads(config: ConfigFields) -> tuple[int, int]:
    """Query and key–value heads; null means multi-head in every family."""
    n_heads = config.count("num_attention_heads")
    # Files from before grouped-query attention do not have the field: it meant one
    # key–value head for each query head.
    optional = config.fields["model_type"] == "llama"  # older files lack the field
    null = config.is_null("num_key_value_heads")
    default = n_heads if optional or null else None
    n_kv_heads = config.count("num_key_value_heads", default)
    if n_heads % n_kv_heads:
        raise config.error(
            "num_key_value_heads", f"must divide num_attention_heads = {n_heads}"
        )
    return n_heads, n_kv_heads


def _head_width(config: ConfigFields, n_heads: int) -> int:
    """Width of a head: given, or the family's default."""
    if config.fields["model_type"] in QK_NORM:
        return config.count("head_dim", QWEN3_D_HEAD)
    if config.fields.get("head_dim") is not None:
        return config.count("head_dim")
    d_model = config.count("hidden_size")
    if d_model % n_heads:
        raise config.error(
            "hidden_size", f"must be a multiple of num_attention_heads = {n_heads}"
        )
    return d_model // n_heads


def _dense(config: ConfigFields) -> tuple[GroupedQueryAttention, SwigluFfn]:
    """llama, mistral, qwen2, qwen3, phi3, gemma2: biases and norms tell them apart."""
    config.must_be("mlp_bias", False)
    for field in EXPERTS:
        config.must_be(field, None)
    family = config.fields["model_type"]
    n_heads, n_kv_heads = _grouped_heads(config)
    bias = family in ("llama", "qwen3") and config.flag("attention_bias")
    attention = GroupedQueryAttention(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=_head_width(config, n_heads),
        qkv_bias=bias or family == "qwen2",
        out_bias=bias,
        qk_norm=family == "qwen3",
    )
    return attention, SwigluFfn(d_ff=config.count("intermediate_size"))


def _grouped(config: ConfigFields, **more: bool) -> GroupedQueryAttention:
    """Grouped-query attention of a mixture of experts."""
    n_heads, n_kv_heads = _grouped_heads(config)
    return GroupedQueryAttention(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=_head_width(config, n_heads),
        **more,
    )


def _routed(config: ConfigFields, name: str, d_ff: str, **more: Any) -> MoeFfn:
    """Experts in every layer: their number is the field ``name``, their width ``d_ff``.

    ``more`` is what a family has besides.
    """
    n_experts, top_k = config.count(name), config.count("num_experts_per_tok")
    if top_k > n_experts:
        raise config.error(
            "num_experts_per_tok", f"must be at most {name} = {n_experts}"
        )
    width = config.count(d_ff)
    shape = {"n_shared": 0, "n_dense_layers": 0, "d_ff_dense": width} | more
    return MoeFfn(d_ff=width, n_experts=n_experts, top_k=top_k, **shape)


def _mixtral(config: ConfigFields) -> tuple[GroupedQueryAttention, MoeFfn]:
    """mixtral: Llama's attention, experts in every layer."""
    return _grouped(config), _routed(config, *NUMBER_AND_WIDTH, router_bias=False)


def _qwen3_moe(config: ConfigFields) -> tuple[GroupedQueryAttention, MoeFfn]:
    """qwen3_moe: experts in every layer, norms of queries and keys."""
    config.must_be("decoder_sparse_step", 1)
    config.must_be("mlp_only_layers", [])
    bias = config.flag("attention_bias")
    ffn = _routed(
        config,
        "num_experts",
        "moe_intermediate_size",
        d_ff_dense=config.count("intermediate_size"),
        router_bias=False,
    )
    return _grouped(config, qkv_bias=bias, out_bias=bias, qk_norm=True), ffn


def _gpt_oss(config: ConfigFields) -> tuple[GroupedQueryAttention, MoeFfn]:
    """gpt_oss: biases everywhere, and a learned score of a sink for each head."""
    bias = config.flag("attention_bias")
    attention = _grouped(config, qkv_bias=bias, out_bias=bias, sinks=True)
    return attention, _routed(config, *NUMBER_AND_WIDTH, expert_bias=True)


def _glm4_moe(config: ConfigFields) -> tuple[GroupedQueryAttention, MoeFfn]:
    """glm4_moe: DeepSeek's experts with grouped-query attention."""
    bias, norm = config.flag("attention_bias"), config.flag("use_qk_norm")
    return _grouped(config, qkv_bias=bias, qk_norm=norm), _experts(config)


def _llama4(config: ConfigFields) -> tuple[GroupedQueryAttention, MoeFfn]:
    """llama4: one shared expert, and dense layers between those with experts."""
    config.must_be("attention_bias", False)
    step, n_layers = (
        config.count(name)
        for name in ("interleave_moe_layer_step", "num_hidden_layers")
    )
    ffn = _routed(
        config,
        *NUMBER_AND_WIDTH,
        n_shared=1,
        n_dense_layers=n_layers - n_layers // step,
        d_ff_dense=config.count("intermediate_size_mlp"),
        router_bias=False,
    )
    return _grouped(config), ffn


def _minimax(config: ConfigFields) -> tuple[GroupedQueryAttention, MoeFfn]:
    """minimax_m2: one norm for all heads of a layer, a bias that balances experts."""
    config.must_be("qk_norm_type", "per_layer")
    attention = _grouped(config, norm_of_layer=config.flag("use_qk_norm"))
    bias = config.flag("use_routing_bias")
    return attention, _routed(config, *NUMBER_AND_WIDTH, router_bias=bias)


def _deepseek(config: ConfigFields) -> tuple[LatentAttention, MoeFfn]:
    """deepseek_v2, _v3, _v32, kimi_k2: MLA, dense layers first, then experts."""
    config.must_be("attention_bias", False)
    config.must_be("moe_layer_freq", 1)
    attention = LatentAttention(
        n_heads=config.count("num_attention_heads"),
        d_head=config.count("qk_nope_head_dim"),
        d_v=config.count("v_head_dim"),
        d_latent=config.count("kv_lora_rank"),
        d_rope=config.count("qk_rope_head_dim"),
        d_q=None if config.is_null("q_lora_rank") else config.count("q_lora_rank"),
        **_indexer(config),
    )
    return attention, _experts(config)


def _indexer(config: ConfigFields) -> dict[str, int]:
    """Heads of the indexer that chooses what is attended to, in deepseek_v32."""
    if config.fields["model_type"] != "deepseek_v32":
        return {}
    fields = {"n_index_heads": "index_n_heads", "d_index": "index_head_dim"}
    return {name: config.count(field) for name, field in fields.items()}


def _experts(config: ConfigFields) -> MoeFfn:
    n_experts = config.count("n_routed_experts")
    top_k = config.count("num_experts_per_tok")
    n_dense = config.count("first_k_dense_replace", least=0)
    if top_k > n_experts:
        raise config.error(
            "num_experts_per_tok", f"must be at most n_routed_experts = {n_experts}"
        )
    if n_dense > (n_layers := config.count("num_hidden_layers")):
        raise config.error(
            "first_k_dense_replace", f"must be at most num_hidden_layers = {n_layers}"
        )
    return MoeFfn(
        d_ff=config.count("moe_intermediate_size"),
        n_experts=n_experts,
        n_shared=config.count("n_shared_experts", least=0),
        top_k=top_k,
        n_dense_layers=n_dense,
        d_ff_dense=config.count("intermediate_size"),
        router_bias=config.fields.get("topk_method", "noaux_tc") == "noaux_tc",
    )


FAMILIES: Mapping[str, Callable[[ConfigFields], Any]] = {
    "llama": _dense,
    "mistral": _dense,
    "qwen2": _dense,
    "qwen3": _dense,
    "phi3": _dense,
    "gemma2": _dense,
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
    "gpt_oss": _gpt_oss,
    "glm4_moe": _glm4_moe,
    "llama4_text": _llama4,
    "minimax_m2": _minimax,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
    "deepseek_v32": _deepseek,
    "kimi_k2": _deepseek,
}


# Where a gate is not SiLU: the shape is the same.
GATES: Mapping[str, tuple[str, ...]] = {"gemma2": ("gelu_pytorch_tanh", "gelu")}
# Where a file that does not say so has one table for embedding and LM head.
TIED = frozenset({"gemma2"})
# Norms of a block: one before each half, and in Gemma 2 one after each as well.
NORMS: Mapping[str, int] = {"gemma2": 4}
