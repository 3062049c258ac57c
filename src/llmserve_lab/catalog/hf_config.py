"""Any model on disk: read the shape out of a Hugging Face ``config.json``.

Only the fields that change the shape are read. Defaults are used where the public
configuration classes have one that is never wrong for that family; everything else
that is missing is an error that names the field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from llmserve_lab.catalog.hf_fields import ConfigFields
from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.ffn import MoeFfn, SwigluFfn
from llmserve_lab.catalog.records.shape import ModelShape

QWEN3_D_HEAD = 128  # Qwen3Config's default, whatever hidden_size is
# Families whose files differ from Llama's in names of fields and in a norm or a bias.
QK_NORM = ("qwen3", "qwen3_moe")
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
    """llama, mistral, qwen2, qwen3: they differ in biases and in two norms."""
    config.must_be("mlp_bias", False)
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
    """deepseek_v3, deepseek_v32, kimi_k2: MLA, dense layers first, then experts."""
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
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
    "gpt_oss": _gpt_oss,
    "glm4_moe": _glm4_moe,
    "llama4_text": _llama4,
    "minimax_m2": _minimax,
    "deepseek_v3": _deepseek,
    "deepseek_v32": _deepseek,
    "kimi_k2": _deepseek,
}


def model_from_config(
    config: str | PathLike[str] | Mapping[str, Any], *, name: str | None = None
) -> ModelShape:
    """Read a model's shape from a ``config.json``: its path, its folder, or its dict.

    Families (by ``model_type``): llama, mistral, qwen2, qwen3; mixtral, qwen3_moe,
    gpt_oss, glm4_moe, llama4, minimax_m2; deepseek_v3, deepseek_v32, kimi_k2. Of a
    model that sees, its ``text_config`` is read. A sliding window does not change the
    shape and is ignored, and so is a head for multi-token prediction. ``name`` defaults
    to the folder, or else to the family.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not JSON, the family is unknown, or a field is missing,
            of the wrong type, out of range or at odds with another one. The message
            names the field, the family and the file.
    """
    fields, place = _load(config)
    fields = fields.get("text_config", fields)
    family = fields.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ValueError(f"model_type must be one of {known}{place}, got {family!r}")
    read = ConfigFields(fields, f"the {family} config{place}")
    attention, ffn = FAMILIES[family](read)
    label = name or _folder(config) or family
    return ModelShape(
        name=label,
        key=label.lower().replace(" ", "-"),
        source=f"a config.json of type {family}",
        n_layers=read.count("num_hidden_layers"),
        d_model=read.count("hidden_size"),
        vocab=read.count("vocab_size"),
        attention=attention,
        ffn=ffn,
        tied=read.flag("tie_word_embeddings"),
        max_context=_max_context(read),
    )


def _max_context(config: ConfigFields) -> int | None:
    """Tokens that the model may read, where the file says so."""
    if config.fields.get("max_position_embeddings") is None:
        return None
    return config.count("max_position_embeddings")


def _load(config: str | PathLike[str] | Mapping[str, Any]) -> tuple[Any, str]:
    """Return the fields and where they are from, as an error message says it."""
    if isinstance(config, Mapping):
        return config, ""
    path = _file(config)
    place = f" ({path})"
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"config must be JSON{place}: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(
            f"config must be a JSON object{place}, got a {type(fields).__name__}"
        )
    return fields, place


def _file(config: str | PathLike[str]) -> Path:
    """The file itself, where its folder was named."""
    path = Path(config)
    return path / "config.json" if path.is_dir() else path


def _folder(config: str | PathLike[str] | Mapping[str, Any]) -> str:
    """Name of the folder that the file lies in, where it is a file."""
    return "" if isinstance(config, Mapping) else _file(config).absolute().parent.name
