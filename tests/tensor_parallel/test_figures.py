"""The figures show what ran, and what they price adds up."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import running_example
from llmserve_lab.collectives import ring_trace
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel import small_matrices as small
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import (
    CHOSEN_MACHINES,
    CHOSEN_MODELS,
    DEFAULT,
    DEVICE,
    MODEL,
    all_reduce_times,
    served,
)
from llmserve_lab.tensor_parallel.page import (
    block_steps,
    cut_steps,
    decision,
    figures,
    ring_steps,
)


def shown(
    figure: StepFigure, log: str, table: str, frame: int
) -> list[dict[str, object]]:
    """The rows that are drawn in a frame."""
    return [
        dict(row)
        for row in figure.logs[log].tables[table]
        if row.get("since", 0) <= frame < row.get("until", np.inf)
    ]


def numbers(rows: list[dict[str, Any]], y: float) -> list[str]:
    """The texts of the cells at a height, from left to right."""
    at = [row for row in rows if row["y"] == y and row["ink"] != "empty"]
    return [str(row["text"]) for row in sorted(at, key=lambda row: float(row["x"]))]


@pytest.mark.parametrize("log", list(cut_steps.ONE))
def test_the_last_frame_of_a_cut_shows_the_product_of_one_gpu(log: str) -> None:
    figure = cut_steps.cut_by_columns_or_rows()
    rows = shown(figure, log, "cells", 3)
    whole = [f"{x:g}".replace("-", "−") for x in (small.X @ small.W).ravel()]
    assert numbers(rows, cut_steps.below(cut_steps.TOP, small.W)) == 2 * whole


@pytest.mark.parametrize(
    ("log", "frame"), [("columns, then rows", 4), ("columns twice", 5)]
)
def test_both_chains_end_in_the_result_of_one_gpu(log: str, frame: int) -> None:
    figure = cut_steps.two_matrices_chained()
    right = small.relu(small.NARROW @ small.UP) @ small.DOWN
    low = cut_steps.below(cut_steps.LOW, small.DOWN)
    rows = shown(figure, log, "cells", frame)
    assert numbers(rows, low) == 2 * [f"{x:g}" for x in right.ravel()]


def test_chained_the_cuts_exchange_once() -> None:
    paired, gathered = (small.execute_two(cut) for cut in ("paired", "gathered"))
    assert paired.ledger.calls(rank=0) == 1 and gathered.ledger.calls(rank=0) == 2
    sent = [done.ledger.sent_bytes(rank=0) / 8 for done in (paired, gathered)]
    figure = cut_steps.two_matrices_chained()
    assert sent == [figure.logs[log].frames[-1].counters[1] for log in cut_steps.TWO]
    assert sent[0] < sent[1]


@pytest.mark.parametrize(
    "make", [cut_steps.cut_by_columns_or_rows, cut_steps.two_matrices_chained]
)
def test_a_sentence_tells_of_a_cut_and_of_an_exchange_in_its_frame(
    make: Callable[[], StepFigure],
) -> None:
    """The matrices are cut before all else; an exchange is told where it is counted."""
    for log in make().logs.values():
        sent = 0.0
        for at, frame in enumerate(log.frames):
            assert ("cut by" in frame.sentence) == (at == 0)
            rises = float(frame.counters[1]) > sent
            told = re.search(r"all-(gather|reduce)", frame.sentence.lower())
            assert bool(told) == rises, frame.sentence
            sent = float(frame.counters[1])


@pytest.mark.parametrize("log", list(ring_steps.COLLECTIVES))
def test_the_last_frame_of_a_collective_holds_its_sums(log: str) -> None:
    figure = ring_steps.collectives_on_four()
    frames = figure.logs[log].frames
    made = ring_steps.COLLECTIVES[log]
    start = ring_trace.numbers(4, gathered=made is ring_trace.all_gather)
    if made is ring_trace.in_switch:
        start = [*start, [None] * 4]
    last = [steps[-1].held for steps in ring_trace.play(made, start)]
    sums = tuple(np.array(ring_trace.numbers(4), dtype=float).sum(axis=0))
    if log == "reduce-scatter":
        for rank, held in enumerate(last):
            assert held[(rank + 1) % 4] == sums[(rank + 1) % 4]
    else:
        assert all(held == sums for held in last)
    drawn = shown(figure, log, "cells", len(frames) - 1)
    assert len(drawn) == 4 * len(last)


def test_one_shot_shows_the_copies_that_arrive_before_it_adds_up() -> None:
    figure = ring_steps.collectives_on_four()
    log = "one-shot"
    own = [str(row["text"]) for row in shown(figure, log, "cells", 0)]
    copies = shown(figure, log, "copies", 1)
    assert len(copies) == 4 * 3  # on each GPU the tensors of the other three
    assert {n for row in copies for n in str(row["text"]).split()} == set(own)
    assert shown(figure, log, "copies", 0) == shown(figure, log, "copies", 2) == []
    assert {row["ink"] for row in shown(figure, log, "cells", 2)} == {"new"}


def test_two_groups_read_more_prompts_and_one_group_reads_each_sooner() -> None:
    for prompt in (running_example.PROMPT, 8 * running_example.PROMPT):
        one, two = (worked.prefill_s(g, prompt) for g in (8, 4))
        assert one < two < 2 * one


def test_prompts_read_together_pay_the_layers_once() -> None:
    """So both ways read more a second, and one group more of what it lacks."""
    one, two = ([n / worked.prefill_s(g, prompts=n) for n in (1, 8)] for g in (8, 4))
    assert one[1] > one[0] and two[1] > two[0]
    assert one[0] / two[0] < one[1] / two[1] < 2
    layers = 4 * 80 * float(DEFAULT["layer_s"])
    apart = 8 * worked.prefill_s(8) - worked.prefill_s(8, prompts=8)
    reading = worked.weights_gb(8) * 1e9 / float(DEFAULT["hbm_bw"])
    hidden = float(DEFAULT["overlap"]) * reading / float(DEFAULT["eff_mem"])
    assert apart == pytest.approx(7 * (layers + hidden))


@pytest.mark.parametrize("log", list(ring_steps.COLLECTIVES))
def test_a_cell_is_called_complete_just_where_its_sum_is(log: str) -> None:
    figure = ring_steps.collectives_on_four()
    sums = np.array(ring_trace.numbers(4), dtype=float).sum(axis=0)
    for frame, told in enumerate(figure.logs[log].frames):
        cells: list[dict[str, Any]] = shown(figure, log, "cells", frame)
        x, y = ring_steps.PLACES[0]
        mine = [row for row in cells if row["y"] == y and x <= row["x"] < x + 4]
        whole = [row for row in mine if row["text"] == f"{sums[int(row['x'])]:g}"]
        assert [row for row in mine if row["ink"] == "new"] == whole
        assert told.counters[2] == len(whole)


def test_the_small_parts_of_a_token_add_up() -> None:
    for gpus in (4, 8):
        rest = worked.iteration_s(gpus) - 80 * float(DEFAULT["layer_s"])
        weights = (
            worked.weights_gb(gpus)
            * 1e9
            / (float(DEFAULT["hbm_bw"]) * float(DEFAULT["eff_mem"]))
        )
        small = sum(worked.small_parts(gpus).values())
        assert small == pytest.approx(1e3 * (rest - weights))


@pytest.mark.parametrize("log", list(block_steps.LOGS))
def test_the_block_is_drawn_as_it_ran(log: str) -> None:
    figure = block_steps.block_on_two()
    done = article.execute(block_steps.LOGS[log], 2, article.batch())
    for frame, step in enumerate(done.steps[0]):
        drawn: list[dict[str, Any]] = shown(figure, log, "held", frame)
        rows = [row for row in drawn if row["y"] == frame]
        parts = 3 if step.name.startswith("QKV") else 1
        assert len(rows) == 2 * parts
        assert {parts * (row["x2"] - row["x"]) for row in rows} == {step.given[1]}
        assert max(row["y"] for row in drawn) == frame  # no later line is drawn
        parts_of_sums = step.remark == "partial sum"
        assert {row["ink"] for row in rows} == {"compute" if parts_of_sums else "new"}
    sent = done.ledger.sent_bytes(rank=0) / 4  # 16 bits there, float64 here
    assert figure.logs[log].frames[-1].counters[1] == sent


def test_an_iteration_is_that_of_the_running_example() -> None:
    for tp in (2, 4, 8):
        cost = running_example.served_by(MODEL, DEVICE, tp=tp)
        load = IterationLoad.of(chunk=1, context=1000)
        for _ in range(31):
            load = load.plus(IterationLoad.of(chunk=1, context=1000))
        known = figures.tp_time().values(n_ranks=float(tp), batch=32.0, context=1000.0)
        assert known["tp_s"] == pytest.approx(cost.seconds(load))


@given(
    rows=st.integers(1, 8192),
    tp=st.sampled_from((2, 4, 8)),
    model=st.sampled_from(CHOSEN_MODELS),
    device=st.sampled_from(CHOSEN_MACHINES),
    prompt=st.booleans(),
)
def test_the_all_reduces_fit_into_what_is_charged_beside_the_work(
    rows: int, tp: int, model: object, device: object, prompt: bool
) -> None:
    """The fitted time holds latency and bytes of every all-reduce."""
    shape: Any = model
    gpu: Any = device
    known = served(shape, gpu, launches=4.0 if prompt else 1.0)
    size = {"batch": 1.0, "chunk": float(rows), "context": 0.0, "n_ranks": float(tp)}
    nbytes = float(f.HIDDEN_BYTES.at(known, batch=1.0, chunk=float(rows)))
    fastest = all_reduce_times(tp, nbytes)["fastest_s"]
    assert float(f.REST_S.at(known, size, fastest_s=fastest)) > 0


def test_a_model_without_room_is_pale() -> None:
    figure = figures.tp_time()
    large = figure.values(model="Llama-3.1-405B", n_ranks=8.0)
    small = figure.values(model="Llama-3.1-8B", n_ranks=2.0)
    assert large["fits"] == 1 and small["fits"] == 0


def test_the_goal_is_reached_by_more_gpus_only() -> None:
    figure = figures.tp_time()
    assert figure.goal is not None
    load = {"batch": 128.0, "context": 8192.0}
    met = [figure.goal.met(figure.values(n_ranks=g, **load)) for g in (2.0, 4.0, 8.0)]
    assert met == [False, False, True]


def test_no_single_move_reaches_the_goal() -> None:
    figure = figures.tp_time()
    assert figure.goal is not None
    for name in ("n_ranks", "batch", "context"):
        for stop in figures.STOPS[name]:
            assert not figure.goal.met(figure.values(**{name: stop}))


def test_a_speedup_is_below_its_number_of_gpus() -> None:
    for context in (0.0, 1000.0, 131072.0):
        for batch in (1.0, 256.0):
            size = {"batch": batch, "chunk": 1.0, "context": context}
            gains = [
                float(f.TP_SPEEDUP.at(DEFAULT, size, n_ranks=float(g)))
                for g in (2, 4, 8)
            ]
            assert 1 < gains[0] < gains[1] < gains[2] < 8
            assert gains[0] < 2 and gains[1] < 4


def test_two_groups_read_twice_as_many_prompts_as_one_of_them() -> None:
    """The rate of each row is what its own row of times allows: one or two at once."""
    rows = {str(row[0]): row for row in decision.choice().rows}
    prompt = running_example.PROMPT
    times, rates = (
        [float(str(cell).split()[0].replace(",", "")) for cell in rows[name][1:3]]
        for name in (
            f"prompt of {prompt:,}, ms",
            f"prompts of {prompt:,} a second, one at a time",
        )
    )
    for groups, took_ms, rate in zip((1, 2), times, rates, strict=True):
        assert rate == pytest.approx(groups * 1e3 / took_ms, rel=0.02)
