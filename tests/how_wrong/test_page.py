"""Figures, tables, exercises and the bench show what the rows say, in every state."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from llmserve_lab.engine import IterationCost
from llmserve_lab.how_wrong import example, exercise, folds
from llmserve_lab.how_wrong.page import (
    charts,
    controls,
    figures,
    pictures,
    questions,
    tables,
)
from llmserve_lab.how_wrong.page.playground import START, bench, machine, scores
from llmserve_lab.how_wrong.record import (
    SWITCHES,
    bias,
    chosen,
    mean_error,
    record,
    switched_errors,
    validated,
)
from llmserve_lab.how_wrong.term_by_term import counted, sheet_ms
from llmserve_lab.validation import DATASHEET, MeasuredRow, achieved, dense_rows
from llmserve_lab.validation.fit import FREE
from tests.benches import answered
from tests.each import numbers


def test_every_point_of_the_residuals_is_a_row() -> None:
    lines = list(csv.DictReader(io.StringIO("\n".join(charts._lines()))))
    assert len(lines) == len(dense_rows())
    for line, row in zip(lines, dense_rows(), strict=True):
        assert list(charts.ENGINE_INKS)[int(line["g"])] == row.engine
        assert abs(np.log2(float(line["c"]) / row.clients)) < 0.2  # nearest to its own
    error = charts.STEP * np.array([float(line["e00"]) for line in lines])
    assert np.abs(error).mean() == pytest.approx(mean_error("tpot", "model"), abs=1e-4)


def test_each_constant_is_switched_off_where_the_record_switches_it_off() -> None:
    """Its row shows the errors of the record with its term alone, and without it."""
    for name, (_, _, place) in tables.CONSTANTS.items():
        off = "".join(str(int(name not in held)) for held in SWITCHES.values())
        alone = off.translate(str.maketrans("01", "10"))
        assert alone.count("1") == 1, name
        means = [record()["switches"][alone][0], *record()["switches"][off][:2]]
        found = switched_errors(place)
        assert [found.alone[0], found.tpot[0], found.ttft[0]] == means, name
    shown = [row[3] for row in tables.constants().rows]
    assert shown.count("as above") == 1  # two shares of one switch


def test_the_residuals_state_the_errors_of_their_state() -> None:
    figure = figures.residuals()
    goal = figure.goal
    assert goal is not None
    for kind, left in itertools.product(controls.KINDS, controls.LEFT):
        known = figure.values(kind=kind, left=left)
        asked = controls.KINDS[kind], controls.LEFT[left]
        assert known["mean_error"] == pytest.approx(100 * mean_error(*asked), abs=0.06)
        assert known["all_bias"] == pytest.approx(100 * bias(*asked), abs=0.06)
        rows, error = chosen(*asked)
        for name, engine in (
            ("vllm_bias", "vllm"),
            ("tensorrt_bias", "trtllm"),
        ):
            own = [
                e for e, row in zip(error, rows, strict=True) if row.engine == engine
            ]
            assert known[name] == pytest.approx(100 * np.mean(own), abs=0.06)
        assert goal.met(known) is (asked == ("tpot", "nothing"))
        if asked[0] == "tpot" and asked[1] != "datasheet":
            assert mean_error("tpot", "nothing") <= mean_error(*asked)


def test_nearly_all_points_lie_on_the_axes() -> None:
    """The ends hold all rows of the narrow axis, and all but a few of the wide one."""
    for kind, left in itertools.product(
        controls.KINDS.values(), controls.LEFT.values()
    ):
        far = np.exp(np.abs(np.log1p(chosen(kind, left)[1])))
        if kind == "ttft" or left == "datasheet":
            assert (far > charts.FAR).mean() < 0.05
        else:
            assert (far > charts.NARROW).mean() < 0.005


def test_two_terms_of_the_ladder_are_enough_and_only_these() -> None:
    figure = figures.ladder()
    goal = figure.goal
    assert goal is not None
    reached = []
    for on in itertools.product((controls.OFF, controls.ON), repeat=5):
        known = figure.values(**dict(zip(SWITCHES, on, strict=True)))
        assert 0 < known["tpot_error"] <= 75 and 0 < known["ttft_error"] <= 75
        if goal.met(known):
            names = zip(SWITCHES, on, strict=True)
            reached.append([name for name, set_ in names if set_ == controls.ON])
    assert reached == [["shares", "layers"]]


def test_the_ladder_shows_every_rung_as_the_record_has_it() -> None:
    """Each pale bar is a state that the switches reach, and the last rungs agree."""
    ladder = {name: both for name, *both in validated()["ladder"]}
    del ladder["time per layer"]  # its switch turns the factor for prompts, too
    steps, rungs = figures.steps(), list(ladder.values())
    assert len(steps) == len(rungs) == len(SWITCHES) + 1
    for place, (name, *both) in enumerate(steps):
        assert both == pytest.approx(rungs[place][:2], rel=1e-3), name
        on = [controls.ON] * place + [controls.OFF] * (len(SWITCHES) - place)
        shown = figures.ladder().values(**dict(zip(SWITCHES, on, strict=True)))
        assert shown["tpot_error"] == pytest.approx(100 * both[0], abs=0.06)


def test_the_time_per_layer_is_the_largest_step_in_any_place() -> None:
    """Over all orders; alone it leaves what the prose says beside the ladder's step."""
    found = record()["switches"]
    layers = list(SWITCHES).index("layers")
    for on in itertools.product("01", repeat=len(SWITCHES)):
        drops = {
            place: found["".join(on)][0]
            - found["".join((*on[:place], "1", *on[place + 1 :]))][0]
            for place, each in enumerate(on)
            if each == "0"
        }
        if layers in drops:
            assert max(drops, key=lambda place: drops[place]) == layers


