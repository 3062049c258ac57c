"""The five sentences that a reader keeps, and what else the chapter claims."""

from itertools import product

import numpy as np
import pytest

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import caveats
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.group_size import fits_as_served, served
from llmserve_lab.deepseek.executed.mla import execute
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.page import group
from llmserve_lab.deepseek.page import latent as page
from llmserve_lab.formula.band import Band
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


def test_a_latent_cache_is_many_times_smaller() -> None:
    """Counted number by number, and the same whatever the number of heads."""
    spec = page.latent()
    numbers = sum(1 for _ in range(spec.d_latent)) + spec.d_rope
    assert page.latent_bytes() == 61 * numbers * 2 == 70_272
    heads = 128 * (128 + 128) / numbers
    assert page.all_heads_bytes() / page.latent_bytes() == pytest.approx(heads)
    assert round(heads) == 57
    assert page.latent_bytes() < 131_072  # of Llama-3.1-8B


def test_the_forms_cross_where_the_formula_says() -> None:
    """Rows are walked until the plain form has fewer FLOPs, on a long cache."""
    known = twin(H100).shape
    cached = 10**9
    pair = [float(known[n]) for n in ("attn_flops_per_pair", "vanilla_pair_flops")]
    again = 2 * float(known["up_params"]) * cached
    rows = next(
        n for n in range(1, 2000) if pair[0] * n * cached > pair[1] * n * cached + again
    )
    assert rows == round(float(f.ABSORB_ROWS.at(known))) == 171


def test_between_nodes_the_network_takes_more_than_half_of_a_step() -> None:
    blocks = worked.blocks_ms()
    assert blocks["all_to_all_s"] > sum(blocks.values()) / 2
    assert sum(blocks.values()) == pytest.approx(worked.step_ms(worked.MANY, "none"))


def test_two_halves_gain_with_many_and_lose_with_few_requests() -> None:
    many, few = (
        worked.step_ms(n, "none") / worked.step_ms(n, "halves")
        for n in (worked.MANY, worked.FEW)
    )
    assert many > 1.2 and few < 0.85
    assert 64 < worked.fewest() < 128


@pytest.mark.parametrize("held", group.HELD)
def test_a_stricter_target_costs_and_a_larger_group_pays_up_to_a_point(
    held: str,
) -> None:
    """In every state of the figure; a group that memory limits may pay nothing.

    The largest holds one expert on each GPU, and makes little more for it.
    """
    for ep in group.GROUPS:
        rates = [group.at(held, target, ep) for target in group.TARGETS]
        made = [found.tokens_per_s if found else 0.0 for found in rates]
        assert made == sorted(made)
    for target in group.TARGETS:
        all_ = [group.at(held, target, ep) for ep in group.GROUPS]
        made = [found.tokens_per_s for found in all_ if found]
        if made:
            assert max(made[:-1], default=0) > 0.96 * made[-1]


def test_what_is_served_fits_and_keeps_its_target() -> None:
    caches = {False: {}, True: {"cache": "fp8"}}
    for held, lean in group.HELD.items():
        for (target, tpot_s), (ep_at, ep) in product(
            group.TARGETS.items(), group.GROUPS.items()
        ):
            found = group.at(held, target, ep_at)
            assert found is not None
            way = "halves" if found.halves else "none"
            copies = [n for n in range(33) if (256 + n) % ep == 0]
            n = copies[0] if lean else copies[-1]
            held_so = caches[lean] | {"n_redundant": n}
            place = twin(setup("h100-sxm", ep), overlap=way, **held_so)
            step_s = float(place.step_s(batch=found.batch, context=4000.0))
            assert step_s <= tpot_s * (1 + 1e-9)
            assert found.batch <= found.fits
            assert found.fits == fits_as_served(place, 4000.0)
            assert found.fits < float(place.batch_fits(4000.0))


def test_the_numbers_of_the_group_are_those_of_the_page() -> None:
    full, enough, more = (group.best_of("h100-sxm", ep, 50) for ep in (16, 72, 256))
    assert full.full and not enough.full
    assert full.tokens_per_s < 0.8 * enough.tokens_per_s
    assert more.tokens_per_s == pytest.approx(enough.tokens_per_s, rel=0.05)
    rack, beyond = (group.best_of("gb200-nvl72", ep, 50) for ep in (72, 96))
    assert beyond.tokens_per_s < 0.8 * rack.tokens_per_s
    assert served("h100-sxm", 72, context=4000.0, tpot_s=0.02) is None


