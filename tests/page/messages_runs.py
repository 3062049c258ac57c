"""Answers of checks that run servers: each run is played or read off once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from llmserve_lab.continuous_batching import exercise as splits
from llmserve_lab.disaggregation import routing
from llmserve_lab.engine import Chunked, Pool, Report, simulate
from llmserve_lab.how_wrong import exercise as model
from llmserve_lab.roofline import exercise as batches
from llmserve_lab.running_example import cost
from llmserve_lab.symptoms import exercise as signs
from llmserve_lab.validation import dense_rows
from tests.page.messages import Answer, answer
from tests.page.test_printed_checks import delays

Shares = list[tuple[Any, int]]
Split = Callable[[list[Any], int], Shares]


def shortest_first(prompts: list[Any], budget: int) -> Shares:
    order = sorted(prompts, key=lambda each: each.pending)
    return splits.in_order_of_arrival(order, budget)


def a_little() -> Split:
    """Shortest first; in every third iteration a few rows of the longest before."""
    count = 0

    def split(prompts: list[Any], budget: int) -> Shares:
        nonlocal count
        count += 1
        *short, long = sorted(prompts, key=lambda each: each.pending)
        if count % 3:
            return shortest_first(prompts, budget)
        rows = min(64, budget, long.pending)
        return [(long, rows), *splits.in_order_of_arrival(short, budget - rows)]

    return split


def ran(split: Split | None) -> Report:
    """The rush, served with a split, or in order of arrival by the engine itself."""
    policy = splits.Splitting(split) if split else Chunked(512)
    return simulate(splits.rush(), Pool(cost(), policy), log=True, leap=False)


def first_s(split: Split | None) -> tuple[float, float]:
    """Time to the first token of the slowest short prompt, and of the long one."""
    report = ran(split)
    shorts = [i for i, size in enumerate(report.prompt_len) if size == 520]
    assert len(shorts) == 150
    waits = [float(each) for each in report.ttft_s]
    return max(waits[i] for i in shorts), waits[int(np.argmax(report.prompt_len))]


def later(split: Split) -> float:
    """How many times as long the long prompt takes as in order of arrival."""
    return first_s(split)[1] / first_s(None)[1]


def stands_s(split: Split) -> float:
    """The longest wait of the long prompt between two of its pieces."""
    report = ran(split)
    assert report.log is not None
    long, last, most = int(report.id[np.argmax(report.prompt_len)]), 0.0, 0.0
    for frame in report.log.frames():
        if long in {part.id for part in frame.running}:
            most, last = max(most, frame.end_s - last if last else 0.0), frame.end_s
    return most


def errors(time_s: Callable[[Any, Any], float]) -> list[float]:
    """Mean error and bias in per cent, and the rows of which they are."""
    rows = dense_rows()[::16]
    costs = {id(row): cost for row, cost in model.sample()}
    off = [100 * (float(time_s(row, costs[id(row)])) / row.tpot_s - 1) for row in rows]
    return [sum(map(abs, off)) / len(off), sum(off) / len(off), len(off)]


def by_weights(_: Any, cost: Any) -> float:
    return float(cost.weights_s)


def longer(row: Any, cost: Any) -> float:
    return 1.13 * model.decode_and_prefill(row, cost)


def an_eighth_more(row: Any, _: Any) -> float:
    return 1.125 * float(row.tpot_s)


NAMES = "ttft_p50 queue_share preemptions long_gaps kv_peak itl_p50 running_most slots"


def panel_of(cause: str) -> list[float]:
    """Metrics of the first dashboard of a cause, as the answer names them."""
    seen = next(panel for _, name, panel in signs.panels() if name == cause)
    return [seen[name] for name in NAMES.split()]


def but(cause: str) -> Callable[[Any], str]:
    """Right, but of one cause another is said."""
    return lambda seen: (
        "no idea" if signs.by_signs(seen) == cause else signs.by_signs(seen)
    )


def misnamed(cause: str, title: str) -> Answer:
    shown = " ".join(f"{name}: #" for name in NAMES.split())
    words = f"not yet: a run of {title!r} with {shown} is {cause!r}, your diagnosis "
    said = f"{words}says 'no idea'."
    return answer("symptoms", but(cause), said, lambda: panel_of(cause))


def beside(more: int) -> Callable[[int, float], int]:
    """A choice beside the largest batch that fits in time and memory."""
    return lambda context, limit_s: max(
        0, batches.largest_batch(context, limit_s) + more
    )


def largest(context: int, limit_s: float) -> int:
    """The same from the other end: the first batch from above that fits."""
    return next(
        each
        for each in range(512, 0, -1)
        if batches.seconds(each, context) <= limit_s
        and batches.held_bytes(each, context) <= batches.hbm_bytes()
    )


FIRST = "the mean delay is"
CHUNKS = "continuous_batching"
ANSWERS = [
    answer(CHUNKS, lambda *_: [],
           "not yet: # requests are never served; is no prompt given rows?",
           5 + 1 + 150),
    answer(CHUNKS, splits.in_order_of_arrival,
           "not yet: a short prompt waits # s for its first token; 1.5 s would do.",
           lambda: [first_s(None)[0]]),
    answer(CHUNKS, shortest_first,
           "not yet: the short prompts are quick, but the long prompt stands still "
           "for # s; 500 ms would do.", lambda: [stands_s(shortest_first)]),
    Answer(CHUNKS, a_little,
           "not yet: the long prompt takes # times as long as in order of arrival; "
           "1.5 times would do.", lambda: [later(a_little())]),
    answer(CHUNKS, splits.fair_share,
           "well done: the slowest short prompt waits # ms, and the long prompt takes "
           "# times as long as in order of arrival.",
           lambda: [1e3 * first_s(splits.fair_share)[0], later(splits.fair_share)]),
    answer(CHUNKS, lambda prompts, _: [(prompts[0], prompts[0].pending + 1)],
           "rows must be 1 to #, what is left of the prompt, got #", 1000, 1001),
    answer(CHUNKS, lambda prompts, _: [(each, each.pending) for each in prompts],
           "rows must be # at most in all, got #", 512, 5 * 1000),
    answer(CHUNKS, lambda prompts, _: [(prompts[0], 1), (prompts[0], 1)],
           "split must return each prompt once, got one of them twice"),
    answer(CHUNKS, lambda *_: [("a text", 1)],
           "split must return prompts it was given, got 'a text'"),
    answer("disaggregation", lambda places, *_: places[0],
           f"not yet: {FIRST} # s; weighing both gives # ms.",
           lambda: [delays("first"), 1e3 * delays("soonest")]),
    answer("disaggregation", routing.soonest,
           f"well done: {FIRST} # ms; the best simple rule takes # ms.",
           lambda: [1e3 * delays("soonest"), 1e3 * min(
               map(delays, ("nearest", "least loaded", "most cached")))]),
    answer("disaggregation", lambda *_: "D9",
           "router must return one of the places, got 'D9'"),
    answer("how_wrong", by_weights,
           "not yet: mean error # %, bias # % on # rows; most of your times are too "
           "short. 15 % would do.", lambda: errors(by_weights)),
    answer("how_wrong", longer,
           "not yet: mean error # %, bias # % on # rows; most of your times are too "
           "long. 15 % would do.", lambda: errors(longer)),
    answer("how_wrong", an_eighth_more,
           "not yet: mean error # %, bias # % on # rows; the errors have one sign.",
           12.5, 12.5, len(dense_rows()[::16])),
    answer("how_wrong", model.decode_and_prefill,
           "well done: mean error # %, bias # % on # rows.",
           lambda: errors(model.decode_and_prefill)),
    answer("how_wrong", lambda *_: -2.5,
           "model must return seconds above 0, got #", -2.5),
    answer("roofline", beside(1),
           "not yet: for # tokens in cache and # ms a token # is chosen, and that is "
           "too many: # fit in time and memory.", 500, 5, 1, 0),
    answer("roofline", beside(-1),
           "not yet: for # tokens in cache and # ms a token # is chosen, and # would "
           "still fit in time and memory.",
           lambda: [500, 12.5, largest(500, 0.0125) - 1, largest(500, 0.0125)]),
    answer("roofline", batches.largest_batch,
           "well done: right for all # loads.", 4 * 4),
    misnamed("too few slots", "a slow first token at low load"),
    misnamed("preemption", "answers that pause"),
    misnamed("healthy", "a healthy server"),
    answer("symptoms", signs.by_signs,
           "well done: # dashboards, each named rightly or refused.",
           2 * (2 + 2) + 2 * (1 + 2)),
    answer("symptoms", lambda _: 3,
           "diagnose must return the name of a cause, got #", 3),
]  # fmt: skip
