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
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    LONG,
    TARGET_S,
    hidden,
    replayed,
)
from llmserve_lab.continuous_batching.page import figures, questions
from llmserve_lab.continuous_batching.page.controls import LIMITS, PREFIXES, TARGETS
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.running_example import PROMPT, cost, device, model

NAMES = ("static", "continuous")
SHARES = ("datasheet", "article-06", "flashmla", "mazurek-mla", "fitted to servers")


def on(share: str) -> IterationCost:
    """The running example on a machine that achieves another share of its datasheet."""
    if share == "fitted to servers":
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


def test_refilling_pays_and_skipping_wasted_rows_does_not() -> None:
    least, skipped, most = arrival_rates.causes().values()
    assert least < skipped < 1.5 * least  # the wasted rows are a small part
    assert most > 2 * skipped
    run = arrival_rates.skipping()
    assert (
        run.iterations == arrival_rates.served("static", 1e6).iterations
    )  # slots stay closed
    useful = [
        arrival_rates.saturation(n)
        * arrival_rates.iteration_s(arrival_rates.served(n, 1e6))
        for n in NAMES
    ]
    longer = [
        arrival_rates.iteration_s(arrival_rates.served(name, 1e6)) for name in NAMES
    ]
    factor = useful[1] / useful[0] / (longer[1] / longer[0])
    assert factor == pytest.approx(most / least, rel=1e-9)
    assert useful[1] / arrival_rates.SLOTS > 0.95  # the slots are full


@pytest.mark.parametrize("share", SHARES)
def test_a_long_prompt_freezes_everybody_for_seconds(share: str) -> None:
    rows = np.arange(LONG, dtype=float)
    walked = (on(share).row_s + on(share).pair_s * (rows + 1)).sum()
    assert walked > 2
    if share == "fitted to servers":
        run = lanes.whole()
        gaps = run.worst_gap_s[run.id < DECODES]
        assert len(gaps) == DECODES
        assert gaps == pytest.approx(walked, rel=0.01)
        assert lanes.longest_gap_s(run) == gaps.max()


def states() -> Iterator[tuple[int, float]]:
    """Every budget and every target that the figure of lanes can show."""
    for place in range(len(LIMITS)):
        for target in TARGETS:
            yield place, target


def test_the_figure_of_lanes_tells_the_truth_in_every_state() -> None:
    figure = figures.lanes()
    goal = figure.goal
    assert goal is not None
    runs = [*(lanes.under(rows) for rows in lanes.BUDGETS), lanes.whole()]
    gaps_s = [lanes.longest_gap_s(run) for run in runs]
    for place, target in states():
        known = figure.values(limit=LIMITS[place], tbt_target=target)
        assert known["longest_gap_s"] == gaps_s[place]
        assert known["first_s"] == lanes.ttft_s(runs[place])
        assert known["reader_tokens"] == len(lanes.pieces(runs[place]))
        keeps = gaps_s[place] <= target
        best = keeps and all(gap_s > target for gap_s in gaps_s[place + 1 :])
        assert goal.met(known) is best, (place, target)


def test_a_small_budget_keeps_the_target_and_costs_time() -> None:
    small = tuning.trade(tuning.budget())
    best, worst = (tuning.trade(small.budget, on_) for on_ in (hidden(), cost()))
    assert best.gap_s < small.gap_s < worst.gap_s <= TARGET_S
    assert small == tuning.trade(small.budget, replayed())  # as the page's rule says
    whole_s, bare_s = (
        tuning.trade(LONG + DECODES, m).ttft_s for m in (cost(), hidden())
    )
    assert whole_s == pytest.approx(lanes.ttft_s(lanes.whole()), abs=0.01)
    later = [best.ttft_s / bare_s, small.ttft_s / whole_s, worst.ttft_s / whole_s]
    assert 1.15 < later[0] < later[1] < 1.3 < later[2] < 1.5
    runs = [lanes.under(rows) for rows in lanes.BUDGETS]
    assert all(lanes.ttft_s(less) > lanes.ttft_s(more) for less, more in pairwise(runs))
    gaps = [lanes.mean_gap_s(run) for run in runs]
    assert all(a < b for a, b in pairwise(gaps))
    assert gaps[0] > 4 * lanes.calm_s()  # every reader is slow meanwhile


def test_the_parts_of_the_price_are_what_each_cost_adds() -> None:
    for machine, launches in ((replayed(), 0.5), (cost(), 2.0)):
        parts = tuning.extra_s(512, machine)
        whole_s = tuning.trade(LONG + DECODES, cost()).ttft_s
        more_s = tuning.trade(512, machine).ttft_s - whole_s
        assert sum(parts.values()) == pytest.approx(more_s)
        assert all(part > 0 for part in parts.values())
        each_s = (1 - machine.overlap) * machine.weights_s
        chunks = len(lanes.pieces(lanes.under(512))) - 1
        assert parts["weights"] == pytest.approx(chunks * each_s, rel=0.03)
        launch_s = machine.overhead_s + machine.prompt_s
        assert parts["launches"] == pytest.approx(chunks * launch_s, rel=0.03)
        assert launches / 2 < parts["launches"] < launches


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
    if share == "fitted to servers" and target == TARGET_S:
        assert (fits[0], fits[-1]) == (questions.fits(0), questions.fits(LONG))


def test_the_chunks_that_fit_are_the_largest_that_do() -> None:
    for prefix in (0, LONG // 2, LONG):
        rows = int(questions.fits(prefix))
        assert iteration_s(cost(), rows, prefix) <= TARGET_S * (1 + 1e-9)
        assert iteration_s(cost(), rows + 1, prefix) > TARGET_S
