"""One GPU alone, beside the bound and beside the fit to servers."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.roofline import bare, machine
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.running_example import ANSWER, cost, device, model, share

RATE, PEAK = float(device().hbm_bw), float(device().peak("bf16"))


def test_products_alone_lie_between_the_bound_and_the_iteration() -> None:
    for batch in (1, 32, 128, 256):
        bill = walk(model(), batch=batch, context=0, chunk=1)
        least = max(bill.weight_bytes / RATE, bill.linear_flops / PEAK)
        assert least < bare.products_s(batch) < bare.alone_s(batch)


def test_at_the_measured_ridge_reading_and_computing_are_equal() -> None:
    """Rows by the two measured shares, and where the measured times leave the floor."""
    flops = 2 * model().n_layers * sum(
        each.n_in * each.n_out
        for each in (bare.products_of(name)[0] for name in bare.LAYER)
    )  # fmt: skip
    per_row = flops / bare.compute_rate()
    assert bare.ridge_rows() * per_row == pytest.approx(bare.layers_s(1), rel=1e-9)
    assert bare.layers_s(192) < 1.2 * bare.layers_s(1)
    assert bare.layers_s(384) > 1.9 * bare.layers_s(1)
    assert 192 < bare.ridge_rows() < 320


def test_nothing_read_at_the_share_of_the_fit_and_products_computed_at_it() -> None:
    fitted = share()
    for name in (*bare.LAYER, "head"):
        one = bare.products_of(name)[0]
        assert one.rows == 1 and one.bytes_per_s < float(fitted.memory) * RATE
    assert bare.compute_rate() / PEAK == pytest.approx(float(fitted.compute), abs=0.03)


def test_launches_of_the_fit_are_split_without_a_rest() -> None:
    parts = bare.split_of_launches()
    assert sum(parts.values()) == pytest.approx(cost().overhead_s, rel=1e-9)
    assert min(parts.values()) > 0.4e-3
    outside = bare.alone_s(1) - bare.products_s(1)  # attention, norms, gaps
    assert parts["other kernels"] == pytest.approx(outside, rel=0.15)


def test_a_prompt_alone_has_no_launches_of_four_decodes() -> None:
    """What the prediction has too much is what the fit adds to a prompt."""
    over = sum(machine.prompt_terms().values()) - bare.alone_s(chunk=1000)
    assert over == pytest.approx(cost().prompt_s, rel=0.2)
    assert bare.mfu(0, 1000) < bare.mbu(1)  # further from its bound than a decode
    assert 0.5 < bare.mfu(0, 1000) < 0.65


def test_only_timed_iterations_are_known() -> None:
    runs = [float(r.seconds) for r in one_h100.passes() if r.chunk == 1000]
    assert min(runs) <= bare.alone_s(chunk=1000) <= max(runs)
    with pytest.raises(ValueError, match="timed ones, got 33, 0"):
        bare.alone_s(33)


def test_with_prompts_a_gpu_writes_less_than_half() -> None:
    """A batch of a hundred thousand requests, iteration by iteration, with prompts."""
    many = 100_000
    flops = walk(model(), batch=1, context=1100, chunk=1).linear_flops
    cache = 1100 * model().kv_bytes_per_token(2.0)
    one = max(many * flops / PEAK, 15.01e9 / RATE) + many * cache / RATE
    new = walk(model(), batch=1, context=0, chunk=1000, last_scored=True)
    one += many / ANSWER * (new.linear_flops + new.attn_flops) / PEAK
    tokens = ANSWER * machine.answers_per_s()
    assert tokens == pytest.approx(many / one, rel=2e-3)
    assert tokens < 0.5 * many / machine.bound_s(many)


@pytest.mark.parametrize("batch", [8, 16, 32, 64, 128])
def test_a_decode_between_and_beyond_two_contexts_reads_the_tokens_added(
    batch: int,
) -> None:
    """Its time passes through both runs; a token added takes its reading, or more."""
    for context in bare.SHORTER:
        wanted = bare.alone_s(batch, context=context)
        assert bare.decode_s(batch, context) == pytest.approx(wanted, rel=1e-12)
    added = bare.decode_s(batch, 1152) - bare.alone_s(batch, context=1100)
    read = batch * 52 * model().kv_bytes_per_token(2.0) / RATE
    assert 0.9 * read < added < 1.4 * read


def test_half_of_the_roof_near_the_ridge_and_more_on_either_side() -> None:
    """The corner is round: the largest matrix of a layer, run by run."""
    shares = {}
    for run in bare.products_of("gate and up"):
        intensity = run.flops / run.traffic_bytes
        shares[intensity] = run.flops_per_s / min(PEAK, RATE * intensity)
    worst = min(shares, key=lambda intensity: shares[intensity])
    assert 0.7 < worst / (PEAK / RATE) < 1.4 and 0.5 < shares[worst] < 0.6
    assert all(0.7 < shares[x] < 0.9 for x in shares if x < 100 or 900 < x < 2500)
