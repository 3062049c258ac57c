"""What a reader should take away from the chapter, each sentence a test."""

import numpy as np
import pytest

from llmserve_lab.deepseek.executed.mla import execute
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.model.step_model import Twin

H100 = SETUPS["9 × 8 H100"]


def rate(batch: float, context: float = 2048, **choices: object) -> float:
    twin = Twin(setup=H100, choices=Choices(**choices))  # type: ignore[arg-type]
    return float(twin.gpu_tokens_per_s(batch=batch, context=context))


def test_absorbing_saves_decode_and_costs_prefill() -> None:
    """Counted on the executed attention, with equal outputs."""
    for rows, context, cheaper in ((1, 400, "absorbed"), (400, 0, "vanilla")):
        runs = {
            form: execute(form, n_rows=rows, context=context)
            for form in ("vanilla", "absorbed")
        }
        np.testing.assert_allclose(runs["vanilla"].output, runs["absorbed"].output)
        assert min(runs, key=lambda form: runs[form].flops) == cheaper


def longest(place: Setup, batch: float, context: float) -> str:
    """Which block of one batch takes longest, one block after another."""
    twin = Twin(setup=place, choices=Choices(overlap="none"))
    blocks = twin.blocks(batch=batch, context=context)
    return max(blocks, key=lambda name: float(blocks[name]))


@pytest.mark.parametrize("context", [1024, 2048, 4096])
def test_with_many_requests_the_wire_between_nodes_takes_longest(context: int) -> None:
    for place in (H100, SETUPS["18 × 8 H800"]):
        for batch in (32, 64, 128):
            assert longest(place, batch, context) == "wire_s"


@pytest.mark.parametrize("context", [2048, 4096, 16_384])
def test_inside_one_rack_it_never_does(context: int) -> None:
    rack = SETUPS["12 × 4 GB200"]
    fits = float(Twin(setup=rack).batch_fits(context))
    for batch in (8, 64, 256, fits):
        assert longest(rack, min(batch, fits), context) != "wire_s"
    assert longest(rack, min(256, fits), context) == "mla_s"


def test_two_halves_pay_for_many_requests_and_cost_for_few() -> None:
    assert rate(256) > 1.2 * rate(256, overlap="none")
    assert rate(32) < 0.9 * rate(32, overlap="none")


def test_a_balanced_router_is_worth_what_it_balances() -> None:
    assert rate(256, balancedness=1.0) > 1.1 * rate(256)
    assert rate(8, balancedness=1.0) == pytest.approx(rate(8), rel=0.02)


@pytest.mark.parametrize("context", [4096, 8192, 16_384])
def test_with_long_contexts_more_gpus_serve_more_users_on_each(context: int) -> None:
    """Weights spread thinner: more room for the cache, fewer experts to read."""
    small, large = (Twin(setup=setup("h100-sxm", n)) for n in (32, 128))
    assert large.batch_fits(context) > 1.2 * small.batch_fits(context)
    few, many = (twin.batch_at(20, context=context) for twin in (small, large))
    assert many > 1.2 * few
    assert large.step_s(batch=32, context=2048) < small.step_s(batch=32, context=2048)


@pytest.mark.parametrize("context", [1024, 2048])
def test_with_few_requests_a_large_group_waits_longest_between_its_products(
    context: int,
) -> None:
    for place in (H100, SETUPS["12 × 4 GB200"], SETUPS["18 × 8 H800"]):
        for batch in (4, 8):
            assert longest(place, batch, context) == "pass_s"
    assert longest(H100, 128, context) != "pass_s"


@pytest.mark.parametrize("context", [1024, 2048, 4096, 8192, 16_384])
def test_speed_stops_every_group_before_memory_does(context: int) -> None:
    """At twenty tokens per second; the rack takes most requests."""
    fast = {n: Twin(setup=s).batch_at(20, context=context) for n, s in SETUPS.items()}
    for name, place in SETUPS.items():
        share = fast[name] / float(Twin(setup=place).batch_fits(context))
        assert share < 1
        assert context != 4096 or 0.5 < share < 0.9
    assert max(fast, key=lambda name: fast[name]) == "12 × 4 GB200"
