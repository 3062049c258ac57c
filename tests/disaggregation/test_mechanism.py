"""The pipeline, the pools and the router: what they do, and what they refuse."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.disaggregation import capacity_sim, goodput, routing
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.batch_limits import batch_limits
from llmserve_lab.disaggregation.hop import WAYS, Way, bytes_per_s, played
from llmserve_lab.disaggregation.kv_transfer_timeline import hand_over, late_s
from llmserve_lab.disaggregation.queueing import waits
from llmserve_lab.disaggregation.served import known, load, setting, value
from llmserve_lab.disaggregation.tiers import TieredStore
from llmserve_lab.engine import IterationLoad
from llmserve_lab.running_example import ANSWER, PROMPT, cost, model

times = st.floats(0.01, 100)


@given(st.integers(1, 40), times, times)
def test_the_pipeline_ends_where_the_closed_form_says(
    n_layers: int, prefill_s: float, transfer_s: float
) -> None:
    here = {"n_layers": n_layers, "prefill_s": prefill_s, "transfer_s": transfer_s}
    by_layers = late_s(hand_over(**here, streamed=True))  # type: ignore[arg-type]
    at_the_end = late_s(hand_over(**here, streamed=False))  # type: ignore[arg-type]
    assert by_layers == pytest.approx(float(f.EXPOSED_S(**here)), rel=1e-6)
    assert at_the_end == pytest.approx(transfer_s)
    assert by_layers <= at_the_end * (1 + 1e-9)


@given(st.integers(1, 20), times, times, st.booleans())
def test_no_layer_is_sent_before_it_is_made_nor_two_at_once(
    n_layers: int, prefill_s: float, transfer_s: float, streamed: bool
) -> None:
    layers = hand_over(
        n_layers=n_layers,
        prefill_s=prefill_s,
        transfer_s=transfer_s,
        streamed=streamed,
    )
    assert len(layers) == n_layers
    assert all(layer.begun_s >= layer.made_s for layer in layers)
    pairs = pairwise(layers)
    assert all(one.sent_s <= other.begun_s for one, other in pairs)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_layers_arrive_when_the_engine_lets_the_request_in(way: Way) -> None:
    """The engine's own link knows nothing of single layers on ours."""
    run = played(way)
    for number in (0, 1):
        first = min(step[0] for step in run.steps if number in step[2])
        before = run.arrived_s(number) - 1e-6
        running = [step for step in run.steps if step[0] < before]
        free_s = running[-1][1] if running else 0.0
        assert first == pytest.approx(max(run.arrived_s(number), free_s), abs=1e-6)
    sent = PROMPT * cost().kv_bytes_per_token / bytes_per_s(way)
    layers = run.layers[0]
    assert sum(x.sent_s - x.begun_s for x in layers) == pytest.approx(sent)


def test_the_machine_of_the_page_is_the_engines() -> None:
    """Each time of an iteration, formula against engine."""
    prompt = cost().seconds(IterationLoad.of(chunk=PROMPT))
    assert value(f.PREFILL_S, known()) == pytest.approx(prompt)
    context = PROMPT + ANSWER // 2 - 1
    for batch in (1, 40, 300):
        step = IterationLoad(batch, batch * (context + 1), batch * context, batch, 0)
        own = value(f.DECODE_STEP_S, known(), decode_batch=float(batch))
        assert own == pytest.approx(cost().seconds(step), rel=1e-3)
    step = IterationLoad(40, 40 * (context + 1), 40 * context, 40, 0)
    joint = cost().seconds(step.plus(IterationLoad.of(chunk=PROMPT)))
    ride = value(f.RIDE_S, known(), shared_batch=40.0)
    assert ride == pytest.approx(joint - cost().seconds(step), rel=1e-3)


def test_the_room_is_the_engines() -> None:
    requests = value(f.ROOM_BATCH, known())
    tokens = cost().kv_blocks() * 16
    assert requests == pytest.approx(tokens / (PROMPT + ANSWER), rel=1e-3)