def test_the_ladder_opens_on_what_a_calculator_corrects() -> None:
    first = {name: figures.ladder().values()[name] for name in SWITCHES}
    assert list(first.values()) == [1, 0, 0, 0, 0]
    known = figures.ladder().values()
    for kind in ("tpot", "ttft"):
        assert known[f"{kind}_low"] < known[f"{kind}_error"] < known[f"{kind}_high"]


def test_engines_lean_to_two_sides_whatever_the_fit_has_seen() -> None:
    """The title of the points, in every state in which something was fitted."""
    for kind, left in itertools.product(controls.KINDS, list(controls.LEFT)[:-1]):
        known = figures.residuals().values(kind=kind, left=left)
        assert known["vllm_bias"] < 0 < known["tensorrt_bias"]


def test_the_largest_part_of_what_the_datasheet_forgets() -> None:
    ours, sheet = (pictures.parts_ms(each) for each in (achieved(), DATASHEET))
    more = {name: ours[name] - sheet[name] for name in ours}
    assert max(more, key=lambda name: more[name]) == "layers"
    assert 2 * more["layers"] > sum(more.values())


def test_the_datasheet_alone_loses_nothing() -> None:
    """All of each peak, the shorter of reading and computing free, half the bits twice
    as fast, and no time on top: with what is set by hand it would be longer.
    """
    bill, found = counted()
    read = bill.weight_bytes / bill.hbm_bw
    compute = found.rows * bill.row_flops / (bill.peak_16 * bill.speedup)
    seconds = (
        found.share @ np.maximum(read, compute)
        + found.kv_tokens * bill.kv_token_bytes / bill.hbm_bw
        + found.pairs * bill.pair_flops / bill.peak_16
        + found.share @ found.rows * bill.row_bytes / bill.link_bw
    )
    assert sheet_ms() == pytest.approx(1e3 * seconds)
    assert bill.speedup == pytest.approx(2, rel=1e-3)
    half = replace(DATASHEET, overlap=achieved().overlap, exponent=achieved().exponent)
    assert example.tpot_ms(half)[example.CLIENTS] > 1.1 * sheet_ms()


def test_five_constants_make_the_time_per_token_and_the_sixth_does_not() -> None:
    for name in FREE:
        other = replace(achieved(), **{name: 1.5 * getattr(achieved(), name)})
        moved = example.tpot_ms(other) != example.tpot_ms(achieved())
        assert moved is (name != "client_s"), name
    assert len(FREE) == len(tables.CONSTANTS) == 6


def test_the_folds_cover_every_row_once() -> None:
    found = folds.folds("model")
    assert sum(fold.n_predicted for fold in found) == len(dense_rows())
    for fold in found:
        assert fold.n_fitted + fold.n_predicted == len(dense_rows())
        assert fold.layer_s == pytest.approx(found[0].layer_s, rel=0.05)  # hardly moves
    with pytest.raises(LookupError, match="by must be one of"):
        folds.folds("weather")


