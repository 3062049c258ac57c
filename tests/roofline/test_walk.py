"""The walk counts matrix by matrix; the closed forms must come to the same bill."""

import math
import random
from typing import Any

import pytest

from llmserve_lab.catalog import MODELS, PRECISIONS, ModelShape, workload
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.iteration_count import (
    IterationCount,
    compared,
    walk,
)
from llmserve_lab.transformer import Meter, Transformer, tiny_latent, tiny_shape

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.key)
SMALL = MODELS["llama-3-8b"]


def sizes(seed: str, count: int = 4) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "batch": rng.randint(1, 20),
            "context": rng.choice([0, rng.randint(1, 100_000)]),
            "chunk": rng.choice([1, rng.randint(2, 200)]),
            "absorbed": rng.random() < 0.5,
        }
        for _ in range(count)
    ]


def closed(formula: Formula, model: ModelShape, size: dict[str, Any]) -> float:
    return float(formula.at(workload(model, absorbed=size["absorbed"]), size))


def vectors(model: ModelShape) -> int:
    """Norm gains and biases on a token's way, counted; they multiply no matrix."""
    return sum(
        math.prod(tensor.shape) * tensor.active
        for tensor in model.tensors()
        if len(tensor.shape) == 1
    )


@every_model
def test_the_linear_flops_differ_by_norms_and_biases_alone(model: ModelShape) -> None:
    for size in sizes(model.key):
        rows = size["batch"] * size["chunk"]
        walked = walk(model, **size).linear_flops
        extra = closed(f.LINEAR_FLOPS, model, size) - walked
        assert extra == pytest.approx(2 * rows * vectors(model), abs=1e-9 * walked)
        assert 0 < extra < 2e-3 * walked


@every_model
@pytest.mark.parametrize(
    "formula",
    [f.WEIGHT_BYTES, f.KV_READ_BYTES, f.ATTN_PAIRS, f.ATTN_FLOPS, f.KV_WRITE_BYTES,
     f.ITERATION_BYTES],
    ids=lambda formula: formula.name,
)  # fmt: skip
def test_everything_else_agrees(formula: Formula, model: ModelShape) -> None:
    for size in sizes(formula.name + model.key):
        counted = getattr(walk(model, **size), formula.name)
        assert closed(formula, model, size) == pytest.approx(counted, rel=1e-12)


@every_model
def test_the_intensity_that_the_chapter_draws_is_the_one_walked(
    model: ModelShape,
) -> None:
    for size in sizes("intensity" + model.key):
        bill = walk(model, **size)
        walked = bill.iteration_flops / bill.iteration_bytes
        assert closed(f.INTENSITY, model, size) == pytest.approx(walked, rel=2e-3)


def test_precision_changes_bytes_and_no_flops() -> None:
    size: dict[str, Any] = {"batch": 3, "context": 50, "chunk": 2}
    wide, narrow = (
        walk(SMALL, **size, bytes_weight=w, bytes_kv=k) for w, k in ((2, 4), (1, 1))
    )
    assert wide.iteration_flops == narrow.iteration_flops
    assert wide.weight_bytes == 2 * narrow.weight_bytes
    assert wide.kv_read_bytes == 4 * narrow.kv_read_bytes
    assert wide.kv_write_bytes == 4 * narrow.kv_write_bytes


def test_a_prompt_in_chunks_costs_the_same_flops_and_pairs() -> None:
    whole = walk(SMALL, batch=1, context=0, chunk=96)
    parts = [walk(SMALL, batch=1, context=32 * i, chunk=32) for i in range(3)]
    for name in ("linear_flops", "attn_flops", "attn_pairs", "kv_write_bytes"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)
    assert sum(part.weight_bytes for part in parts) == 3 * whole.weight_bytes


def test_what_the_roofline_overlooks_is_small_in_decode() -> None:
    for model in MODELS.values():
        if model.params_total > 1e9:
            bill = walk(model, batch=32, context=4096, chunk=1)
            assert 0 < bill.overlooked_bytes < 0.02 * bill.iteration_bytes


def test_the_parts_of_a_bill_add_up() -> None:
    bill = IterationCount(1, 2, 3, 4.0, 5.0, 6.0, 7.0, 8)
    assert bill.iteration_flops == 1 + 2
    assert bill.iteration_bytes == 4 + 5
    assert bill.overlooked_bytes == 6 + 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch must be at least 1 request, got 0"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"chunk": 0}, "chunk must be at least 1 row, got 0"),
        ({"context": 10.5}, r"context must be a whole number, got 10\.5"),
        ({"context": math.nan}, "context must be a whole number, got nan"),
        ({"bytes_kv": -2}, "bytes_kv must be positive, got -2"),
        ({"bytes_weight": 0}, "bytes_weight must be positive, got 0"),
        ({"bytes_act": math.inf}, "bytes_act must be finite, got inf"),
    ],
)
def test_a_bad_size_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        walk(SMALL, **{"batch": 1, "context": 0, "chunk": 1, **change})


def test_the_comparison_puts_both_side_by_side() -> None:
    size: dict[str, Any] = {"batch": 2, "context": 100, "chunk": 3}
    found = {each.formula: each for each in compared(SMALL, **size)}
    assert [each.ratio for each in found.values()] == pytest.approx([1] * 6, abs=2e-3)
    # 2·(101 + 102 + 103) of them, and not 606 as without those of the chunk itself
    assert found[f.ATTN_PAIRS].counted == walk(SMALL, **size).attn_pairs == 612


def test_an_empty_cache_is_read_by_neither_side() -> None:
    found = compared(SMALL, batch=1, context=0, chunk=1)
    assert [x.formula for x in found if x.ratio is None] == [f.KV_READ_BYTES]


@pytest.mark.parametrize(("chunk", "absorbed"), [(1, True), (2, False)])
def test_the_comparison_takes_the_form_of_its_phase(chunk: int, absorbed: bool) -> None:
    size: dict[str, Any] = {"batch": 1, "context": 4096, "chunk": chunk}
    model = MODELS["deepseek-v3"]
    bill = walk(model, absorbed=absorbed, **size)
    found = {each.formula: each for each in compared(model, **size)}
    assert found[f.ATTN_FLOPS].counted == bill.attn_flops


def test_a_chunk_of_latents_does_what_a_decoder_executes() -> None:
    """Keys and values made from latents: fewer FLOPs a pair, and all cached ones."""
    transformer = Transformer(tiny_shape(attention=tiny_latent()))
    cache, meter = transformer.new_cache(9), Meter()
    transformer.forward(range(4), cache)
    transformer.forward(range(5), cache, run=meter.on())
    bill = walk(transformer.shape, batch=1, context=4, chunk=5, absorbed=False)
    assert meter.useful_attn_flops == bill.attn_flops
    assert meter.linear_flops == bill.linear_flops + bill.expand_flops
    assert bill.expand_flops > 0


def test_a_walk_reads_what_a_precision_of_the_catalog_stores() -> None:
    form = PRECISIONS["fp8"]
    known = workload(SMALL, precision="fp8")
    bill = walk(SMALL, batch=1, context=1, chunk=1,
                bytes_weight=float(form.bytes_weight),
                bytes_kv=float(form.bytes_kv))  # fmt: skip
    sizes = {name: float(value) for name, value in known.items()}
    assert bill.kv_read_bytes == sizes["kv_bytes_per_token"]
    assert bill.weight_bytes == sizes["params_read"] * sizes["bytes_weight"]
