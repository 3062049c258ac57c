"""The walk counts matrix by matrix; the closed forms must come to the same bill."""

import math
import random
from typing import Any

import pytest

from llmserve_lab.book.formula import Formula
from llmserve_lab.catalog import MODELS, PRECISIONS, ModelShape, workload
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.walk import Bill, comparison, walk

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.key)
SMALL = MODELS["llama-3-8b"]


def sizes(seed: str, count: int = 4) -> list[dict[str, int]]:
    rng = random.Random(seed)
    return [
        {
            "batch": rng.randint(1, 20),
            "context": rng.choice([0, rng.randint(1, 100_000)]),
            "chunk": rng.choice([1, rng.randint(2, 200)]),
        }
        for _ in range(count)
    ]


def closed(formula: Formula, model: ModelShape, size: dict[str, int]) -> float:
    known: dict[str, Any] = workload(model) | size
    return float(formula(**{leaf.name: known[leaf.name] for leaf in formula.arguments}))


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
    size = {"batch": 3, "context": 50, "chunk": 2}
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
    bill = Bill(1, 2, 3, 4.0, 5.0, 6.0, 7.0)
    assert bill.iteration_flops == 1 + 2
    assert bill.iteration_bytes == 4 + 5
    assert bill.overlooked_bytes == 6 + 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"chunk": 0}, "chunk must be at least 1, got 0"),
    ],
)
def test_a_bad_size_is_named(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        walk(SMALL, **{"batch": 1, "context": 0, "chunk": 1, **change})


def test_the_comparison_puts_both_side_by_side() -> None:
    table = comparison(SMALL, batch=2, context=100, chunk=3)
    assert len(table.rows) == 6
    ratios = [float(row[-1]) for row in table.rows]
    assert ratios == pytest.approx([1] * 6, abs=2e-3)
    size = {"batch": 2, "context": 100, "chunk": 3}
    assert "606 pairs" not in repr(table)  # 2·(101 + 102 + 103) of them
    assert str(walk(SMALL, **size).attn_pairs) == "612"
    assert any("612 pairs" in row for row in table.rows)


def test_a_walk_reads_what_a_precision_of_the_catalog_stores() -> None:
    form = PRECISIONS["fp8"]
    known = workload(SMALL, precision="fp8")
    bill = walk(SMALL, batch=1, context=1, chunk=1,
                bytes_weight=float(form.bytes_weight),
                bytes_kv=float(form.bytes_kv))  # fmt: skip
    assert bill.kv_read_bytes == known["kv_bytes_per_token"]
    assert bill.weight_bytes == known["params_total"] * known["bytes_weight"]
