"""What else moves a goodput, and which GPU that makes the cheapest."""

from __future__ import annotations

import math

import pytest

from llmserve_lab.capacity import by_hand, levers, measured, sweep
from llmserve_lab.capacity.deployment import hourly
from llmserve_lab.capacity.triangle import DEVICES, LEVEL, LOADS, pool, served

RATE = 40.0


def test_the_winner_hangs_on_the_launches_of_prompts() -> None:
    waits, hidden = (levers.rents(RATE, waits=each) for each in (True, False))
    assert waits[0].device == "h100-sxm" and hidden[0].device == "b200-sxm"
    for each in (*waits, *hidden):
        assert each.gpus == math.ceil(RATE / each.per_s)
        assert each.usd == pytest.approx(each.gpus * hourly(each.device))
        assert (each.gpus - 1) * each.per_s < RATE <= each.gpus * each.per_s


def test_an_error_far_inside_the_band_turns_either_choice() -> None:
    """Both rates lie so near a whole GPU less that the two choices are ties."""
    least = abs(measured.rate_error()[0])
    for waits in (True, False):
        found = {each.device: each for each in levers.rents(RATE, waits=waits)}
        first = levers.rents(RATE, waits=waits)[0]
        spare = first.per_s * first.gpus / RATE - 1
        assert 0 < spare < least / 2
        turned = math.ceil(RATE / (first.per_s / (1 + spare + 0.01)))
        assert turned == first.gpus + 1
        two, four = found["b200-sxm"], hourly("h100-sxm") * 4
        assert four > 2 * hourly(two.device) > 3 * hourly("h100-sxm")
        spared = {
            key: (each.gpus + 1) * hourly(key) for key, each in found.items()
        }  # a replica is one GPU
        cheapest = min(spared, key=spared.__getitem__)
        assert cheapest == ("h100-sxm" if waits else "b200-sxm")


@pytest.mark.parametrize("device", DEVICES)
def test_launches_that_are_hidden_never_lower_a_goodput(device: str) -> None:
    """By their part of a prompt's time, at most."""
    part = levers.stored("unwaited")[device] / by_hand.engine_rate(device)
    times = by_hand.times_of(device)
    launches_s = pool("llama-3.1-8b", device).cost.prompt_s
    whole_s = times.prompt_s + times.answer_s
    assert 1 < part < whole_s / (whole_s - launches_s) * 1.05


def test_what_is_stored_is_what_the_engine_finds() -> None:
    """Below the stored goodput nine in ten keep both targets, above it they do not."""
    for one, rate in (
        (levers.unwaited("h100-sxm"), levers.stored("unwaited")["h100-sxm"]),
        (levers.eight_bits(), levers.stored(levers.EIGHT)),
    ):
        found = sweep.crossing(one, between=(0.95 * rate, 1.05 * rate))
        assert found == pytest.approx(rate, rel=0.015)


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm"])
def test_nine_in_ten_keep_a_tpot_above_the_mean(device: str) -> None:
    one, rate = pool("llama-3.1-8b", device), by_hand.engine_rate(device)
    report = served(LOADS[0], rate, one, seconds=600.0)
    ratio = LEVEL.kept(report).nearest_tpot_s / float(report.tpot_s.mean())
    assert ratio == pytest.approx(by_hand.over_mean(device), rel=0.03)


def test_what_is_cached_is_saved_at_most() -> None:
    """Half of a prompt saves at most half of its time."""
    times = by_hand.times_of("h100-sxm")
    whole_s = times.prompt_s + times.answer_s
    assert 1 < levers.cached_gain() < whole_s / (whole_s - times.prompt_s / 2) * 1.02
    assert levers.cached_gain(0.0) == pytest.approx(1.0)
