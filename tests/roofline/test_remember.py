"""The five sentences that a reader keeps, each held in every state that is shown.

The numbers are found again by other means than those that print them: an iteration is
walked through the model, requests are admitted until memory is full.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS, Accelerator, ModelShape, workload
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline import machine
from llmserve_lab.roofline.iteration_count import IterationCount, walk
from llmserve_lab.roofline.page import figures
from llmserve_lab.roofline.page.controls import DEVICES, STOPS
from llmserve_lab.running_example import PROMPT, cost, device, ideal, model

LLAMA, H100 = model(), device()
every_device = pytest.mark.parametrize("gpu", DEVICES, ids=lambda d: d.key)
LARGE = [each for each in MODELS.values() if each.params_total > 1e9]


def decode(batch: int, context: int) -> IterationCount:
    """Walk one decode iteration."""
    return walk(LLAMA, batch=batch, context=context, chunk=1)


def prefill(rows: int) -> IterationCount:
    """Walk one prompt."""
    return walk(LLAMA, batch=1, context=0, chunk=rows)


def intensity(bill: IterationCount) -> float:
    return bill.iteration_flops / bill.iteration_bytes


def ridge(gpu: Accelerator) -> float:
    """FLOPs that the GPU could do while a byte arrives, from its datasheet."""
    return float(gpu.peak("bf16")) / float(gpu.hbm_bw)


def bound_s(bill: IterationCount, gpu: Accelerator = H100) -> float:
    """The longer of reading and computing, by the datasheet."""
    return max(
        bill.iteration_flops / float(gpu.peak("bf16")),
        bill.iteration_bytes / float(gpu.hbm_bw),
    )


@every_device
def test_one_request_reads_hundreds_of_times_as_long_as_it_computes(
    gpu: Accelerator,
) -> None:
    bill = decode(1, 0)
    read_s = bill.weight_bytes / float(gpu.hbm_bw)
    row_s = bill.linear_flops / float(gpu.peak("bf16"))
    assert read_s / row_s == pytest.approx(ridge(gpu), rel=1e-3)
    assert read_s > 100 * row_s
    if gpu is H100:
        assert 1e3 * read_s == pytest.approx(4.481, abs=1e-3)
        assert 1e6 * row_s == pytest.approx(15.17, abs=1e-2)


@every_device
def test_without_a_cache_the_intensity_is_the_number_of_rows(gpu: Accelerator) -> None:
    for rows in (1, 10, 295):
        bill = prefill(rows)
        linear = bill.linear_flops / bill.weight_bytes
        assert linear == pytest.approx(rows, rel=1e-3)
    assert intensity(prefill(PROMPT)) > 2 * ridge(gpu)
    reaching = float(f.RIDGE_ROWS.at(ideal()))
    assert reaching == pytest.approx(ridge(H100), rel=1e-9)


def test_a_batch_shares_the_weights() -> None:
    context = machine.MEAN_CONTEXT
    one, many = (bound_s(decode(batch, context)) for batch in (1, machine.BATCH))
    assert 1.2 < many / one < 1.4
    assert machine.bound_s(1) == pytest.approx(one, rel=1e-9)
    assert machine.bound_s(machine.BATCH) == pytest.approx(many, rel=1e-9)


def full_batch(gpu: Accelerator, context: int) -> int:
    """Admit requests until memory is full."""
    batch, free = 0, float(gpu.usable_bytes) - float(LLAMA.weight_bytes())
    each = decode(1, context).kv_read_bytes
    while free >= each:
        free, batch = free - each, batch + 1
    return batch


@every_device
def test_memory_is_full_long_before_decode_is_compute_bound(gpu: Accelerator) -> None:
    """At every context that the figure shows, from a usual request's on."""
    for context in (c for c in STOPS["context"] if c >= machine.MEAN_CONTEXT):
        batch = full_batch(gpu, int(context))
        full = decode(batch, int(context))
        assert 3 * intensity(full) < 2 * ridge(gpu)
        assert f.BATCH_FITS(
            hbm_bytes=float(gpu.usable_bytes),
            stored_bytes=LLAMA.weight_bytes(),
            kv_bytes_per_token=LLAMA.kv_bytes_per_token(),
            context=context,
        ) // 1 == pytest.approx(batch)
    usual = full_batch(H100, machine.MEAN_CONTEXT)
    assert usual == machine.most_that_fit() == 478
    full = decode(usual, machine.MEAN_CONTEXT)
    assert ridge(H100) / intensity(full) == pytest.approx(3.3, abs=0.05)


def endless(context: int) -> float:
    """What one more request brings, FLOPs over bytes: the weights are there already."""
    one, two = decode(1, context), decode(2, context)
    more = two.iteration_flops - one.iteration_flops
    return more / (two.iteration_bytes - one.iteration_bytes)


def test_no_batch_with_the_usual_context_comes_near_the_ridge() -> None:
    context = machine.MEAN_CONTEXT
    found = [intensity(decode(batch, context)) for batch in (1, 32, 478)]
    assert found == sorted(found)
    assert found[-1] < endless(context) == pytest.approx(108.1, abs=0.1)
    assert endless(context) / ridge(H100) == pytest.approx(1 / 3, abs=0.04)


