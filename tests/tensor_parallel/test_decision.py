"""One group or two, where they change over; and what of a layer's time is the GPU's."""

from __future__ import annotations

import pytest

from llmserve_lab import running_example
from llmserve_lab.catalog.evidence.collectives import ENGINE_LIMITS
from llmserve_lab.collectives import calibration
from llmserve_lab.engine import IterationLoad
from llmserve_lab.tensor_parallel import commands, fits, fixed_time, published
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import (
    DEFAULT,
    DEVICE,
    MODEL,
    all_reduce_times,
)
from llmserve_lab.tensor_parallel.page import decision, stills
from llmserve_lab.validation.room import working_bytes

ERRORS = [each.error for each in published.by_degree(8)]
USUAL = running_example.PROMPT + running_example.ANSWER


def token_s(tp: int, batch: int) -> float:
    """Seconds of an iteration of usual decodes, as the engine prices it."""
    one = IterationLoad.of(chunk=1, context=running_example.PROMPT)
    rows, pairs, kv_tokens, requests, _ = (batch * each for each in one)
    load = IterationLoad(rows, pairs, kv_tokens, requests, prompts=0)
    return running_example.served_by(MODEL, DEVICE, tp=tp).seconds(load)


def test_two_groups_of_four_overtake_once() -> None:
    """Before the change every user waits less on TP 8, after it on two of TP 4."""
    change = decision.change_over()
    for batch in range(2, 2 * change, 2):
        slower = token_s(8, batch) > token_s(4, batch // 2)
        assert slower is (batch >= change)
    for tp, batch in ((8, change), (4, change // 2)):
        assert batch * USUAL < worked.cached_tokens(tp)


def test_without_host_time_and_bytes_one_group_stays_ahead_longer() -> None:
    """They are what the halves share: twice as much at TP 8 as in each half."""
    change = decision.change_over()
    request_s = float(DEFAULT["request_s"])
    saved = (change - change // 2) * request_s + worked.ring_part_s(8, change)
    saved -= worked.ring_part_s(4, change // 2)
    assert token_s(8, change) - saved < token_s(4, change // 2)


def test_what_depends_on_the_group_makes_both_ways_equal_there() -> None:
    """The sum by hand leaves out only what is the same in both, for any load."""
    for batch in (64, 270, 512):
        shares = [decision.shares_ms(tp, batch * tp // 8) for tp in (8, 4)]
        apart = [sum((each["both"], each["beside"])) for each in shares]
        told_ms = 1e3 * (token_s(8, batch) - token_s(4, batch // 2))
        assert apart[0] - apart[1] == pytest.approx(told_ms, abs=0.021)
    for each in shares:
        short, long = sorted((each["read"], each["multiply"]))
        assert each["both"] == pytest.approx(long + short / 2, abs=0.006)


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_no_more_requests_fit_each_with_its_slot(tp: int) -> None:
    """Filled one by one until a GPU is full: cache, slots, and what else is kept."""
    usable = 0.9 * float(DEVICE.usable_bytes) - MODEL.weight_bytes() / tp
    each = USUAL * MODEL.kv_bytes_per_token() / tp
    slots, held = 0, 0.0
    while held <= usable:
        slots += 1
        kept = working_bytes(slots, vocab=MODEL.vocab, n_gpus=tp)
        held = slots * each + kept
    assert fits.fitting_requests(tp) == slots - 1
    assert fits.slot_tokens(tp, slots - 1) // USUAL in {slots - 2, slots - 1}
    assert fits.slot_tokens(tp, 64) == worked.cached_tokens(tp)


@pytest.mark.parametrize("end", [0, 1])
def test_an_error_of_the_gain_moves_the_change(end: int) -> None:
    """At either end one group is ahead or behind by just what it was off elsewhere."""
    change, error = decision.change_range()[end], sorted(ERRORS)[(-12, 11)[end]]
    ahead = token_s(4, change // 2) / token_s(8, change) - 1
    assert ahead == pytest.approx(error, abs=0.01)
    assert (change < decision.change_over()) is (error > 0)


def test_counted_as_the_engine_adds_up_it_changes_within_the_range() -> None:
    """The bytes of vLLM's own ways in place of those of a ring, beyond a start."""

    def own_s(tp: int, batch: int) -> float:
        nbytes, limits = batch * worked.row_bytes(), ENGINE_LIMITS[tp]
        way = "one_shot_s" if nbytes < float(limits.one_shot) else "two_shot_s"
        way = "in_switch_s" if nbytes >= float(limits.two_shot) else way
        reduce_s = all_reduce_times(tp, nbytes)[way] - calibration.one_shot().start_s
        rest = token_s(tp, batch) - worked.ring_part_s(tp, batch)
        return rest + 2 * MODEL.n_layers * reduce_s

    low, high = decision.change_range()
    batch = next(n for n in range(2, 999, 2) if own_s(8, n) > own_s(4, n // 2))
    assert low < batch < 1.03 * high


def test_a_product_starts_as_long_whatever_it_reads() -> None:
    """A line from the lightest and the heaviest product meets the two between."""
    first, *between, last = sorted(
        fixed_time.layer_products(), key=lambda each: each.traffic_bytes
    )
    gap = last.traffic_bytes - first.traffic_bytes
    slope = (float(last.seconds) - float(first.seconds)) / gap
    start = float(first.seconds) - slope * first.traffic_bytes
    for each in between:
        line = start + slope * each.traffic_bytes
        assert float(each.seconds) == pytest.approx(line, rel=0.03)
    found = fixed_time.product_line()
    assert found.start_s == pytest.approx(start, rel=0.15)
    bare = fixed_time.bare_layer_s()
    assert found.n_products * found.start_s < bare < float(DEFAULT["layer_s"])


def test_the_small_model_has_matrices_of_a_quarter() -> None:
    """Those of a layer of Llama-3.1-8B, beside a quarter of Llama-3.1-70B's."""
    small, heads = fixed_time.SHAPE, MODEL.attention
    for each in fixed_time.layer_products():
        whole = {
            "qkv": MODEL.d_model * (heads.n_heads + 2 * 8) * heads.d_head,
            "out": MODEL.d_model * heads.n_heads * heads.d_head,
            "gate and up": 2 * MODEL.d_model * MODEL.ffn.d_ff,
            "down": MODEL.d_model * MODEL.ffn.d_ff,
        }[each.matrix]
        assert each.n_in * each.n_out == pytest.approx(whole / 4, rel=0.25)
    assert small.ffn.d_ff * small.d_model == MODEL.ffn.d_ff * MODEL.d_model / 4


@pytest.mark.parametrize("n_gpus", [1, 2, 4, 8])
def test_one_fixed_time_serves_every_number_of_gpus(n_gpus: int) -> None:
    assert abs(worked.served_error(n_gpus)) < 0.035


def test_errors_of_either_sign_cancel_in_the_mean() -> None:
    signed = [abs(worked.served_error(n_gpus)) for n_gpus in (1, 2, 4, 8)]
    assert worked.served_size_error() > 2 * max(signed)


def test_one_shot_as_measured_is_near_its_fit_and_the_switch_only_above() -> None:
    fit_s = all_reduce_times(8, worked.row_bytes())["one_shot_s"]
    assert worked.measured_shot_s() == pytest.approx(fit_s, rel=0.1)
    assert worked.switch_least_bytes() > worked.turn_bytes() > worked.row_bytes()


def test_half_the_bytes_gain_less() -> None:
    """By hand as by the measured pair's own prediction, and less than in BF16."""
    by_hand = worked.eight_bit_ms(4) / worked.eight_bit_ms(8)
    pair = published.on_h100s(8, clients=4, length=1024)
    assert by_hand == pytest.approx(pair.predicted, rel=0.02)
    assert pair.predicted == pytest.approx(pair.measured, rel=0.04)
    assert by_hand < worked.iteration_s(4) / worked.iteration_s(8)
    with pytest.raises(ValueError, match="clients must be a measured load"):
        published.on_h100s(8, clients=3, length=1024)


def test_the_load_of_the_measurement_fits_two_gpus() -> None:
    clients = 16
    assert clients * USUAL < worked.cached_tokens(2) < 2 * clients * USUAL
    said = commands.bench(prompt=1000, answer=200, num_prompts=1, clients=clients)
    assert said.endswith(f"--max-concurrency {clients}") and "--ignore-eos" in said


@pytest.mark.parametrize("n_gpus", [2, 4, 8])
def test_room_ends_where_the_counted_tokens_do(n_gpus: int) -> None:
    tokens = worked.cached_tokens(n_gpus)
    for context, has in ((tokens, True), (tokens + 16, False)):
        known = DEFAULT | {"batch": 1.0, "chunk": 1.0, "context": float(context)}
        assert stills.has_room(known, n_gpus) is has
