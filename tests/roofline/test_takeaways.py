"""What a reader should take away from the chapter, each sentence a test.

The numbers are counted by walking through the model, not taken from the closed forms.
"""

import numpy as np
import pytest

from llmserve_lab.catalog import (
    ACCELERATORS,
    MODELS,
    Accelerator,
    ModelShape,
    machine,
    workload,
)
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.iteration_count import IterationCount, walk

H100 = ACCELERATORS["h100-sxm"]
LLAMA_2 = MODELS["llama-2-7b"]
DISCLOSED = [device for device in ACCELERATORS.values() if device.disclosed]
LARGE = [model for model in MODELS.values() if model.params_total > 1e9]
every_device = pytest.mark.parametrize("device", DISCLOSED, ids=lambda d: d.key)
every_model = pytest.mark.parametrize("model", LARGE, ids=lambda m: m.key)


def intensity(bill: IterationCount) -> float:
    """FLOPs done for every byte read, as walked."""
    return bill.iteration_flops / bill.iteration_bytes


def ridge(device: Accelerator) -> float:
    """FLOPs that the device could do while a byte arrives, from its datasheet."""
    return float(device.peak("bf16")) / float(device.hbm_bw)


def decode(model: ModelShape, *, batch: int, context: int) -> IterationCount:
    """Walk one decode iteration."""
    return walk(model, batch=batch, context=context, chunk=1)


def prefill(model: ModelShape, *, chunk: int, context: int = 0) -> IterationCount:
    """Walk one chunk of one prompt."""
    return walk(model, batch=1, context=context, chunk=chunk, absorbed=False)


@every_device
def test_prefill_and_decode_sit_on_opposite_sides_of_the_ridge(
    device: Accelerator,
) -> None:
    for key in ("llama-2-7b", "llama-3-8b", "llama-3-70b", "qwen2.5-72b"):
        model = MODELS[key]
        assert intensity(decode(model, batch=32, context=1024)) < ridge(device) / 2
        assert intensity(prefill(model, chunk=2048)) > 2 * ridge(device)


def test_doubling_the_batch_leaves_long_context_decode_where_it_is() -> None:
    short, long = (
        [intensity(decode(LLAMA_2, batch=b, context=c)) for b in (32, 64)]
        for c in (0, 131_072)
    )
    assert short[1] / short[0] == pytest.approx(2, rel=0.01)
    assert long[1] / long[0] == pytest.approx(1, abs=0.01)


def test_the_cache_outweighs_the_weights_before_a_thousand_tokens() -> None:
    def cache_wins(context: int) -> bool:
        bill = decode(LLAMA_2, batch=32, context=context)
        return bill.kv_read_bytes > bill.weight_bytes

    first = next(context for context in range(2000) if cache_wins(context))
    assert 0 < first < 1000
    at = f.CROSSOVER_CONTEXT(
        batch=32,
        kv_bytes_per_token=LLAMA_2.kv_bytes_per_token(),
        bytes_weight=2,
        params_read=LLAMA_2.params_read,
    )
    assert np.floor(at) + 1 == first


@every_device
def test_memory_is_full_long_before_bandwidth_is_the_question(
    device: Accelerator,
) -> None:
    """Admit requests of 1,024 tokens until memory is full: the ridge is far away."""
    batch = 0
    while True:
        bill = decode(LLAMA_2, batch=batch + 1, context=1024)
        if bill.iteration_bytes > float(device.hbm_bytes):
            break
        batch += 1
    assert batch > 50
    full = decode(LLAMA_2, batch=batch, context=1024)
    assert intensity(full) < ridge(device) / 4


@every_model
def test_attention_flops_keep_a_long_prefill_compute_bound(model: ModelShape) -> None:
    contexts = [2**power for power in range(17, 24)]
    bills = [prefill(model, chunk=2048, context=context) for context in contexts]
    assert all(intensity(bill) > ridge(H100) for bill in bills)


def test_without_the_flops_of_attention_a_long_prefill_seems_to_sink() -> None:
    """As the article counts: the bytes of the cache, but not what is done with them."""
    bills = [prefill(LLAMA_2, chunk=2048, context=2**p) for p in (0, 13, 17, 20)]
    without = [bill.linear_flops / bill.iteration_bytes for bill in bills]
    assert sorted(without, reverse=True) == without
    assert without[-1] < ridge(H100) / 5 < without[0]


def test_the_kind_of_attention_sets_where_decode_ends() -> None:
    """MHA at one FLOP per byte, GQA at its group size, MLA near the ridge."""
    ends = {}
    for key in ("llama-2-7b", "llama-3-70b", "deepseek-v3"):
        bill = decode(MODELS[key], batch=8, context=10**9)
        ends[MODELS[key].attention.kind] = intensity(bill)
    assert ends["MHA"] == pytest.approx(1, rel=1e-3)
    assert ends["GQA"] == pytest.approx(8, rel=1e-3)
    assert ends["GQA"] < ends["MLA"] < ridge(H100)
    assert ends["MLA"] > ridge(H100) / 2


@pytest.mark.parametrize("key", ["llama-2-7b", "llama-3-8b", "llama-3-70b"])
def test_no_batch_reaches_the_ridge_beyond_a_short_context(key: str) -> None:
    """Batches up to a billion; the FLOPs of attention are counted, which only help."""
    known = workload(MODELS[key])
    batches = np.logspace(0, 9, 50)[:, None]
    contexts = 2.0 ** np.arange(11, 21)
    reached = f.INTENSITY.at(known, batch=batches, context=contexts, chunk=1.0)
    assert reached.max() < ridge(H100)
    empty = f.INTENSITY.at(known, batch=batches, context=0.0, chunk=1.0)
    assert empty.max() > 1000 * ridge(H100)  # it is the cache that forbids it


def test_every_formula_speaks_of_a_machine_of_the_catalog() -> None:
    found = f.RIDGE(**{k: v for k, v in machine(H100).items() if k != "hbm_bytes"})
    assert found == pytest.approx(ridge(H100), rel=1e-12)