def test_short_contexts_alone_let_a_batch_reach_the_ridge() -> None:
    """Any batch up to one context, one that memory holds up to a shorter one."""
    fills, none = machine.longest_that_reaches()
    assert [round(fills, -1), round(none, -1)] == [320, 390]
    assert endless(none + 1) < ridge(H100) < endless(none - 1)
    for context, reaches in ((fills - 3, True), (fills + 3, False)):
        full = decode(full_batch(H100, context), context)
        assert (intensity(full) >= ridge(H100)) == reaches


def test_from_the_ridge_on_there_is_nothing_left_to_share() -> None:
    """Where attention runs apart, each request more costs its full price."""

    def least_s(batch: int) -> float:
        linear_s, read_s, kv_s = machine.apart_s(batch)
        assert kv_s == pytest.approx(
            decode(batch, machine.MEAN_CONTEXT).kv_read_bytes / float(H100.hbm_bw)
        )
        return max(linear_s, read_s) + kv_s

    assert least_s(478) == pytest.approx(27.8e-3, abs=5e-5)
    assert least_s(478) == pytest.approx(machine.bound_s(478))
    overlapped = bound_s(decode(478, machine.MEAN_CONTEXT))
    assert overlapped < least_s(478)
    assert overlapped == pytest.approx(25.1e-3, abs=5e-5)
    same = bound_s(decode(machine.BATCH, machine.MEAN_CONTEXT))
    assert least_s(machine.BATCH) == pytest.approx(same, rel=1e-6)
    assert least_s(104) == pytest.approx(2 * least_s(1), rel=0.02)  # half of the gain
    assert 295 / least_s(295) == pytest.approx(478 / least_s(478), rel=1e-3)
    for low, high in ((300, 301), (477, 478)):
        each = least_s(high) - least_s(low)
        assert each == pytest.approx(least_s(high) / high, rel=1e-6)
    assert least_s(291) - least_s(290) < 0.8 * least_s(291) / 291


@pytest.mark.parametrize("batch", [1, 8, machine.BATCH, 128, 478])
def test_a_served_iteration_is_longer_than_its_bound(batch: int) -> None:
    bill = decode(batch, machine.MEAN_CONTEXT)
    served_s = cost().seconds(machine.decodes(batch))
    assert served_s == pytest.approx(sum(machine.terms(batch).values()), rel=1e-12)
    assert 1.3 * bound_s(bill) < served_s < 2 * bound_s(bill)
    assert machine.terms(batch)["launches and gaps"] == pytest.approx(2.2e-3, abs=5e-5)
    in_use = bill.iteration_bytes / (served_s * float(H100.hbm_bw))
    known = ideal() | machine.decode(batch)
    assert f.MBU.at(known, measured_s=served_s) == pytest.approx(in_use, rel=1e-6)
    if batch == machine.BATCH:
        assert in_use == pytest.approx(0.634, abs=1e-3)
        assert 1e3 * served_s == pytest.approx(9.2, abs=0.05)


# What the prose compares.
def test_doubling_the_batch_leaves_long_context_decode_where_it_is() -> None:
    short, long = ([intensity(decode(b, c)) for b in (32, 64)] for c in (0, 131_072))
    assert short[1] / short[0] == pytest.approx(2, rel=0.01)
    assert long[1] / long[0] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("shape", LARGE, ids=lambda m: m.key)
def test_attention_flops_keep_a_long_prefill_compute_bound(shape: ModelShape) -> None:
    for power in range(17, 24):
        bill = walk(shape, batch=1, context=2**power, chunk=2048, absorbed=False)
        assert intensity(bill) > ridge(H100)


def test_the_kind_of_attention_sets_where_decode_ends() -> None:
    """MHA at one FLOP per byte, GQA at its group size, MLA near the ridge."""
    ends = {}
    for shape in figures.KINDS:
        bill = walk(shape, batch=8, context=10**9, chunk=1)
        ends[shape.attention.kind] = intensity(bill)
    assert ends["MHA"] == pytest.approx(1, rel=1e-3)
    assert ends["GQA"] == pytest.approx(8, rel=1e-3)
    assert ridge(H100) / 2 < ends["MLA"] < ridge(H100)


@pytest.mark.parametrize("key", ["llama-3.1-8b", "qwen3-32b", "llama-3.1-70b"])
def test_no_batch_reaches_the_ridge_beyond_a_short_context(key: str) -> None:
    """Batches up to a billion; the FLOPs of attention are counted, which only help."""
    known = workload(MODELS[key])
    batches = np.logspace(0, 9, 50)[:, None]
    contexts = 2.0 ** np.arange(11, 21)
    reached = f.INTENSITY.at(known, batch=batches, context=contexts, chunk=1.0)
    assert reached.max() < ridge(H100)


def test_twice_the_tensor_cores_shorten_no_decode_of_the_exercise() -> None:
    bill = decode(30, 1000)
    known = float(H100.peak("bf16")), float(H100.hbm_bw)
    for peak, rate in product((known[0], 2 * known[0]), (known[1],)):
        assert bill.iteration_flops / peak < bill.iteration_bytes / rate / 10
    assert 20 < intensity(bill) < 30
    assert ACCELERATORS["h200-sxm"].peak("bf16").value == known[0]
