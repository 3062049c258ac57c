"""A plan follows from its band, and two measurements correct it."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from llmserve_lab.how_wrong import (
    decision,
    example,
    factors,
    worth,
)
from llmserve_lab.how_wrong.page import plan_tables
from llmserve_lab.how_wrong.page.plan_tables import plan_slack, worked_plans
from llmserve_lab.how_wrong.record import (
    chosen,
)
from llmserve_lab.validation import (
    Band,
    Setting,
    band,
)


@pytest.mark.long
def test_a_plan_that_knows_its_engine_lies_between() -> None:
    known, plan, hope = decision.engine_known(), decision.planned(), decision.hoped()
    assert plan.clients < known.clients < hope.clients
    needed = [decision.servers(each, "longest_s") for each in (known, plan)]
    assert decision.servers(hope, "measured_s") < needed[0] < needed[1]
    rules: tuple[factors.Rule, ...] = ("band", "engine", "prediction")
    slower = [factors.risk("prediction", plan_slack(rule)) for rule in rules]
    assert slower == sorted(slower) and slower[1] < 0.1 < 0.4 < slower[2] < 0.6


@pytest.mark.long
def test_every_plan_is_held_against_its_promise_over_its_prediction() -> None:
    """Without a factor by the promise itself, else by what its factor held."""
    rows, error = chosen("tpot", "model")
    alone = [
        1 / (1 + float(each))
        for row, each in zip(rows, error, strict=True)
        if row.public and row.engine == decision.ENGINE
    ]
    for plan in worked_plans()[:-1]:
        limit = 1e3 * decision.TPOT_S / plan.tpot_ms
        found = sum(each > limit for each in alone) / len(alone)
        assert plan.risk is not None
        if plan.tpot_factor is None:
            assert plan.risk == pytest.approx(found)
        else:  # made of other servers, a factor holds less
            assert plan.risk > found
    known, *_ = factors.cases()
    assert worked_plans()[1].risk == pytest.approx(1 - (known.held[0] or 0))
    assert worked_plans()[-1].risk is None


@pytest.mark.long
def test_the_plans_decided_on_follow_from_their_rates() -> None:
    """By a pocket calculator: servers from the rate, GPUs from the servers."""
    table = plan_tables.decided()
    assert table.columns[3:7] == ("tokens/s", "servers", "GPUs", "GPUs too many")
    gpus = []
    for _, _, clients, rate, servers, devices, spare, _ in table.rows:
        per_s = int(str(rate).replace(",", ""))
        assert ceil(decision.ASKED_PER_S / per_s) == int(servers)
        assert example.TP * int(servers) == int(devices)
        assert 20 < per_s / int(clients) < 60
        assert int(devices) - int(spare) == worked_plans()[-1].gpus
        gpus.append(int(devices))
    hope, engine, band, measured = worked_plans()
    assert gpus == [band.gpus, engine.gpus, hope.gpus, measured.gpus]
    assert hope.gpus == measured.gpus  # "would have said … too"
    cheap, dear = (
        example.TP * decision.servers(decision.engine_plan_at(by), "longest_s")
        for by in (each.tpot.factor for each in decision.engine_neighbours())
    )
    assert measured.gpus < cheap < engine.gpus < dear < band.gpus


@pytest.mark.long
def test_the_factor_of_the_engine_jumps_with_one_slow_row() -> None:
    """It lies between the second and the third slowest; other factors, other plans."""
    known = decision.engine_known()
    factor_of = {each.clients: each.tpot.factor for each in decision.engine_loads()}
    row = replace(example.rows()[-1], clients=known.clients)
    near, error = decision.near_rows("tpot", row)
    slow = sorted(
        (
            1 / (1 + float(each))
            for one, each in zip(near, error, strict=True)
            if one.engine == decision.ENGINE
        ),
        reverse=True,
    )
    assert len(slow) == decision.n_own(row.clients)
    assert slow[2] <= known.tpot.factor <= slow[1] + 5e-4
    assert factor_of[known.clients] > factor_of[known.clients - 2] + 0.04
    before, most = decision.engine_neighbours()
    assert before.tpot.factor == factor_of[known.clients - 2]
    assert most.tpot.factor == max(factor_of.values())
    assert before.clients < known.clients < most.clients
    many, least = (decision.engine_plan_at(each.tpot.factor) for each in (before, most))
    assert least.clients < known.clients < many.clients
    assert decision.engine_plan_at(known.tpot.factor).clients == known.clients


def test_two_runs_correct_the_load_between_by_the_printed_numbers() -> None:
    true, _, book = (example.worked(name) for name in example.MACHINES)
    found = worth.two_runs()
    ratios = [book[i].seconds / true[i].seconds for i in (0, -1)]
    assert found.ratios == pytest.approx(ratios, abs=1e-5)
    assert found.mean == pytest.approx(sum(ratios) / 2, abs=6e-4)
    assert found.corrected_s == pytest.approx(book[3].seconds / found.mean)
    assert found.error == pytest.approx(found.corrected_s / true[3].seconds - 1, 1e-2)
    assert found.error_before == pytest.approx(book[3].share, abs=1e-3)
    assert abs(found.error) < abs(found.error_before)


def test_the_ninth_of_ten_misses_is_the_factor_that_is_raised() -> None:
    ten = decision.sorted_factors()
    assert len(ten) == 10 and list(ten) == sorted(ten) and ten[0] >= 1
    assert decision.near_band("even")[1] == pytest.approx(ten[-2], abs=0.005)


def test_the_prediction_alone_stops_at_the_last_measured_load() -> None:
    """Its next client would keep the promise too, so the table says where it ends."""
    few, last = decision.measured_loads()[-2:]
    assert decision.hoped() == last and last.clients == example.CLIENTS
    more = last.tpot.predicted_s - few.tpot.predicted_s
    one_more = last.tpot.predicted_s + more / (last.clients - few.clients)
    assert one_more < decision.TPOT_S
    assert f"up to the {last.clients} measured" in plan_tables.plans().caption
    plan = decision.engine_known()  # this one ends by itself
    after = [each for each in decision.engine_loads() if each.clients > plan.clients]
    assert plan.tpot.longest_s <= decision.TPOT_S < after[0].tpot.longest_s


def test_one_client_more_breaks_the_promise() -> None:
    """The most clients, by a walk through the loads with a pocket calculator."""
    plan, more = (
        next(each for each in decision.loads() if each.clients == clients)
        for clients in (decision.planned().clients, decision.planned().clients + 1)
    )
    assert plan.tpot.predicted_s * plan.tpot.factor <= decision.TPOT_S
    assert more.tpot.predicted_s * more.tpot.factor > decision.TPOT_S


def test_a_load_between_two_measured_ones_lies_between() -> None:
    """TPOT is nearly a straight line between two loads, which nobody simulated."""
    few, many = decision.measured_loads()[-2:]
    for each in decision.loads():
        if few.clients < each.clients < many.clients:
            assert each.tpot.measured_s is None
            part = (each.clients - few.clients) / (many.clients - few.clients)
            line = few.tpot.predicted_s * (1 - part) + many.tpot.predicted_s * part
            assert each.tpot.predicted_s == pytest.approx(line, rel=3e-3)


def test_the_plan_follows_from_the_printed_numbers() -> None:
    """A reader's pocket calculator, fed with the numbers as the table prints them."""
    for each in worked_plans():
        tpot_s = each.tpot_ms * (each.tpot_factor or 1) / 1e3
        ttft_s = each.ttft_ms * (each.ttft_factor or 1) / 1e3
        answer_s = ttft_s + (each.answer_len - 1) * tpot_s
        per_s = each.clients * each.answer_len / answer_s
        assert answer_s == pytest.approx(each.answer_s, abs=0.011)
        assert per_s == pytest.approx(each.tokens_per_s, abs=2)
        assert ceil(decision.ASKED_PER_S / per_s) == each.servers
        assert each.gpus == example.TP * each.servers


