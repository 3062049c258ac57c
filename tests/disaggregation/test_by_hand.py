"""What the page says beside its formulas, found again from the engine's iterations."""

from itertools import pairwise
from math import ceil, sqrt

import numpy as np
import pytest

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation import routing, served
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.disaggregation.hop import ANSWERS, BY_LAYERS, played, shared
from llmserve_lab.disaggregation.launches import SURE
from llmserve_lab.disaggregation.page import figures, questions
from llmserve_lab.disaggregation.served import known, load, value
from llmserve_lab.engine import IterationLoad
from llmserve_lab.running_example import PROMPT, cost


def prefill_s(prompt: int) -> float:
    """An iteration that reads one prompt."""
    return cost().seconds(IterationLoad.of(chunk=prompt))


def longest(times: tuple[float, ...]) -> float:
    """The longest time between two tokens."""
    return max(later - sooner for sooner, later in pairwise(times))


def test_both_parts_of_the_first_figure_have_two_gpus_and_the_same_requests() -> None:
    """The stream is what two pools buy, and first tokens are what they pay."""
    apart, lanes = played(BY_LAYERS), figures.pools_by_layer().logs[BY_LAYERS.name]
    assert {step[-1] for step in shared().steps} == {0, 1}
    upper = {row["y"] for row in lanes.tables["spans"]}
    assert sum("both" in lane for lane in upper) == 2
    assert {"prefill GPU", "decode GPU"} <= upper
    for number, answer in enumerate(ANSWERS):
        assert len(shared().tokens(number)) == len(apart.tokens[number]) == answer
    token = IterationLoad.of(chunk=1, context=PROMPT + 1)
    rides = cost().seconds(token.plus(IterationLoad.of(chunk=PROMPT)))
    assert longest(shared().tokens(0)) == pytest.approx(rides, rel=1e-3)
    assert longest(apart.tokens[0]) < 0.25 * rides
    for number in (1, 2):
        assert apart.tokens[number][0] > shared().tokens(number)[0] + 0.02


def test_the_gaps_that_are_written_are_the_longest() -> None:
    lanes = figures.pools_by_layer().logs[BY_LAYERS.name]
    said = [gap["text"] for gap in lanes.tables["gaps"]]
    gaps = longest(shared().tokens(0)), longest(played(BY_LAYERS).tokens[0])
    assert said == [f"{1e3 * gaps[0]:.1f} ms", f"≤ {1e3 * gaps[1]:.2f} ms"]


def test_cache_is_made_fastest_where_attention_has_eaten_what_launches_saved() -> None:
    """A prefill takes a + b·s + c·s², so tokens a second are most at √(a/c)."""
    one, two, three = (prefill_s(s) for s in (4000, 6000, 8000))
    square = (three - 2 * two + one) / (2 * 2000**2)
    slope = (three - one) / 4000 - square * 12_000
    constant = two - slope * 6000 - square * 6000**2
    best = sqrt(constant / square)
    rates = {s: questions.made(s) for s in range(1000, 20_000, 100)}
    assert max(rates, key=rates.__getitem__) == pytest.approx(best, abs=60)
    assert 5_300 < best < 5_700


@pytest.mark.parametrize("error", [-0.19, 0.0, 0.24])
def test_a_step_that_is_off_moves_the_ratio_of_the_pools(error: float) -> None:
    """The batch whose step, so much longer, is just the promise; then by hand."""
    promise_s = 0.015
    has = known(load(promise_s=promise_s))
    low, high = 1.0, 1000.0
    for _ in range(60):
        batch = (low + high) / 2
        step_s = value(f.DECODE_STEP_S, has, decode_batch=batch)
        low, high = (batch, high) if (1 + error) * step_s < promise_s else (low, batch)
    by_hand = 199 * promise_s / low / prefill_s(PROMPT)
    assert worked.ratio_if(error, promise_s) == pytest.approx(by_hand, rel=2e-3)


def test_no_step_is_shorter_than_nothing() -> None:
    with pytest.raises(ValueError, match="error must be above -1, got -1"):
        worked.ratio_if(-1.0, 0.015)


def test_the_page_decides_nothing_within_ten_percent() -> None:
    edge_s = worked.ahead_until_s(SURE)
    assert worked.advantage(edge_s) == pytest.approx(1.1)
    looser = [edge_s + 0.002 * i for i in range(1, 14)]
    assert all(abs(worked.advantage(each) - 1) < 0.1 for each in looser)
    reached = figures.promises().goal
    assert reached is not None
    fits = {"two_decode_batch": 112.0}
    assert not reached.reached(one_shared_rate=53.3, two_best_pools_rate=67.5, **fits)
    assert reached.reached(one_shared_rate=81.8, two_best_pools_rate=77.9, **fits)
    none = {"two_decode_batch": 0.9}
    assert not reached.reached(one_shared_rate=0.2, two_best_pools_rate=0.2, **none)


def test_the_router_s_requests_come_from_as_many_prefill_gpus_as_they_take() -> None:
    prompt = routing.FRESH + routing.SHARED
    assert ceil(routing.PER_S * prefill_s(prompt)) == 17


def test_the_first_request_is_long_enough_to_be_sent() -> None:
    """Numbers with commas: at the least a token each, and a block has sixteen."""
    commands = served.commands()
    assert 'prompt": "\'"$(seq -s, 500)"\'"' in commands
    assert "vllm:nixl_bytes_transferred_sum" in commands


@pytest.mark.parametrize(("launch_ms", "printed"), [(6.545, 0.27), (0.0, 0.20)])
def test_a_part_of_the_lead_is_the_launches_of_a_prompt(
    launch_ms: float, printed: float
) -> None:
    """The page's numbers, added up: 15 ms a token, 199 gaps, four GPUs."""
    prefill, ride = 25.99 + launch_ms, 19.495 + launch_ms
    two = 4 / (prefill + 26.7)
    batch = np.arange(1.0, 110.0, 0.01)
    step = 2.18 + 4.74 + 0.07233 * batch
    gap = step + batch / 199 * (ride + 0.01053 * (batch - 40))
    one = 4 * batch[gap <= 15].max() / (199 * 15)
    assert two / one - 1 == pytest.approx(printed, abs=0.01)
    found = (
        worked.advantage(0.015)
        if launch_ms
        else worked.advantage_without_launches(0.015)
    )
    assert found == pytest.approx(two / one, rel=0.01)
