"""A config.json on disk gives the catalog's entry, or an error that names the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.engine import IterationCost

Config = dict[str, Any]
PUBLIC = [key for key in catalog.MODELS if key != "tiny-512"]
DENSE_REQUIRED = [
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
]
LATENT_REQUIRED = [
    *DENSE_REQUIRED,
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "moe_intermediate_size",
    "n_routed_experts",
    "n_shared_experts",
    "num_experts_per_tok",
    "first_k_dense_replace",
]


def save(folder: Path, config: Config) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


@pytest.mark.parametrize("key", PUBLIC)
def test_the_public_config_is_the_catalog_entry(
    key: str, configs: dict[str, Config], tmp_path: Path
) -> None:
    from_file = catalog.model_from_config(save(tmp_path, configs[key]))
    assert from_file == catalog.model(key)
    assert catalog.model_from_config(str(tmp_path / "config.json")) == from_file
    assert catalog.model_from_config(configs[key]) == from_file
    assert from_file.params_total == catalog.model(key).params_total
    assert from_file.max_context == catalog.model(key).max_context


def test_a_model_is_called_as_told_or_after_its_folder_or_its_family(
    configs: dict[str, Config], tmp_path: Path
) -> None:
    config = configs["llama-2-7b"]
    folder = tmp_path / "My-Llama"
    folder.mkdir()
    assert catalog.model_from_config(save(folder, config)).name == "My-Llama"
    assert catalog.model_from_config(config).name == "llama"
    named = catalog.model_from_config(config, name="Llama Two")
    assert (named.name, named.key) == ("Llama Two", "llama-two")


def test_its_folder_finds_a_file_that_begins_with_a_byte_order_mark(
    configs: dict[str, Config], tmp_path: Path
) -> None:
    folder = tmp_path / "My-Llama"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=r"My-Llama.config\.json"):
        catalog.model_from_config(folder)
    text = json.dumps(configs["llama-2-7b"])
    (folder / "config.json").write_text(text, encoding="utf-8-sig")
    found = catalog.model_from_config(folder)
    assert found == catalog.model("llama-2-7b")
    assert found.name == "My-Llama"


def without(config: Config, *fields: str) -> Config:
    return {key: value for key, value in config.items() if key not in fields}


def test_defaults_that_are_never_wrong(configs: dict[str, Config]) -> None:
    read = catalog.model_from_config
    llama = without(configs["llama-2-7b"], "num_key_value_heads", "tie_word_embeddings")
    assert read(llama) == catalog.model("llama-2-7b")
    null = configs["llama-2-7b"] | {"num_key_value_heads": None, "head_dim": None}
    assert read(null) == catalog.model("llama-2-7b")
    qwen3 = without(configs["qwen3-32b"], "head_dim", "attention_bias")
    assert read(qwen3) == catalog.model("qwen3-32b")
    bare = without(configs["deepseek-v3"], "topk_method", "moe_layer_freq")
    assert read(bare) == catalog.model("deepseek-v3")


def test_settings_that_change_the_shape(configs: dict[str, Config]) -> None:
    read, llama = catalog.model_from_config, configs["llama-3-8b"]
    assert read(llama | {"tie_word_embeddings": True}).tied
    assert read(llama | {"head_dim": 64}).attention.d_head == 64
    biased = read(llama | {"attention_bias": True})
    assert biased.params_total - catalog.model("llama-3-8b").params_total == 32 * (
        4096 + 2 * 1024 + 4096
    )
    mistral = read(llama | {"model_type": "mistral", "sliding_window": 4096})
    assert mistral == catalog.model("llama-3-8b")
    latent = configs["deepseek-v3"]
    assert "q_proj" in {t.name for t in read(latent | {"q_lora_rank": None}).tensors()}
    greedy = read(latent | {"topk_method": "greedy", "n_shared_experts": 0})
    assert "router.bias" not in {tensor.name for tensor in greedy.tensors()}
    assert read(latent | {"first_k_dense_replace": 0}).params_total > 671.1e9


@pytest.mark.parametrize(
    ("key", "field"),
    [("llama-2-7b", field) for field in DENSE_REQUIRED]
    + [("qwen2.5-72b", "num_key_value_heads"), ("qwen3-32b", "num_key_value_heads")]
    + [("deepseek-v3", field) for field in LATENT_REQUIRED],
)
def test_a_missing_field_is_named_with_its_family_and_file(
    key: str, field: str, configs: dict[str, Config], tmp_path: Path
) -> None:
    path = save(tmp_path, without(configs[key], field))
    family = configs[key]["model_type"]
    with pytest.raises(ValueError, match=f"{field} is required.*{family}") as caught:
        catalog.model_from_config(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": "4096"}, "hidden_size must be a whole number.*'4096'"),
        ({"hidden_size": 4096.0}, "hidden_size must be a whole number"),
        ({"vocab_size": True}, "vocab_size must be a whole number"),
        ({"vocab_size": None}, "vocab_size must be a whole number.*None"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1.*got 0"),
        ({"intermediate_size": -1}, "intermediate_size must be at least 1.*got -1"),
        ({"num_key_value_heads": 5}, "num_key_value_heads must divide.*= 32.*got 5"),
        ({"num_attention_heads": 31}, "num_key_value_heads must divide"),
        ({"hidden_size": 4097}, "hidden_size must be a multiple of.*32.*4097"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings must be true or false"),
        ({"mlp_bias": True}, "mlp_bias must be false to be understood.*got True"),
        ({"model_type": "gpt2"}, "model_type must be one of llama, .*got 'gpt2'"),
        ({"model_type": ["llama"]}, "model_type must be one of"),
    ],
)
def test_a_wrong_field_is_named_with_rule_and_value(
    change: Config, message: str, configs: dict[str, Config]
) -> None:
    with pytest.raises(ValueError, match=message):
        catalog.model_from_config(configs["llama-2-7b"] | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_experts_per_tok": 257}, "num_experts_per_tok.*at most.*256.*got 257"),
        ({"first_k_dense_replace": 62}, "first_k_dense_replace.*at most.*61.*got 62"),
        ({"first_k_dense_replace": -1}, "first_k_dense_replace must be at least 0"),
        ({"n_shared_experts": -1}, "n_shared_experts must be at least 0"),
        ({"moe_layer_freq": 2}, "moe_layer_freq must be 1 to be understood"),
        ({"attention_bias": True}, "attention_bias must be false"),
    ],
)
def test_a_wrong_mixture_is_named_too(
    change: Config, message: str, configs: dict[str, Config]
) -> None:
    with pytest.raises(ValueError, match=message):
        catalog.model_from_config(configs["deepseek-v3"] | change)


def test_a_file_that_is_no_config(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{not json", encoding="utf-8")
    with pytest.raises(ValueError, match=r"config must be JSON \(.*config\.json\)"):
        catalog.model_from_config(path)
    path.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(ValueError, match=r"config must be a JSON object.*got a list"):
        catalog.model_from_config(path)
    with pytest.raises(FileNotFoundError):
        catalog.model_from_config(tmp_path / "absent.json")
    with pytest.raises(ValueError, match=r"model_type must be one of.*got None"):
        catalog.model_from_config({})


PHI_3_MINI = {
    "model_type": "phi3",
    "hidden_size": 3072,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 8192,
    "vocab_size": 32_064,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
}
GEMMA_2_9B = {
    "model_type": "gemma2",
    "hidden_size": 3584,
    "num_hidden_layers": 42,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "intermediate_size": 14_336,
    "vocab_size": 256_000,
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_act": "gelu_pytorch_tanh",
}
DEEPSEEK_V2_LITE = {
    "model_type": "deepseek_v2",
    "hidden_size": 2048,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "moe_intermediate_size": 1408,
    "intermediate_size": 10_944,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "topk_method": "greedy",
    "vocab_size": 102_400,
}
# Parameters as the checkpoints' own indexes count them.
COUNTED = [
    (PHI_3_MINI, 3_821_079_552),
    (GEMMA_2_9B, 9_241_705_984),
    (DEEPSEEK_V2_LITE, 15_706_484_224),
]


@pytest.mark.parametrize(("config", "parameters"), COUNTED)
def test_more_families_have_as_many_parameters_as_their_checkpoints(
    config: Config, parameters: int
) -> None:
    assert catalog.model_from_config(config).params_total == parameters


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"num_local_experts": 8}, "num_local_experts must be null"),
        ({"hidden_act": "relu2"}, "hidden_act must be silu"),
        ({"quantization_config": {"quant_method": "magic"}}, "quant_method of fp8"),
        ({"quantization_config": "fp8"}, "quantization_config must have"),
    ],
)
def test_what_would_be_half_read_is_refused(changed: Config, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        catalog.model_from_config(PHI_3_MINI | changed)


def test_a_quantized_checkpoint_asks_for_the_bytes_of_a_parameter() -> None:
    awq = {"quant_method": "awq", "bits": 4}
    shape = catalog.model_from_config(PHI_3_MINI | {"quantization_config": awq})
    assert shape.quantized == "awq 4 bits" and shape == catalog.model_from_config(
        PHI_3_MINI
    )
    with pytest.raises(ValueError, match=r"bytes_weight must be .*\(awq 4 bits\)"):
        shape.weight_bytes()
    assert shape.weight_bytes(0.5) == shape.params_total / 2


def test_a_quantized_checkpoint_is_computed_with_in_a_precision_that_is_named() -> None:
    gpu, fp8 = catalog.accelerator("h100-sxm"), {"quant_method": "fp8"}
    shape = catalog.model_from_config(PHI_3_MINI | {"quantization_config": fp8})
    for ask in (lambda: catalog.workload(shape), lambda: IterationCost.of(shape, gpu)):
        with pytest.raises(ValueError, match=r"precision must be .* quantized \(fp8"):
            ask()
    asked = IterationCost.of(shape, gpu, precision="fp8")
    assert asked.weight_bytes == shape.params_total
    plain = catalog.model_from_config(PHI_3_MINI)
    assert IterationCost.of(plain, gpu).weight_bytes == 2 * plain.params_total


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless file here")
def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1,048,576 bytes"):
        catalog.model_from_config("/dev/zero")


def test_a_text_config_is_an_object() -> None:
    with pytest.raises(ValueError, match=r"text_config must be an object, got \[1\]"):
        catalog.model_from_config({"text_config": [1]})


def test_a_file_that_is_too_long_or_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(" " * (2**20 + 1))
    with pytest.raises(ValueError, match="at most 1,048,576 bytes"):
        catalog.model_from_config(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="config must be JSON"):
        catalog.model_from_config(path)
