"""Our own measurement of one H100: what no GPU can exceed, and what was predicted."""

from statistics import median

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.validation import one_gpu

GPU = catalog.accelerator("h100-sxm")
MODEL = running_example.model()


def test_nothing_is_faster_than_the_datasheet() -> None:
    bandwidth = float(GPU.hbm_bw)
    read = [each.bytes_per_s for each in one_h100.reads()]
    copied = [each.bytes_per_s for each in one_h100.copies()]
    assert 0.9 * bandwidth < max(read) < bandwidth
    assert max(copied) < bandwidth
    for run in one_h100.products():
        seconds = float(run.seconds)
        assert run.flops / seconds < float(GPU.peak(run.precision))
        if run.traffic_bytes > 60e6:  # what is smaller may be in the L2 cache
            assert run.traffic_bytes / seconds < bandwidth
    for prompt in one_h100.prefill_attention():
        assert prompt.flops / float(prompt.seconds) < float(GPU.peak("bf16"))
    for step in one_h100.decode_attention():
        assert step.cache_bytes / float(step.seconds) < bandwidth


def test_the_shapes_are_those_of_the_model() -> None:
    shapes = {(p.n_in, p.n_out) for p in one_h100.products() if p.matrix != "square"}
    weights = (
        sum(n_in * n_out for n_in, n_out in shapes if n_out != MODEL.vocab)
        * MODEL.n_layers
        + MODEL.vocab * MODEL.d_model
    )
    table = MODEL.vocab * MODEL.d_model  # only the rows of its tokens are read
    norms = (2 * MODEL.n_layers + 1) * MODEL.d_model
    assert 2 * (weights + table + norms) == MODEL.weight_bytes()


def test_one_block_cannot_use_the_memory_and_all_can() -> None:
    rate = {
        each.blocks: each.bytes_per_s
        for each in one_h100.reads()
        if each.at_a_time == 65_536
    }
    even = rate[one_h100.provenance()["multiprocessors"]] / 132
    assert rate[1] > 2 * even  # alone a multiprocessor draws more than its share
    assert rate[1] < 0.03 * max(rate.values())  # and far less than the memory gives
    assert rate[8] == pytest.approx(8 * rate[1], rel=0.15)


def test_a_pass_timed_twice_takes_the_same() -> None:
    seconds: dict[tuple[int, ...], list[float]] = {}
    for run in one_h100.passes():
        if run.precision == "bf16":
            seconds.setdefault(run.size, []).append(float(run.seconds))
    apart = [max(pair) / min(pair) - 1 for pair in seconds.values()]
    assert {len(pair) for pair in seconds.values()} == {2}
    assert median(apart) < 0.01
    assert max(apart) < 0.15


def test_a_pass_reads_its_weights_and_its_cache_at_most_at_the_datasheets_rate() -> (
    None
):
    weights = MODEL.weight_bytes() - 2 * MODEL.vocab * MODEL.d_model
    for run in one_h100.passes():
        share = 1.0 if run.precision == "bf16" else 0.5
        cached = run.decodes * run.context + run.prefix
        least = share * weights + cached * MODEL.kv_bytes_per_token()
        assert float(run.seconds) > least / float(GPU.hbm_bw)


def test_the_load_of_a_pass_is_counted() -> None:
    run = next(r for r in one_h100.passes() if r.decodes and r.chunk and r.prefix)
    load = one_gpu.load_of(run.size)
    pairs = run.decodes * run.context + sum(
        run.prefix + i for i in range(1, run.chunk + 1)
    )
    assert load.pairs == pairs
    assert load.rows == run.decodes + run.chunk
    assert load.kv_tokens == run.decodes * run.context + run.prefix
    assert (load.requests, load.prompts) == (run.decodes + 1, 1)


def test_the_machine_is_above_bare_passes_and_near_where_attention_decides() -> None:
    """A server's host time is in its constants, and the GPU's pass has none."""
    found = one_gpu.compared(running_example.cost())
    decodes = [each for each in found if each.sort == "decode"]
    one = [each.error for each in decodes if each.run.decodes == 1]
    many = [each.error for each in decodes if each.run.decodes >= 128]
    assert max(one) < 0.15 < min(many)
    host = running_example.cost().request_s
    without = [
        (each.predicted_s - host * each.run.decodes) / float(each.run.seconds) - 1
        for each in decodes
        if each.run.decodes >= 128
    ]
    assert max(map(abs, without)) < 0.13
    long = [
        each for each in found if each.run.prefix > 90_000 and each.run.chunk >= 512
    ]
    assert min(each.error for each in long) > -0.2
    assert abs(next(e.error for e in long if e.run.chunk == 512)) < 0.05


def test_the_datasheet_is_always_too_fast() -> None:
    found = one_gpu.compared(running_example.datasheet())
    assert all(each.error < -0.15 for each in found)


@pytest.mark.parametrize("precision", ["fp4", ""])
def test_a_precision_that_was_not_measured_is_refused(precision: str) -> None:
    with pytest.raises(ValueError, match=r"precision must be one of bf16, fp8, got"):
        one_gpu.compared(running_example.cost(), precision)


def test_no_pass_no_mean() -> None:
    with pytest.raises(ValueError, match="at least one pass, got none"):
        one_gpu.mean_error([])