def test_more_than_32_h100s_are_predicted_to_pay_at_33_and_100_ms_only() -> None:
    """The solid lines with both holdings; without copies memory binds less."""
    for held, lean in group.HELD.items():
        for target, pays in (("50 ms", False), ("33 ms", True), ("100 ms", not lean)):
            few = group.at(held, target, "32")
            assert few is not None
            for ep in ("72", "144", "256"):
                more = group.at(held, target, ep)
                assert more is not None
                gain = more.tokens_per_s / few.tokens_per_s - 1
                assert gain > 0.15 if pays else 0 < gain < 0.12


def test_a_batch_for_a_target_is_found_by_hand() -> None:
    """Two steps and a line through them lead to what the search finds."""
    one = twin(H100, overlap="none")
    few, more = (1e3 * float(one.step_s(batch=n, context=4000)) for n in (32, 64))
    slope = (more - few) / 32
    found = group.best_of("h100-sxm", 72, 50)
    assert not found.halves
    assert int(64 + (50 - more) / slope) == found.batch
    line = worked.line(72, 4000.0)
    assert line.always_ms == pytest.approx(few - 32 * slope)
    assert line.room(50) == pytest.approx(64 + (50 - more) / slope)


def searched(ep: int, tpot_s: float, error: float) -> float:
    """Best rate if every step were predicted with this error, every batch tried."""
    best = 0.0
    for way in ("halves", "none"):
        place = twin(setup("h100-sxm", ep), overlap=way)
        fits = fits_as_served(place, 4000.0)
        batches = np.arange(1, fits + 1)
        real = np.asarray(place.step_s(batch=batches, context=4000)) / (1 + error)
        kept = real <= tpot_s
        best = max(best, float((batches / real)[kept].max(initial=0.0)))
    return best


@pytest.mark.parametrize(("ep", "ms"), [(16, 50), (32, 50), (72, 50), (72, 100)])
def test_both_ends_of_a_step_s_error_go_through_the_target(ep: int, ms: int) -> None:
    found = group.best_of("h100-sxm", ep, ms)
    at = DecodeSetting(accelerator="h100-sxm", ep=ep, batch=found.batch, context=4000.0)
    step = band("decode_step", at)
    assert isinstance(step, Band) and isinstance(found.band, Band)
    low, high = found.band.around(found.tokens_per_s)
    assert low == pytest.approx(searched(ep, ms / 1e3, step.low), rel=1e-6)
    assert high == pytest.approx(searched(ep, ms / 1e3, step.high), rel=1e-6)


def test_an_error_grows_on_its_way_to_a_target_that_binds() -> None:
    found = group.best_of("h100-sxm", 72, 50)
    at = DecodeSetting(accelerator="h100-sxm", ep=72, batch=found.batch, context=4000.0)
    fixed = band("gpu_tokens_per_s", at)
    assert isinstance(fixed, Band) and isinstance(found.band, Band)
    assert found.band.low < 1.5 * fixed.low < 0
    low, high = found.band.around(found.tokens_per_s)
    told = caveats.production(book_assumptions())[0]
    assert (
        low / found.tokens_per_s
        < told.measured / told.predicted
        < 1.01 * (high / found.tokens_per_s)
    )


def test_a_group_that_leaves_its_rack_stands_evenly_in_two() -> None:
    place = setup("gb200-nvl72", 96)
    assert place.n_nodes == 2
    rates = [group.best_of("gb200-nvl72", ep, 50).tokens_per_s for ep in (16, 72, 96)]
    assert rates[0] < rates[1] and rates[2] < 0.6 * rates[1]


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


def test_a_larger_group_pays_where_memory_binds_or_the_target_is_strict() -> None:
    """In between memory binds in neither group, and the target is met by both."""
    small, large = (group.best_of("h100-sxm", ep, 100) for ep in (32, 72))
    assert small.full and large.full
    assert 1.2 < large.tokens_per_s / small.tokens_per_s < 1.4
    gains = {}
    for target_ms in (33, 50):
        small, large = (group.best_of("h100-sxm", ep, target_ms) for ep in (32, 72))
        assert small.batch < small.fits and large.batch < large.fits
        gains[target_ms] = large.tokens_per_s / small.tokens_per_s
    assert gains[33] > 1.4 and gains[50] < 1.1
    small, large = (group.best_of("h100-sxm", ep, 33) for ep in (32, 72))
    assert isinstance(small.band, Band) and isinstance(large.band, Band)
    ends = zip(
        small.band.around(small.tokens_per_s),
        large.band.around(large.tokens_per_s),
        strict=True,
    )
    assert all(more > 1.1 * less for less, more in ends)