def test_a_plan_by_the_band_keeps_what_it_promises() -> None:
    hope, plan = decision.hoped(), decision.planned()
    assert plan.clients < hope.clients and plan.tpot.longest_s <= decision.TPOT_S
    assert hope.tpot.measured_s is not None
    assert hope.tpot.measured_s <= decision.TPOT_S < hope.tpot.longest_s
    for each in decision.measured_loads():
        for one in (each.tpot, each.ttft):
            assert one.measured_s is not None and one.measured_s < one.longest_s
        assert each.ttft.longest_s <= decision.TTFT_S


def test_the_plan_never_looks_at_its_own_server() -> None:
    row = example.rows()[3]
    known, used = band("ttft", Setting.of(row)), decision.error_band("ttft", row)
    assert isinstance(known, Band) and used.high > known.high  # its own rows were kind
    for place, each in enumerate(decision.measured_loads()):
        unseen = example.predictor().predict(example.unseen())
        found = float(unseen.tpot[place])
        assert each.tpot.predicted_s == pytest.approx(found, abs=6e-6)


def test_near_rows_are_of_other_servers_and_some_of_the_same_model() -> None:
    near, _ = decision.near_rows("tpot", example.rows()[3])
    assert any(each.model == example.MODEL for each in near)  # what the caption says
    assert all(each.server != example.rows()[3].server for each in near)


def test_a_plan_that_not_even_the_smallest_load_keeps_is_refused() -> None:
    with pytest.raises(ValueError, match="asked must have a load that keeps"):
        decision.most_kept(each.at(10.0) for each in decision.loads())


def test_a_band_for_predicted_over_measured_is_made_by_three_rules() -> None:
    plain, even, wide = (decision.near_band(rule) for rule in ("plain", "even", "wide"))
    assert even[0] * even[1] == pytest.approx(1) == pytest.approx(wide[0] * wide[1])
    assert wide[1] == pytest.approx(even[1] ** decision.power("tpot"))
    _, error = decision.near_rows("tpot", example.rows()[3])
    for low, high in (plain, even):
        held = sum(low <= 1 + each <= high for each in error)
        assert held == pytest.approx(0.9 * len(error), abs=1)
    with pytest.raises(LookupError, match="rule must be one of plain, even, wide"):
        decision.near_band("narrow")
