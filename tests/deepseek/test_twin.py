"""The twin in its limits: faster parts never slow it down; extremes are known."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import MODELS
from llmserve_lab.deepseek.calibration.kernel_efficiency import alike, hopper
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.model.step_model import BLOCKS, Twin

PLACE = SETUPS["9 × 8 H100"]
overlaps = st.sampled_from(["none", "hidden", "halves"])
few = settings(max_examples=15, deadline=None)


def step(choices: Choices, *, batch: float, context: float) -> float:
    return float(
        Twin(setup=PLACE, choices=choices).step_s(batch=batch, context=context)
    )


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
    choices = Choices(overlap=overlap)
    plain, better = (
        float(Twin(setup=place, choices=choices).step_s(**size))
        for place in (PLACE, faster(PLACE, hbm_bw=ratio))
    )
    assert better <= plain * (1 + 1e-12)
    reached = hopper()
    for name in ("attention", "products", "memory", "far", "near"):
        best: dict[str, Any] = {name: 1.0}
        share = replace(reached, **best)
        assert step(replace(choices, shares=alike(share)), **size) <= plain * (
            1 + 1e-12
        )


@few
@given(overlap=overlaps, context=st.integers(1, 50_000))
def test_more_requests_and_longer_ones_are_never_faster(
    overlap: Any, context: int
) -> None:
    twin = Twin(setup=PLACE, choices=Choices(overlap=overlap))
    steps = twin.step_s(batch=np.arange(1, 600), context=context)
    assert (np.diff(steps) >= 0).all()
    assert twin.step_s(batch=8, context=2 * context) >= steps[7]


def test_one_gpu_sends_nothing() -> None:
    alone = Twin(setup=setup("gb200-nvl72", 1))
    assert alone.blocks(batch=8, context=100)["wire_s"] == 0
    blocks = alone.blocks(batch=8, context=100)
    assert float(alone.step_s(batch=8, context=100)) == pytest.approx(
        sum(blocks[name] for name in ("mla_s", "experts_s", "pass_s", "rest_s"))
    )


def test_one_gpu_holds_the_checkpoint_once() -> None:
    alone = Twin(setup=setup("h200-sxm", 1))
    total = MODELS["deepseek-v3"].params_total
    assert alone.resident_bytes() == pytest.approx(total, rel=1e-4)
    with pytest.raises(ValueError, match="n_redundant must be at most 256, one copy"):
        Twin(setup=setup("h200-sxm", 2), choices=Choices(n_redundant=257))


def test_weights_are_as_wide_as_what_they_are_multiplied_in() -> None:
    at = {"setup": SETUPS["12 × 4 GB200"]}
    held = {
        form: Twin(**at, choices=Choices(products=form)).resident_bytes()
        for form in ("fp4", "fp8", "bf16")
    }
    assert held["fp8"] == 2 * held["fp4"] == held["bf16"] / 2
    wide, narrow = (
        Twin(**at, choices=Choices(attention=form)).blocks(batch=768, context=2000)
        for form in ("bf16", "fp8")
    )
    assert narrow["mla_s"] < 0.8 * wide["mla_s"]
    with pytest.raises(LookupError, match="precision must be one that H100 SXM"):
        Twin(setup=PLACE, choices=Choices(products="fp4")).step_s(batch=1, context=1)


def test_without_end_a_batch_is_bound_by_link_or_compute() -> None:
    """Twice as many requests take twice as long, and weights no longer matter."""
    one, two = (step(Choices(), batch=b, context=2048) for b in (1e7, 2e7))
    assert two / one == pytest.approx(2, rel=1e-3)
    blocks = Twin(setup=PLACE).blocks(batch=1e7, context=2048)
    assert max(blocks, key=lambda name: blocks[name]) == "wire_s"
    inside = Twin(setup=SETUPS["12 × 4 GB200"]).blocks(batch=1e7, context=2048)
    assert inside["mla_s"] > inside["wire_s"]


def test_the_step_is_made_of_its_blocks() -> None:
    for overlap, m in (("none", 1), ("hidden", 1), ("halves", 2)):
        choices = Choices(overlap=overlap)  # type: ignore[arg-type]
        blocks = Twin(setup=PLACE, choices=choices).blocks(batch=200, context=900)
        *busy, wire, rest = (float(blocks[part.name]) for part in BLOCKS)
        inner = sum(busy) + wire if overlap == "none" else max(sum(busy), wire)
        found = step(choices, batch=200, context=900)
        assert found == pytest.approx(m * (inner + rest), rel=1e-12)


def test_rates_and_steps_agree() -> None:
    twin = Twin(setup=PLACE)
    user = twin.user_tokens_per_s(batch=100, context=2048)
    assert float(user) == pytest.approx(1 / step(Choices(), batch=100, context=2048))
    gpu = float(twin.gpu_tokens_per_s(batch=100, context=2048))
    assert gpu == pytest.approx(100 * float(user))


def test_the_service_level_is_kept_and_one_more_request_breaks_it() -> None:
    twin = Twin(setup=PLACE)
    batch = twin.batch_at(20, context=4096)
    rates = twin.user_tokens_per_s(batch=np.array([batch, batch + 1]), context=4096)
    assert rates[0] >= 20 > rates[1]
    assert twin.batch_at(1e6, context=4096) == 0
    assert twin.batch_at(0.1, context=16) > 10_000
    fits = twin.batch_fits(32_768)
    assert twin.batch_at(5, context=32_768, in_memory=True) == fits
    assert twin.batch_at(5, context=32_768) > fits
    for rate in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="tokens_per_s must be above 0, got"):
            twin.batch_at(rate, context=4096)


def test_what_fits_does_and_one_more_does_not() -> None:
    twin = Twin(setup=PLACE)
    batch = float(twin.batch_fits(8192))
    token = MODELS["deepseek-v3"].kv_bytes_per_token()
    held = [twin.resident_bytes() + n * 8192 * token for n in (batch, batch + 1)]
    assert held[0] <= twin.room_bytes() < held[1]


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights must fit in 72 GB, got \d+ GB"):
        Twin(setup=setup("h100-sxm", 8)).batch_fits(1024)


def test_all_weights_are_somewhere() -> None:
    """What 32 GPUs hold, copies counted once, is what the checkpoint stores."""
    model = MODELS["deepseek-v3"]
    twin = Twin(setup=setup("h100-sxm", 32), choices=Choices(n_redundant=0))
    stack = twin.shape["expert_stack"]
    shared = twin.resident_bytes() - 8 * stack
    assert shared + 256 * stack == pytest.approx(model.params_total, rel=1e-4)


def test_a_draft_is_paid_for_and_may_pay() -> None:
    """With memory to spare two rows cost little more than one."""
    draft = Choices(n_draft=1, accepted=1.8)
    for batch, better in ((8, True), (512, False)):
        plain, drafted = (
            Twin(setup=PLACE, choices=c).gpu_tokens_per_s(batch=batch, context=2048)
            for c in (Choices(), draft)
        )
        assert bool(drafted > plain) is better


def test_a_thousand_setups_are_searched_in_seconds() -> None:
    """Far below what is asked for, so that a busy machine does not fail it."""
    batches, start = 2.0 ** np.arange(0, 11), time.process_time()
    for n_gpus in range(30, 80):
        twin = Twin(setup=setup("h100-sxm", n_gpus))
        twin.gpu_tokens_per_s(batch=batches, context=2048)
    assert time.process_time() - start < 1.0
