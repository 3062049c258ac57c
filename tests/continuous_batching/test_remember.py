"""The five sentences that a reader keeps, each held in every state that is shown.

The numbers are found again by other means than those that print them: slots that are
filled by hand, rows that are walked, chunks that are searched for.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapreplace
from itertools import pairwise

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.continuous_batching import arrival_rates, lanes, tuning
from llmserve_lab.continuous_batching.machine import DECODES, LONG, TARGET_S
from llmserve_lab.continuous_batching.page import figures, questions
from llmserve_lab.continuous_batching.page.controls import PREFIXES, REACHED, TARGETS
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.running_example import PROMPT, cost, device, model

SHARES = ("datasheet", "article-06", "flashmla", "mazurek-mla", "as measured")


def on(share: str) -> IterationCost:
    """The running example on a machine that achieves another share of its datasheet."""
    if share == "as measured":
        return cost()
    return IterationCost.of(model(), device(), efficiency=catalog.efficiency(share))


def iteration_s(of: IterationCost, chunk: int, context: int) -> float:
    """An iteration with a chunk and the decodes beside it, request by request."""
    load = IterationLoad.of(chunk=chunk, context=context)
    for _ in range(DECODES):
        load = load.plus(IterationLoad.of(chunk=1, context=PROMPT))
    return of.seconds(load)


def by_hand(answers: list[int], slots: int) -> tuple[int, int]:
    """Iterations of static batches, and of slots that are refilled at once."""
    batches = (answers[i : i + slots] for i in range(0, len(answers), slots))
    static = sum(max(batch) for batch in batches)
    busy_until = [0] * slots
    for answer in answers:
        heapreplace(busy_until, busy_until[0] + answer)
    return static, max(busy_until)


def test_a_static_batch_throws_slot_steps_away() -> None:
    answers = [request.output_len for request in crowd(per_s=1.0, num_requests=6400)]
    static, _ = by_hand(answers, arrival_rates.SLOTS)
    wasted = 1 - sum(answers) / (static * arrival_rates.SLOTS)
    assert arrival_rates.idle_of_geometric(arrival_rates.SLOTS) == pytest.approx(
        wasted, abs=0.02
    )
    assert wasted > 0.7


def test_continuous_batching_delivers_several_times_as_much() -> None:
    asked = crowd(per_s=1e6, num_requests=arrival_rates.REQUESTS)
    answers = [request.output_len for request in asked]
    static, refilled = by_hand(answers, arrival_rates.SLOTS)
    most = {name: arrival_rates.saturation(name) for name in arrival_rates.policies()}
    factor = most["continuous"] / most["static"]
    # The iterations of a full batch take a little longer than those of an empty one.
    assert static / refilled * 0.6 < factor <= static / refilled
    assert factor > 2.5
    rates = [point.per_s for point in arrival_rates.points()["static"]]
    for name, found in arrival_rates.points().items():
        assert all(point.tokens_per_s <= 1.02 * most[name] for point in found)
    assert rates[-1] * 200 > most["continuous"]  # the figure shows both saturated


@pytest.mark.parametrize("share", SHARES)
def test_a_long_prompt_freezes_everybody_for_seconds(share: str) -> None:
    rows = np.arange(LONG, dtype=float)
    walked = (on(share).row_s + on(share).pair_s * (rows + 1)).sum()
    assert walked > 2
    if share == "as measured":
        run = lanes.whole()
        gaps = run.worst_gap_s[run.id < DECODES]
        assert len(gaps) == DECODES
        assert gaps == pytest.approx(walked, rel=0.01)
        assert lanes.longest_gap_s(run) == gaps.max()


def states() -> Iterator[tuple[float, float]]:
    """Every chunk and every target that the figure of lanes can show."""
    for chunk in lanes.CHUNKS:
        for target in REACHED:
            yield float(chunk), target


def test_the_figure_of_lanes_tells_the_truth_in_every_state() -> None:
    figure = figures.lanes()
    goal = figure.goal
    assert goal is not None
    for chunk, target in states():
        known = figure.values(chunk=chunk, tbt_target=target)
        run = lanes.in_chunks(int(chunk))
        gap_s = lanes.longest_gap_s(run)
        assert known["served_iteration_s"] == pytest.approx(gap_s, rel=0.01)
        longer = [c for c in lanes.CHUNKS if c > chunk]
        keeps = gap_s <= target
        best = keeps and all(
            lanes.longest_gap_s(lanes.in_chunks(c)) > target for c in longer
        )
        assert goal.met(known) is best, (chunk, target)


def test_chunks_keep_the_target_and_cost_time() -> None:
    run = lanes.in_chunks(512)
    assert lanes.longest_gap_s(run) <= TARGET_S
    first = tuning.trade(tuning.budget())
    best = tuning.trade(tuning.budget(), launches=False)
    assert best.gap_s < first.gap_s <= TARGET_S
    whole_s = lanes.ttft_s(lanes.whole())
    assert 1.15 < best.ttft_s / whole_s < first.ttft_s / whole_s < 1.6
    times = [lanes.ttft_s(lanes.in_chunks(chunk)) for chunk in lanes.CHUNKS]
    assert all(shorter > longer for shorter, longer in pairwise(times))
    assert 1.2 < times[0] / times[-1] < 2
    gaps = [lanes.mean_gap_s(lanes.in_chunks(chunk)) for chunk in lanes.CHUNKS]
    assert all(a < b for a, b in pairwise(gaps))
    assert gaps[0] > 4 * lanes.calm_s()  # every reader is slow meanwhile


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("target", TARGETS)
def test_the_further_a_prompt_the_fewer_rows_fit(share: str, target: float) -> None:
    calm = IterationLoad(DECODES, DECODES * (PROMPT + 1), DECODES * PROMPT, DECODES)
    fits = [
        on(share).chunk_within(target, load=calm, context=int(prefix))
        for prefix in PREFIXES
    ]
    assert all(more >= less for more, less in pairwise(fits))
    if fits[0]:
        assert fits[-1] < fits[0] / 2
    if share == "as measured" and target == TARGET_S:
        assert (fits[0], fits[-1]) == (questions.fits(0), questions.fits(LONG))


def test_the_chunks_that_fit_are_the_largest_that_do() -> None:
    for prefix in (0, LONG // 2, LONG):
        rows = int(questions.fits(prefix))
        assert iteration_s(cost(), rows, prefix) <= TARGET_S * (1 + 1e-9)
        assert iteration_s(cost(), rows + 1, prefix) > TARGET_S
