"""What a reader should take away from the chapter, each sentence a test."""

import numpy as np
import pytest

from llmserve_lab.deepseek.executed.mla import execute
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


def rate(batch: float, context: float = 2048, **changes: object) -> float:
    made = twin(H100, **changes).gpu_tokens_per_s(batch=batch, context=context)
    return float(made)


def test_absorbing_saves_decode_and_costs_prefill() -> None:
    """Counted on the executed attention, with equal outputs."""
    for rows, context, cheaper in ((1, 400, "absorbed"), (400, 0, "vanilla")):
        runs = {
            form: execute(form, n_rows=rows, context=context)
            for form in ("vanilla", "absorbed")
        }
        np.testing.assert_allclose(runs["vanilla"].output, runs["absorbed"].output)
        assert min(runs, key=lambda form: runs[form].flops) == cheaper


def fast_enough(place: Setup, context: float) -> int:
    """Largest batch at twenty tokens per second, in halves or one after another."""
    ways = (twin(place, overlap=overlap) for overlap in ("halves", "none"))
    return max(way.batch_at(20, context=context) for way in ways)


def longest(place: Setup, batch: float, context: float) -> str:
    """Which block of one batch takes longest, one block after another."""
    blocks = twin(place, overlap="none").blocks(batch=batch, context=context)
    elementwise = blocks.pop("attn_elementwise_s") + blocks.pop("moe_elementwise_s")
    blocks["elementwise"] = elementwise
    return max(blocks, key=lambda name: float(blocks[name]))


@pytest.mark.parametrize("context", [1024, 2048, 4096])
def test_with_many_requests_the_all_to_alls_between_nodes_take_longest(
    context: int,
) -> None:
    for place in (H100, SETUPS["18 × 8 H800"]):
        for batch in (32, 64, 128):
            assert longest(place, batch, context) == "all_to_all_s"


@pytest.mark.parametrize("context", [2048, 4096, 16_384])
def test_inside_one_rack_it_never_does(context: int) -> None:
    rack = SETUPS["12 × 4 GB200"]
    fits = float(twin(rack).batch_fits(context))
    for batch in (8, 64, 256, fits):
        assert longest(rack, min(batch, fits), context) != "all_to_all_s"
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
    small, large = (twin(setup("h100-sxm", n)) for n in (32, 128))
    assert large.batch_fits(context) > 1.2 * small.batch_fits(context)
    few, many = (each.batch_at(20, context=context) for each in (small, large))
    assert many > 1.2 * few
    assert large.step_s(batch=32, context=2048) < small.step_s(batch=32, context=2048)


@pytest.mark.parametrize("context", [1024, 2048])
def test_with_few_requests_most_of_a_step_is_starting_things(context: int) -> None:
    """Kernels are launched, transfers started, and the host has its time."""
    for place in (H100, SETUPS["12 × 4 GB200"], SETUPS["18 × 8 H800"]):
        for batch, most in ((4, True), (256, False)):
            made = twin(place, overlap="none")
            known = made.arguments(batch=batch, context=context)
            launches = known["attn_launches"] + known["moe_launches"]
            starts = launches * known["launch_s"]
            starts += known["transfer_starts_s"] + known["host_s"]
            share = float(starts / made.step_s(batch=batch, context=context))
            assert (share > 0.5) is most


@pytest.mark.parametrize("context", [1024, 2048, 4096, 8192])
def test_speed_stops_every_group_before_memory_does(context: int) -> None:
    """At twenty tokens per second; the rack takes most requests."""
    fast = {name: fast_enough(place, context) for name, place in SETUPS.items()}
    for name, place in SETUPS.items():
        assert fast[name] < float(twin(place).batch_fits(context))
    assert max(fast, key=lambda name: fast[name]) == "12 × 4 GB200"
