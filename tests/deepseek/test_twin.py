"""The twin in its limits: faster parts never slow it down; extremes are known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import MODELS
from llmserve_lab.deepseek.calibration.kernel_efficiency import alike, hopper
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.model.step_model import HOST, PARTS, Twin
from tests.deepseek.twins import assume, twin

PLACE = SETUPS["9 × 8 H100"]
overlaps = st.sampled_from(["none", "hidden", "halves", "ideal halves"])
few = settings(max_examples=15, deadline=None)


def step(assumed: Assumptions, *, batch: float, context: float) -> float:
    made = Twin(setup=PLACE, assumptions=assumed)
    return float(made.step_s(batch=batch, context=context))


def faster(setup_: Setup, **better: float) -> Setup:
    """The same machines with one number of their datasheet multiplied."""
    device = setup_.accelerator
    changed = {
        name: replace(getattr(device, name), value=getattr(device, name).value * ratio)
        for name, ratio in better.items()
    }
    return replace(setup_, accelerator=replace(device, **changed))


@few
@given(
    overlap=overlaps,
    batch=st.integers(1, 500),
    context=st.integers(1, 50_000),
    ratio=st.floats(1, 8),
)
def test_more_bandwidth_is_never_slower(
    overlap: Any, batch: int, context: int, ratio: float
) -> None:
    size = {"batch": batch, "context": context}
    assumed = assume(overlap=overlap)
    plain, better = (
        float(twin(place, overlap=overlap).step_s(**size))
        for place in (PLACE, faster(PLACE, hbm_bw=ratio))
    )
    assert better <= plain * (1 + 1e-12)
    reached = hopper()
    for name in ("attention", "cache", "gemm", "memory", "far", "near"):
        best: dict[str, Any] = {name: 1.0}
        share = replace(reached, **best)
        assert step(replace(assumed, kernels=alike(share)), **size) <= plain * (
            1 + 1e-12
        )


@few
@given(overlap=overlaps, context=st.integers(1, 50_000))
def test_more_requests_and_longer_ones_are_never_faster(
    overlap: Any, context: int
) -> None:
    place = twin(PLACE, overlap=overlap)
    steps = place.step_s(batch=np.arange(1, 600), context=context)
    assert (np.diff(steps) >= 0).all()
    assert place.step_s(batch=8, context=2 * context) >= steps[7]


def test_one_gpu_sends_nothing() -> None:
    alone = twin(setup("gb200-nvl72", 1))
    blocks = alone.blocks(batch=8, context=100)
    assert blocks.pop("all_to_all_s") == 0
    found = float(alone.step_s(batch=8, context=100))
    assert found == pytest.approx(sum(map(float, blocks.values())), rel=1e-12)


def test_one_gpu_holds_the_checkpoint_once() -> None:
    alone = twin(setup("h200-sxm", 1))
    total = MODELS["deepseek-v3"].params_total
    assert alone.resident_bytes() == pytest.approx(total, rel=1e-4)
    with pytest.raises(ValueError, match="n_redundant must be at most 256, one copy"):
        twin(setup("h200-sxm", 2), n_redundant=257)


def test_weights_are_as_wide_as_what_they_are_multiplied_in() -> None:
    rack = SETUPS["12 × 4 GB200"]
    held = {
        form: twin(rack, gemm=form).resident_bytes() for form in ("fp4", "fp8", "bf16")
    }
    assert held["fp8"] == 2 * held["fp4"] == held["bf16"] / 2
    wide, narrow = (
        twin(rack, attention=form).blocks(batch=768, context=2000)
        for form in ("bf16", "fp8")
    )
    assert narrow["mla_s"] < 0.8 * wide["mla_s"]
    with pytest.raises(LookupError, match="precision must be one that H100 SXM"):
        twin(PLACE, gemm="fp4").step_s(batch=1, context=1)


def test_without_end_a_batch_is_bound_by_link_or_compute() -> None:
    """Twice as many requests take twice as long, and weights no longer matter."""
    one, two = (step(assume(), batch=b, context=2048) for b in (1e7, 2e7))
    assert two / one == pytest.approx(2, rel=1e-3)
    blocks = twin(PLACE).blocks(batch=1e7, context=2048)
    assert max(blocks, key=lambda name: blocks[name]) == "all_to_all_s"
    inside = twin(SETUPS["12 × 4 GB200"]).blocks(batch=1e7, context=2048)
    assert inside["mla_s"] > inside["all_to_all_s"]


def test_the_step_is_made_of_its_blocks() -> None:
    for overlap, m in (("none", 1), ("hidden", 1), ("ideal halves", 2)):
        made = twin(PLACE, overlap=overlap)
        blocks = made.blocks(batch=200, context=900)
        *busy, sent, other = (float(blocks[part.name]) for part in PARTS)
        inner = sum(busy) + sent if overlap == "none" else max(sum(busy), sent)
        found = float(made.step_s(batch=200, context=900))
        whole = m * (inner + other) + float(blocks[HOST])
        assert found == pytest.approx(whole, rel=1e-12)


@few
@given(batch=st.integers(2, 500), context=st.integers(1, 20_000))
def test_halves_that_wait_lie_between_ideal_ones_and_no_overlap(
    batch: int, context: int
) -> None:
    """Beside one batch after another with the weights of both halves read."""
    size = {"batch": batch, "context": context}
    ideal = float(twin(PLACE, overlap="ideal halves").step_s(**size))
    free, slowed = (
        float(twin(PLACE, overlap="halves", overlap_slowdown=s).step_s(**size))
        for s in (0.0, 0.5)
    )
    one = twin(PLACE, overlap="none", host_s=0.0)
    apart = 2 * float(one.step_s(batch=batch / 2, context=context))
    assert ideal <= free * (1 + 1e-12) and free <= slowed * (1 + 1e-12)
    assert slowed - book_assumptions().host_s <= apart * (1 + 1e-12)


def test_the_time_on_the_host_is_added_once_a_step() -> None:
    for overlap in ("none", "hidden", "halves", "ideal halves"):
        with_it, without = (
            float(twin(PLACE, overlap=overlap, host_s=s).step_s(batch=64, context=900))
            for s in (5e-3, 0.0)
        )
        assert with_it - without == pytest.approx(5e-3, rel=1e-9)


def test_attentions_reads_are_charged_once() -> None:
    """At 128 heads the kernel takes what its published rate says, reads or not."""
    place = twin(PLACE, overlap="none", elementwise=False)
    size = {"batch": 64, "context": 4096}
    known = place.arguments(**size)
    flops = 64 * 4097 * float(known["attn_flops_per_pair"])
    device, kernels = PLACE.accelerator, hopper()
    reached = flops / (kernels.attention * float(device.peak("bf16")))
    short, long = (
        float(place.blocks(batch=64, context=context)["mla_s"])
        for context in (4096, 8192)
    )
    assert long - short == pytest.approx(reached * 4096 / 4097, rel=1e-9)
    assert flops / reached == pytest.approx(660e12, rel=1e-9)


def test_rates_and_steps_agree() -> None:
    place = twin(PLACE)
    user = place.user_tokens_per_s(batch=100, context=2048)
    assert float(user) == pytest.approx(1 / step(assume(), batch=100, context=2048))
    gpu = float(place.gpu_tokens_per_s(batch=100, context=2048))
    assert gpu == pytest.approx(100 * float(user))


def test_the_service_level_is_kept_and_one_more_request_breaks_it() -> None:
    place = twin(PLACE)
    batch = place.batch_at(20, context=4096)
    rates = place.user_tokens_per_s(batch=np.array([batch, batch + 1]), context=4096)
    assert rates[0] >= 20 > rates[1]
    assert place.batch_at(1e6, context=4096) == 0
    assert place.batch_at(0.1, context=16) > 10_000
    fits = place.batch_fits(32_768)
    assert place.batch_at(5, context=32_768, in_memory=True) == fits
    assert place.batch_at(5, context=32_768) > fits
    for rate in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="tokens_per_s must be above 0, got"):
            place.batch_at(rate, context=4096)


def test_what_fits_does_and_one_more_does_not() -> None:
    place = twin(PLACE)
    batch = float(place.batch_fits(8192))
    token = MODELS["deepseek-v3"].kv_bytes_per_token()
    held = [place.resident_bytes() + n * 8192 * token for n in (batch, batch + 1)]
    assert held[0] <= place.room_bytes() < held[1]


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights must fit in 77 GB, got \d+ GB"):
        twin(setup("h100-sxm", 8)).batch_fits(1024)


def test_all_weights_are_somewhere() -> None:
    """What 32 GPUs hold, copies counted once, is what the checkpoint stores."""
    model = MODELS["deepseek-v3"]
    place = twin(setup("h100-sxm", 32), n_redundant=0)
    stack = place.shape["expert_stack"]
    shared = place.resident_bytes() - 8 * stack
    assert shared + 256 * stack == pytest.approx(model.params_total, rel=1e-4)


def test_a_draft_is_paid_for_and_may_pay() -> None:
    """With memory to spare two rows cost little more than one."""
    size = {"context": 2048}
    for batch, better in ((8, True), (512, False)):
        plain, drafted = (
            made.gpu_tokens_per_s(batch=batch, in_memory=False, **size)
            for made in (twin(PLACE), twin(PLACE, n_draft=1, accepted=1.5))
        )
        assert bool(drafted > plain) is better


@few
@given(
    n_gpus=st.integers(30, 80),
    batch=st.lists(st.integers(1, 1024), min_size=1, max_size=5),
)
def test_an_array_of_batches_is_each_of_them_alone(
    n_gpus: int, batch: list[int]
) -> None:
    """So a frontier costs one call, whatever its number of points."""
    place = twin(setup("h100-sxm", n_gpus))
    size: dict[str, Any] = {"context": 2048, "in_memory": False}
    together = place.gpu_tokens_per_s(batch=np.array(batch), **size)
    alone = [float(place.gpu_tokens_per_s(batch=b, **size)) for b in batch]
    assert list(together) == pytest.approx(alone, rel=1e-12)


def test_the_impossible_is_refused_with_what_is_missing() -> None:
    """DeepSeek-V3 does not fit on one GPU, nor do a hundred thousand long requests."""
    one = Twin(setup=setup("h100-sxm", 1), assumptions=book_assumptions())
    with pytest.raises(ValueError, match="weights must fit in"):
        one.gpu_tokens_per_s(batch=1, context=1000)
    place = twin(PLACE)
    most = int(place.batch_fits(131_072))
    assert place.gpu_tokens_per_s(batch=most, context=131_072) > 0
    with pytest.raises(ValueError, match=rf"at most {most} requests .* GB too much"):
        place.user_tokens_per_s(batch=[most, most + 1], context=131_072)


@given(st.integers(min_value=1, max_value=200), st.integers(256, 60_000))
def test_what_is_missing_is_the_memory_of_the_requests_too_many(
    over: int, context: int
) -> None:
    """With as much memory more as the message says, one more request fits each time."""
    place = twin(PLACE)
    got = int(place.batch_fits(context)) + over
    with pytest.raises(ValueError, match="too much") as refused:
        place.require_room(got, context)
    missing = 1e9 * float(str(refused.value).split(": ")[1].split(" ")[0])
    each = float(place.shape["kv_bytes_per_token"]) * context
    used = place.resident_bytes() + got * each
    assert used - place.room_bytes() == pytest.approx(missing, abs=0.06e9)