def test_a_batch_is_never_more_than_time_arithmetic_and_memory_allow() -> None:
    for prompt, promise_s in ((1000, 0.05), (128_000, 0.01), (16_000, 0.02)):
        has = known(load(prompt, ANSWER, promise_s))
        batch = value(f.DECODE_BATCH, has)
        assert value(f.DECODE_STEP_S, has) <= promise_s * (1 + 1e-9)
        held = batch * (prompt + ANSWER) * cost().kv_bytes_per_token
        assert held + model().weight_bytes() <= 0.9 * cost().hbm_bytes * (1 + 1e-6)
    found = {(each.prompt, each.promise_s): each.batch for each in batch_limits()}
    assert found[128 * PROMPT, 0.01] == 0 < min(list(found.values())[:-1])


@pytest.mark.long
@pytest.mark.parametrize("promise_s", [0.01, 0.02, 0.03])
def test_the_simulated_rates_are_those_of_the_closed_forms(promise_s: float) -> None:
    has = known(load(promise_s=promise_s), n_prefill=1.0, n_decode=1.0)
    for formula, shared in ((f.SHARED_RATE, True), (f.POOLS_RATE, False)):
        simulated = capacity_sim.carried(promise_s=promise_s, shared=shared)
        assert simulated == pytest.approx(value(formula, has), rel=0.1)


def test_the_simulated_wait_is_that_of_a_queue() -> None:
    for each in waits(prompt_len=1000):
        assert each.ratio == pytest.approx(1, abs=0.06)


def test_goodput_is_where_the_share_leaves_nine_in_ten() -> None:
    assert goodput.rate_kept((10.0, 20.0), (1.0, 0.8)) == pytest.approx(15)
    assert goodput.rate_kept((10.0, 20.0), (0.5, 0.0)) == pytest.approx(2)
    assert goodput.rate_kept((10.0, 20.0), (1.0, 0.95)) == 20


@given(st.integers(1, 60), st.integers(0, 9))
def test_the_router_that_looks_ahead_never_does_worse_now(
    count: int, seed: int
) -> None:
    """Decision by decision: what it takes is the least of what was to be had."""

    def watched(places, talk, now_s):  # type: ignore[no-untyped-def]
        chosen = routing.soonest(places, talk, now_s)
        least = min(place.delay_s(talk, now_s) for place in places)
        assert chosen.delay_s(talk, now_s) == least
        return chosen

    for sent in routing.routed(watched, num_requests=count, seed=seed):
        assert sent.delay_s >= sent.queue_s >= 0
        assert sent.tokens in (routing.FRESH, routing.FRESH + routing.SHARED)


def test_the_check_tells_a_weighing_router_from_the_simple_ones() -> None:
    assert routing.check(routing.soonest).startswith("well done")
    for simple in (routing.nearest, routing.least_loaded, routing.most_cached):
        assert routing.check(simple).startswith("not yet")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: hand_over(n_layers=0, prefill_s=1, transfer_s=1, streamed=True),
            "n_layers must be at least 1 layer, got 0",
        ),
        (
            lambda: hand_over(n_layers=1, prefill_s=-1, transfer_s=1, streamed=True),
            "prefill_s must be finite and at least 0, got -1",
        ),
        (
            lambda: f.FREE_ROWS.at(setting(), batch=5000, context=256),
            "free_rows must be at least 0, got -",
        ),
        (lambda: TieredStore(()), "capacities must be 0 blocks or more"),
        (lambda: TieredStore((1, -1)), "capacities must be 0 blocks or more"),
        (
            lambda: routing.routed(lambda *_: routing.four()[0], num_requests=1),
            "router must return one of the places",
        ),
    ],
)
def test_what_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_answers_of_one_token_take_no_decode_gpu() -> None:
    has = known(load(answer=1), arrival_rate=20.0)
    assert value(f.DECODE_GPUS, has) == value(f.POOL_RATIO, has) == 0
    busy = value(f.PREFILL_S, has) * 20
    assert value(f.POOLS_GPUS, has) == math.ceil(busy)
