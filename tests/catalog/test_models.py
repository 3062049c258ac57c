"""Sizes counted from the shapes, against walks over the config and published totals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.data.expert_models import GLM_45_REPORT
from llmserve_lab.catalog.data.models import KIMI_K2_REPORT

Agrees = Callable[[float, float], bool]
Config = dict[str, Any]
PUBLIC = [key for key in catalog.MODELS if key != "tiny-512"]
# Their makers print a number that counts something else as well: an encoder of images,
# a head for multi-token prediction, or embeddings left out.
OTHERWISE = {"glm-4.5", "llama-4-scout", "deepseek-v3.2"}
# Elements in the published checkpoints' weight files.
CHECKPOINTS = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-32b": 32_762_123_264,
    "deepseek-v3": 671_026_419_200,
}


def walk_dense(config: Config) -> Iterator[tuple[int, bool]]:
    """Walk the layers as the public code builds them: parameters, used by a token?"""
    d, heads = config["hidden_size"], config["num_attention_heads"]
    width = config.get("head_dim", d // heads)
    family = config["model_type"]
    for _ in range(config["num_hidden_layers"]):
        for _ in range(heads):
            yield 2 * d * width + width * (family == "qwen2"), True
        for _ in range(config["num_key_value_heads"]):
            yield 2 * d * width + 2 * width * (family == "qwen2"), True
        yield 2 * width * (family == "qwen3"), True
        yield 3 * d * config["intermediate_size"], True
        yield 2 * d, True


def walk_latent(config: Config) -> Iterator[tuple[int, bool]]:
    """The same for MLA and experts; of the experts, a token uses the first top-k."""
    d, q, latent = config["hidden_size"], config["q_lora_rank"], config["kv_lora_rank"]
    nope, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    value, width = config["v_head_dim"], config["moe_intermediate_size"]
    for layer in range(config["num_hidden_layers"]):
        yield d * q + q + d * (latent + rope) + latent + 2 * d, True
        for _ in range(config["num_attention_heads"]):
            yield q * (nope + rope) + latent * nope + latent * value + value * d, True
        if layer < config["first_k_dense_replace"]:
            yield 3 * d * config["intermediate_size"], True
            continue
        for expert in range(config["n_routed_experts"]):
            yield d + 1, True  # a column of the router, and its bias
            yield 3 * d * width, expert < config["num_experts_per_tok"]
        yield config["n_shared_experts"] * 3 * d * width, True


def walk_routed(config: Config) -> Iterator[tuple[int, bool]]:
    """Grouped-query attention and experts, whatever the fields are called."""
    d, family = config["hidden_size"], config["model_type"]
    width = int(config.get("head_dim") or d // config["num_attention_heads"])
    n_experts = int(config.get("num_experts") or config.get("num_local_experts") or 0)
    n_experts = n_experts or config["n_routed_experts"]
    wide = int(config.get("moe_intermediate_size") or config["intermediate_size"])
    query = config["num_attention_heads"] * width
    cached = config["num_key_value_heads"] * width
    biased, oss = config.get("attention_bias", False), family == "gpt_oss"
    for layer in range(config["num_hidden_layers"]):
        yield 2 * d * query + 2 * d * cached + 2 * d, True
        yield (
            biased * (query + 2 * cached) + oss * (d + config["num_attention_heads"]),
            True,
        )
        yield (family in ("qwen3_moe", "glm4_moe")) * 2 * width, True
        yield (family == "minimax_m2") * (query + cached), True
        step = config.get("interleave_moe_layer_step", 1)
        if layer < config.get("first_k_dense_replace", 0) or (layer + 1) % step:
            dense = config.get("intermediate_size_mlp", config["intermediate_size"])
            yield 3 * d * dense, True
            continue
        balanced = family in ("glm4_moe", "minimax_m2", "gpt_oss")
        for expert in range(n_experts):
            yield d + balanced, True  # a column of the router, and its bias
            each = 3 * d * wide + oss * (2 * wide + d)
            yield each, expert < config["num_experts_per_tok"]
        shared = 1 if family == "llama4_text" else config.get("n_shared_experts", 0)
        yield shared * 3 * d * wide, True


def walk_indexer(config: Config) -> Iterator[tuple[int, bool]]:
    """What chooses the tokens that DeepSeek-V3.2 attends to."""
    heads, width = config["index_n_heads"], config["index_head_dim"]
    for _ in range(config["num_hidden_layers"]):
        yield config["q_lora_rank"] * heads * width + 2 * width, True
        yield config["hidden_size"] * (width + heads), True


def steps_of(config: Config) -> Iterator[tuple[int, bool]]:
    """The walk of a family."""
    if "kv_lora_rank" in config:
        yield from walk_latent(config)
        if "index_n_heads" in config:
            yield from walk_indexer(config)
    elif "num_experts_per_tok" in config:
        yield from walk_routed(config)
    else:
        yield from walk_dense(config)


def walk(config: Config) -> tuple[int, int]:
    """Stored and used parameters; the embedding is stored, the LM head also used."""
    config = config.get("text_config", config)
    table, norm = config["vocab_size"] * config["hidden_size"], config["hidden_size"]
    counts = [(table, False), (table, True), (norm, True), *steps_of(config)]
    return sum(n for n, _ in counts), sum(n for n, used in counts if used)


@pytest.mark.parametrize("key", PUBLIC)
def test_parameters_are_what_a_walk_over_the_layers_finds(
    key: str, configs: dict[str, Config]
) -> None:
    model = catalog.model(key)
    assert (model.params_total, model.params_active) == walk(configs[key])


@pytest.mark.parametrize("key", CHECKPOINTS)
def test_parameters_are_those_of_the_checkpoint(key: str) -> None:
    assert catalog.model(key).params_total == CHECKPOINTS[key]


@pytest.mark.parametrize("key", PUBLIC)
def test_counts_round_to_what_is_published(key: str, agrees: Agrees) -> None:
    model = catalog.model(key)
    assert ("params_total" in model.published) is (key not in OTHERWISE)
    for name, printed in model.published.items():
        counted = getattr(model, name)
        counted = counted() if callable(counted) else counted
        assert agrees(counted, float(printed)), name


def test_the_published_totals_have_the_digits_that_were_printed() -> None:
    printed = {
        key: {name: each.value for name, each in catalog.model(key).published.items()}
        for key in ("deepseek-v3", "kimi-k2", "qwen3-32b")
    }
    assert printed["deepseek-v3"]["params_total"] == 671e9
    assert printed["deepseek-v3"]["params_active"] == 37e9
    assert printed["kimi-k2"] == {"params_total": 1e12, "params_active": 32e9}
    assert printed["qwen3-32b"] == {"params_total": 32.8e9}


def test_the_report_on_kimi_k2_does_not_fit_its_public_config(agrees: Agrees) -> None:
    model = catalog.model("kimi-k2")
    for name, printed in KIMI_K2_REPORT.items():
        counted = getattr(model, name)
        assert not agrees(counted, float(printed))
        assert counted == pytest.approx(float(printed), rel=0.03)
    printed_total, printed_active = map(float, KIMI_K2_REPORT.values())
    assert (printed_total, printed_active) == (1040e9, 32_600e6)


def test_glm_counts_its_head_for_prediction_and_no_embeddings(agrees: Agrees) -> None:
    model = catalog.model("glm-4.5")
    layer = [t for t in model.tensors() if t.copies == 89 * 160 and "experts" in t.name]
    routed = sum(t.params for t in layer) // 89
    one_more = routed * 161 // 160 + 2 * 5120 * (12_288 + 1024)
    ends = 2 * model.vocab * model.d_model
    assert agrees(model.params_total - ends + one_more, float(GLM_45_REPORT))


def test_the_cache_of_a_token_in_16_bits() -> None:
    kib = {"llama-2-7b": 512, "llama-3-8b": 128, "llama-3-70b": 320, "qwen3-32b": 256}
    for key, size in kib.items():
        assert catalog.model(key).kv_bytes_per_token() == size * 1024
    assert catalog.model("deepseek-v3").kv_bytes_per_token() == 70_272
    assert catalog.model("kimi-k2").kv_elements_per_token == 61 * 576


def test_bytes_scale_with_the_precision() -> None:
    model, fp8 = catalog.model("llama-2-7b"), catalog.precision("fp8")
    assert 2 * model.kv_bytes_per_token(fp8.bytes_kv) == model.kv_bytes_per_token()
    assert 2 * model.weight_bytes(fp8.bytes_weight) == model.weight_bytes()
    assert model.weight_bytes(fp8.bytes_weight) == model.params_total


def test_the_articles_model_has_the_matrices_that_article_03_draws() -> None:
    model = catalog.model("tiny-512")
    block = (512 * 1536) + (512 * 512) + (512 * 2048) + (2048 * 512)
    norms = 2 * 2 * 512
    ends = 2 * model.vocab * 512 + 2 * 512
    assert model.params_total == 8 * (block + norms) + ends
    assert model.vocab == 1000
    assert model.kv_elements_per_token == 8 * (1536 - 512)
    assert model.attention.n_heads * model.attention.d_head == model.d_model


def test_a_model_refuses_what_it_cannot_read() -> None:
    long, short = catalog.model("llama-3.1-8b"), catalog.model("llama-3-8b")
    assert long == short and long.max_context == 16 * (short.max_context or 0)
    long.require_context(131_072)
    with pytest.raises(ValueError, match=r"at most 8,192 tokens.* got 8,193"):
        short.require_context(8193)
