"""What the shapes promise: FLOPs counted product by product, rules, comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.catalog.records.ffn import GeluFfn, MoeFfn, SwigluFfn
from llmserve_lab.catalog.records.tensor import Tensor

GQA: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_head": 3}
MLA: dict[str, Any] = {
    "n_heads": 2, "d_head": 3, "d_v": 5, "d_latent": 7, "d_rope": 2, "d_q": 4
}  # fmt: skip
NO_NORM: Any = "none"
MOE: dict[str, Any] = {
    "d_ff": 2, "n_experts": 4, "n_shared": 1, "top_k": 2, "n_dense_layers": 1,
    "d_ff_dense": 8,
}  # fmt: skip


def count_pair(n_heads: int, *, scored: list[int], summed: list[int]) -> int:
    """Multiply and add, element by element, as one query meets one key."""
    flops = 0
    for _ in range(n_heads):
        for width in scored + summed:
            for _ in range(width):
                flops += 1  # the product
                flops += 1  # the sum it goes into
    return flops


def test_grouped_query_flops_do_not_depend_on_the_key_value_heads() -> None:
    for n_kv_heads in (1, 2, 4):
        attention = GroupedQueryAttention(**GQA | {"n_kv_heads": n_kv_heads})
        assert attention.flops_per_pair() == count_pair(4, scored=[3], summed=[3])
        assert attention.kv_elements == len(["k", "v"]) * n_kv_heads * 3


def test_absorbed_mla_works_on_the_latent_and_expanded_mla_on_the_heads() -> None:
    attention = LatentAttention(**MLA)
    absorbed = count_pair(2, scored=[7, 2], summed=[7])
    expanded = count_pair(2, scored=[3, 2], summed=[5])
    assert attention.flops_per_pair() == absorbed
    assert attention.flops_per_pair(absorbed=True) == absorbed
    assert attention.flops_per_pair(absorbed=False) == expanded
    assert attention.kv_elements == 7 + 2


def test_a_model_has_the_flops_of_its_layers() -> None:
    llama, deepseek = catalog.model("llama-2-7b"), catalog.model("deepseek-v3")
    assert llama.attn_flops_per_pair() == 4 * 128 * 32 * 32  # as in article 05
    per_layer = deepseek.attention.flops_per_pair(absorbed=False)
    assert deepseek.attn_flops_per_pair(absorbed=False) == 61 * per_layer
    assert deepseek.attn_flops_per_pair() > deepseek.attn_flops_per_pair(absorbed=False)


def test_kinds_of_attention() -> None:
    kinds = {
        n: GroupedQueryAttention(**GQA | {"n_kv_heads": n}).kind for n in (1, 2, 4)
    }
    assert kinds == {1: "MQA", 2: "GQA", 4: "MHA"}
    assert catalog.model("kimi-k2").attention.kind == "MLA"


def test_biases_norms_and_a_missing_query_latent_are_weights_too() -> None:
    plain = dict(GroupedQueryAttention(**GQA).weights(10))
    full = GroupedQueryAttention(**GQA, qkv_bias=True, out_bias=True, qk_norm=True)
    extra = {k: v for k, v in full.weights(10) if k not in plain}
    assert extra == {
        "q_proj.bias": (12,),
        "k_proj.bias": (6,),
        "v_proj.bias": (6,),
        "o_proj.bias": (10,),
        "q_norm": (3,),
        "k_norm": (3,),
    }
    direct = dict(LatentAttention(**MLA | {"d_q": None}).weights(10))
    assert direct["q_proj"] == (10, 2 * (3 + 2))
    assert not any("q_a" in name or "q_b" in name for name in direct)


def test_a_token_meets_top_k_experts_and_every_shared_one() -> None:
    tensors = {each.name: each for each in MoeFfn(**MOE).tensors(6, 5)}
    assert tensors["experts.up_proj"] == Tensor("experts.up_proj", (6, 2), 4 * 4, 4 * 2)
    assert tensors["shared_experts.up_proj"].active == 4
    assert tensors["dense.down_proj"] == Tensor("dense.down_proj", (8, 6), 1, 1)
    assert tensors["router"].params == 4 * 6 * 4
    assert tensors["router.bias"].params_active == 4 * 4
    free = MoeFfn(**MOE, router_bias=False)
    assert "router.bias" not in {each.name for each in free.tensors(6, 5)}


def test_a_tied_table_is_stored_once_and_used_as_lm_head() -> None:
    loose = catalog.model("llama-2-7b")
    tied = replace(loose, tied=True)
    table = loose.vocab * loose.d_model
    assert loose.params_total - tied.params_total == table
    assert loose.params_active == tied.params_active
    assert "lm_head" not in {each.name for each in tied.tensors()}


def test_two_shapes_are_equal_when_their_numbers_are() -> None:
    model = catalog.model("llama-3-8b")
    assert replace(model, name="mine", key="mine", source="me") == model
    assert replace(model, n_layers=33) != model
    assert hash(replace(model, name="mine")) == hash(model)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: GroupedQueryAttention(**GQA | {"n_kv_heads": 3}), "multiple.*4 and 3"),
        (
            lambda: GroupedQueryAttention(**GQA | {"d_head": 0}),
            "d_head.*least 1, got 0",
        ),
        (lambda: LatentAttention(**MLA | {"d_q": 0}), "d_q must be at least 1"),
        (lambda: MoeFfn(**MOE | {"top_k": 5}), "top_k must be at most n_experts = 4"),
        (lambda: MoeFfn(**MOE | {"n_shared": -1}), "n_shared must be at least 0"),
        (lambda: SwigluFfn(d_ff=-1), "d_ff must be at least 1, got -1"),
        (lambda: GeluFfn(d_ff=0), "d_ff must be at least 1, got 0"),
        (lambda: replace(catalog.model("kimi-k2"), n_layers=0), "n_layers.*got 0"),
        (
            lambda: replace(catalog.model("llama-2-7b"), ffn=MoeFfn(**MOE), n_layers=1),
            None,
        ),
        (
            lambda: replace(catalog.model("deepseek-v3"), n_layers=2),
            "n_dense_layers must be at most n_layers = 2, got 3",
        ),
        (lambda: replace(catalog.model("kimi-k2"), norm=NO_NORM), "norm must be 'rms'"),
    ],
)
def test_an_impossible_shape_is_refused(build: Any, message: str | None) -> None:
    if message is None:
        build()
        return
    with pytest.raises(ValueError, match=message):
        build()


def test_none_shared_and_none_dense_are_allowed() -> None:
    experts = MoeFfn(**MOE | {"n_shared": 0, "n_dense_layers": 0, "top_k": 4})
    names = {each.name: each.copies for each in experts.tensors(6, 5)}
    assert names["shared_experts.up_proj"] == names["dense.up_proj"] == 0


@pytest.mark.parametrize("width", [-2, 0, float("nan"), float("inf")])
def test_a_number_takes_some_bytes(width: float) -> None:
    model = catalog.model("llama-2-7b")
    with pytest.raises(ValueError, match=r"bytes_kv must be (positive|finite), got"):
        model.kv_bytes_per_token(width)
    with pytest.raises(ValueError, match=r"bytes_weight must be (positive|finite)"):
        model.weight_bytes(width)


@pytest.mark.parametrize("value", [2.0, True, "2"])
def test_a_width_is_a_whole_number(value: Any) -> None:
    with pytest.raises(TypeError, match="d_ff must be a whole number"):
        SwigluFfn(d_ff=value)
