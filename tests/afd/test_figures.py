"""The figures state what is simulated or solved; the bench answers."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import (
    comparison,
    explore,
    figures,
    going_round,
    inputs,
    questions,
    stills,
    tables,
)
from llmserve_lab.afd.page.playground import bench
from llmserve_lab.afd.theory.paper_recipe import recipe
from llmserve_lab.page.widget import Bench
from tests.benches import answered


def test_the_curve_s_numbers_are_those_of_the_recipe() -> None:
    known = figures.throughput().values(batch=512.0, mean_prompt=200.0)
    advice = recipe(paper_setup.known(batch=512, prompt=200))
    assert known["ratio_best"] == pytest.approx(advice.best)
    assert known["best_tokens_per_s"] == pytest.approx(advice.tokens_per_s)
    third = figures.throughput().values(n_batches=3.0)
    assert third["ratio_pipeline"] == pytest.approx(third["ratio_best"])


def test_who_waits_is_who_is_faster() -> None:
    known = paper_setup.known() | {"slot_tokens": 600.0, "n_batches": 2}
    few, many = (
        [float(each.at(known, af_ratio=r)) for each in (f.IDLE_ATTN, f.IDLE_FFN)]
        for r in (3.0, 20.0)
    )
    assert few[0] == 0 < few[1] and many[1] == 0 < many[0]


def test_pictures_state_their_numbers() -> None:
    few = {"n_requests": 150, "n_seeds": 2}
    best = 1 + stills.steady(**few).mean("tokens_per_s").argmax()
    assert 7 <= best <= 9
    assert f"the most tokens come at r = {best};" in stills.simulated(**few).sentence


@cache
def made() -> Bench:
    return bench()


def answer(**changes: Any) -> str:
    return unescape(answered(made, **{"n_requests": 200} | changes))


def test_the_bench_answers_and_refuses_in_a_sentence() -> None:
    html = answer(batch=64, n_batches=3, answers="uniform", barrier="stage together")
    assert "3 batches of 64 in flight" in html and "bench-error" not in html
    assert "all alike" in made().knobs["answers"].options  # type: ignore[union-attr]
    assert "slope of ffn must be positive" in answer(a_ffn=0)
    assert "must be at most 10,000,000" in answer(batch=1, answer=100_000)


def test_the_bench_shows_each_run_as_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmserve_lab.afd.page.playground.SOON_S", 0.0)
    small = {"n_requests": 100, "n_seeds": 2}
    defaults = {name: getattr(k, "default", None) for name, k in made().knobs.items()}
    parts = [*made().parts(**defaults | small)]
    assert [(part.done, part.total) for part in parts] == [(1, 2), (2, 2)]
    assert parts[0].html != parts[1].html


def test_the_predictions_come_true_in_a_simulation() -> None:
    run, few = paper_setup.figure_4(32), paper_setup.figure_4(8)
    waiting = run.attn_s.max(axis=1).max() / run.bundle.ffn_s
    assert waiting < 0.5 < few.attn_s.max(axis=1).max() / few.bundle.ffn_s
    assert questions.predict_slowest.right == 0
    assert float(f.HIDDEN_COMM_S.at(questions.setting())) == 0
    assert questions.predict_hidden.right == questions.predict_context.right == 2


def test_choices_move_the_measured_and_not_the_real() -> None:
    """(21) counts all tokens from a stationary start, fewer from a fresh one."""
    found = {each.name: each for each in paper_setup.choices(n_requests=4000)}
    for name, least, most in (
        ("our choices", 0.8, 0.9),
        ("stationary start", 0.95, 1.05),
    ):
        for run in (found[name].few, found[name].best):
            assert least < run.completed_per_s / run.tokens_per_s < most
    best = {name: each.best.tokens_per_s for name, each in found.items()}
    assert best["one batch in flight"] < 0.6 * best["our choices"]
    assert best["Attention machines wait for one another"] < best["our choices"]


@pytest.mark.parametrize("overlap", comparison.OVERLAPS)
@pytest.mark.parametrize("target", ["30 ms", "50 ms", "70 ms"])
@pytest.mark.parametrize("device", explore.MACHINES)
def test_every_split_is_shown_as_it_was_searched(
    device: str, target: str, overlap: str
) -> None:
    figure = explore.every_split()
    known = figure.values(device=device, target=target, overlap=overlap)
    gpu, tpot_s = explore.MACHINES[device], explore.TARGETS[target]
    best = comparison.best(gpu, tpot_s, overlap=overlap)
    rate = best.gpu_tokens_per_s(tpot_s)
    group = comparison.whole(gpu, tpot_s, overlap=overlap).gpu_tokens_per_s
    assert known["split_gpu_tokens_per_s"] == pytest.approx(rate, abs=0.01)
    assert known["af_ratio"] == pytest.approx(best.ratio, abs=0.01)
    assert known["group_gpu_tokens_per_s"] == pytest.approx(group, abs=0.01)


def test_the_goal_is_reached_where_split_and_group_are_near() -> None:
    figure = explore.every_split()
    assert figure.goal is not None
    assert not figure.goal.met(figure.values())
    assert figure.goal.met(figure.values(context="8,192 tokens", target="40 ms"))


def test_the_chart_draws_every_split_and_one_group() -> None:
    head, *lines = explore.csv_lines()
    assert head == "o,d,c,t,a,r"
    rows = [line.split(",") for line in lines if line.startswith("0,0,0,3,")]
    here = explore.beside(*explore.OPENS)
    drawn = {int(a): int(rate) for *_, a, rate in rows}
    assert drawn.pop(0) == round(here.group)
    assert drawn == {n_attn: round(rate) for n_attn, rate in here.splits.items()}


def test_the_measured_profile_is_nearer_to_free_overlap() -> None:
    at, seen = tables.profile_tpot_s(), tables.profile().measured
    free, charged = (
        comparison.whole("h100-sxm", at, overlap=each).gpu_tokens_per_s
        for each in comparison.OVERLAPS
    )
    assert charged < free < seen  # routing was even in the profile, and is not here
    assert free == pytest.approx(seen, rel=0.05)
    split = comparison.best("h100-sxm", at).gpu_tokens_per_s(at)
    assert charged < split < free


def test_waits_are_told_apart_and_the_third_batch_fills_the_wire() -> None:
    for m in going_round.FLIGHTS:
        spent = sum(going_round.shares(m).values())
        assert spent == pytest.approx(going_round.waits(m)[0])
    two, three = (going_round.shares(m) for m in going_round.FLIGHTS)
    assert two["communication"] == pytest.approx(two["new"], rel=0.2)
    assert "communication" not in three
    figure = going_round.going_round()
    assert figure.start == len(figure.logs["both"].frames) - 1


def test_a_layer_s_inputs_add_up_to_its_times() -> None:
    split = comparison.best("h100-sxm", 0.05)
    part = split.layer_s(split.batch_at(0.05))
    spent, half = defaultdict[str, float](float), defaultdict[str, float](float)
    for each in inputs.layer_inputs():
        kind = each.name.split(":")[0]
        spent[kind] += each.split_s
        half[kind] += each.half_s
    for kind, name in (("attention", "attn"), ("FFN", "ffn"), ("wire", "wire")):
        assert spent[kind] == pytest.approx(float(part[name]), rel=1e-9)
    account, group = tables.account("h100-sxm", 0.05), inputs.halves("h100-sxm")[0]
    for kind, what, layers in (("attention", "attention", 61), ("FFN", "FFN", 58)):
        spent_on = 1e-6 * account[what][1] * group.batch / 2 / layers
        assert half[kind] == pytest.approx(spent_on, rel=1e-9)
    for at, whole in (("split_s", spent), ("half_s", half)):
        found = {each.name: getattr(each, at) for each in inputs.sides()}
        wire = found.pop("wire, there") + found.pop("wire, back")
        assert found | {"wire": wire} == pytest.approx(dict(whole), rel=1e-9)


def test_a_group_waits_for_its_network_and_for_no_other_kind() -> None:
    """Each of its GPUs does both; the kinds of a split wait for each other."""
    for gpu in comparison.DEVICES:
        account = tables.account(gpu, 0.05)
        *group, split = account["waits: other kind"]
        assert group == [0.0, 0.0] and split > 0
        assert min(account["waits: network"][:2]) > 0


def test_inputs_give_the_times_by_hand() -> None:
    """Bytes over rates, FLOPs over rates, and the root of the sum of squares."""
    found = {each.name: each.split_s for each in inputs.layer_inputs()}
    read, reached = 2.87e12, 1.19e15
    worked = {
        "attention: weights": np.hypot(214e6 / read, 23.9e9 / reached),
        "attention: caches": 64 * 4096 * 279e3 / 660e12,
        "attention: small kernels": 15 * 2.6e-6 + 11.3e6 / read,
        "FFN: experts": np.hypot(281e6 / read, 515 * 88e6 / reached),
        "FFN: small kernels": 16 * 2.6e-6 + 39.8e6 / read,
        "wire: there": 64 * 8 * 7168 / 44.5e9 * 66 / 64,
    }
    for name, seconds in worked.items():
        assert found[name] == pytest.approx(float(seconds), rel=0.01), name


def test_the_hand_s_numbers_give_the_columns_of_the_table() -> None:
    hand = inputs.hand()
    attn, ffn, *_ = (1e6 * each.split_s for each in inputs.sides())
    by_hand = (
        np.hypot(hand["weights_us"], hand["mul_us"])
        + 64 * 4096 * hand["pair_kflop"] * 1e3 / hand["attn_t"] / 1e6
        + hand["n_attn"] * hand["start_us"]
        + hand["attn_small_mb"] / hand["read_tb"],
        np.hypot(hand["experts_read_us"], hand["experts_mul_us"])
        + hand["n_ffn"] * hand["start_us"]
        + hand["ffn_small_mb"] / hand["read_tb"],
    )
    assert by_hand == pytest.approx((attn, ffn), rel=1e-3)


def test_the_slowest_of_n_is_at_its_median_where_each_is_far_up() -> None:
    chance, apart = tables.each_at_median(8)
    drawn = np.random.default_rng(1).standard_normal((20_000, 8)).max(axis=1)
    assert chance**8 == pytest.approx(0.5)
    assert np.median(drawn) == pytest.approx(apart, abs=0.02)
