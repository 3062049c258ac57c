"""What a reader should take away from the chapter, each sentence a test."""

import numpy as np
import pytest

from llmserve_lab.deepseek.choices import Choices
from llmserve_lab.deepseek.mla import execute
from llmserve_lab.deepseek.setup import SETUPS, setup
from llmserve_lab.deepseek.twin import Twin

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


def test_between_nodes_the_wire_takes_longest() -> None:
    for batch in (64, 256):
        blocks = Twin(setup=H100, choices=Choices(overlap="none")).blocks(
            batch=batch, context=2048
        )
        assert max(blocks, key=lambda name: blocks[name]) == "wire_s"


def test_inside_one_rack_it_does_not() -> None:
    blocks = Twin(setup=SETUPS["12 × 4 GB200"]).blocks(batch=256, context=2048)
    assert max(blocks, key=lambda name: blocks[name]) == "mla_s"


def test_two_halves_pay_for_many_requests_and_cost_for_few() -> None:
    assert rate(256) > 1.2 * rate(256, overlap="none")
    assert rate(32) < 0.9 * rate(32, overlap="none")


def test_a_balanced_router_is_worth_what_it_balances() -> None:
    assert rate(256, balancedness=1.0) > 1.1 * rate(256)
    assert rate(8, balancedness=1.0) == pytest.approx(rate(8), rel=0.02)


def test_more_gpus_serve_more_users_on_each() -> None:
    """Weights spread thinner: more room for the cache, fewer experts to read."""
    small, large = (Twin(setup=setup("h100-sxm", n)) for n in (32, 128))
    assert large.batch_fits(8192) > 1.2 * small.batch_fits(8192)
    assert large.step_s(batch=32, context=2048) < small.step_s(batch=32, context=2048)


def test_with_few_requests_the_time_between_products_passes_that_of_experts() -> None:
    for batch, longer in ((16, True), (256, False)):
        blocks = Twin(setup=H100, choices=Choices(overlap="none")).blocks(
            batch=batch, context=2048
        )
        assert bool(blocks["pass_s"] > blocks["experts_s"]) is longer


def test_speed_stops_every_group_before_memory_does() -> None:
    """At twenty tokens per second; the rack takes most requests."""
    fast = {n: Twin(setup=s).batch_at(20, context=4096) for n, s in SETUPS.items()}
    for name, place in SETUPS.items():
        assert 0.5 < fast[name] / float(Twin(setup=place).batch_fits(4096)) < 0.9
    assert max(fast, key=lambda name: fast[name]) == "12 × 4 GB200"