def test_no_frame_predicts_a_model_that_was_fitted_to() -> None:
    """One more model has its bar in each frame; what is fitted to has words instead."""
    figure = figures.leave_one_group_out()
    log = figure.logs["folds"]
    for frame in range(len(log.frames) - 1):
        shown = [
            row for row in log.tables["words"] if row["since"] <= frame < row["until"]
        ]
        assert len(shown) == len({row["y"] for row in shown}) == 4
        fitted = sum("in the fit" in row["text"] for row in shown)
        assert fitted == min(2, 3 - frame)
    asked = folds.NAMES[folds.folds("model")[0].left_out]
    bars = {row["model"]: row for row in log.tables["bars"]}
    for fold in folds.folds("model"):
        bar = bars[folds.NAMES[fold.left_out]]
        assert bar["end"] == pytest.approx(100 * fold.mean, abs=0.06)
        said = log.frames[bar["since"]].sentence
        assert folds.NAMES[fold.left_out] in said and "predict" in said
        assert str(fold.n_fitted) in said
    sheet = bars[figures.SHEET_BAR]
    assert sheet["since"] == figures.FIRST  # from the first frame on
    assert figure.start == len(log.frames) - 1  # opens on what it found
    off = [100 * fold.mean for fold in folds.folds("model")]
    assert numbers(figure.title) == [
        round(min(off)), round(max(off)), round(100 * mean_error("tpot", "datasheet"))
    ]  # fmt: skip
    assert sheet["end"] == pytest.approx(
        100 * mean_error("tpot", "datasheet"), abs=0.06
    )
    assert bars[asked]["since"] == 1  # set aside first, predicted next


def test_the_exercise_says_not_yet_and_well_done() -> None:
    assert exercise.check(lambda _, cost: cost.weights_s).startswith("not yet: mean")
    assert exercise.check(exercise.decode_and_prefill).startswith("well done")
    biased = exercise.check(
        lambda row, cost: 1.13 * exercise.decode_and_prefill(row, cost)
    )
    assert biased.startswith("not yet")
    with pytest.raises(ValueError, match="model must return seconds above 0, got nan"):
        exercise.check(lambda *_: float("nan"))


def test_the_biases_by_engine_are_those_of_its_rows() -> None:
    perfect = exercise.bias_by_engine(lambda row, _: row.tpot_s)
    assert perfect.replace("\N{NO-BREAK SPACE}", " ").count("0 %") == 3
    for engine in ("sglang", "trtllm", "vllm"):
        slow = exercise.bias_by_engine(partial(half_longer_on, engine))
        assert slow.count("+50") == 1 and f"{folds.NAMES[engine]} +50" in slow


def half_longer_on(engine: str, row: MeasuredRow, _: IterationCost) -> float:
    return row.tpot_s * (1.5 if row.engine == engine else 1)


def solved_without(term: str, row: MeasuredRow, cost: IterationCost) -> float:
    free: dict[str, Any] = {term: 0.0}
    return exercise.decode_and_prefill(row, replace(cost, **free))


def test_the_solution_gains_by_every_term() -> None:
    solved = exercise.errors_of(exercise.decode_and_prefill)
    for term in ("row_s", "overhead_s", "request_s", "kv_token_s"):
        without = exercise.errors_of(partial(solved_without, term))
        assert (without < solved).all()


def test_the_answers_to_the_exercises() -> None:
    assert questions.mape.right == pytest.approx(0.1)
    answer_s = 0.5 + 500 * 0.012 / 0.8  # of 501 tokens: 40,000 a second from 30 clients
    servers = 0
    while servers * 30 * 501 / answer_s < 40_000:
        servers += 1
    assert questions.interval.right == 4 * servers == 88


@pytest.mark.long
def test_the_bench_reaches_its_goal_with_two_knobs() -> None:
    def mean(**changes: int) -> float:
        return scores(machine(**START | changes))[0].mean

    assert mean() > 0.15 > 0.1 > mean(compute=72, layer_us=68)
    assert mean(layer_us=68) > 0.1
    assert f"mean error of TPOT is {mean(link=80):.1%}" in answered(bench, link=80)
