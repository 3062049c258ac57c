"""Factors, risks and yardsticks are scored without what they were made from."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from llmserve_lab.how_wrong import decision, example, factors, fairness, worth
from llmserve_lab.how_wrong.page import plan_tables, tables, trust_picture
from llmserve_lab.how_wrong.record import (
    ENOUGH,
    chosen,
    record,
    row_errors,
    validated,
)
from llmserve_lab.validation import Predictor, dense_rows, errors
from llmserve_lab.validation.fit import fit
from tests.validation.sample import sample


def test_a_risk_is_scored_by_factors_of_other_servers() -> None:
    """A row's own server, slowed down, moves no factor that it is held against."""
    rows, error = chosen("tpot", "model")
    mine = [row.public and row.engine == decision.ENGINE for row in rows]
    alone = factors.beyond("prediction")
    assert alone == pytest.approx(1 / (1 + error[mine]))
    own = [row.server for row, it in zip(rows, mine, strict=True) if it]
    allowed = alone / factors.beyond("engine")
    slower = np.where([row.server == own[0] for row in rows], error / 2 - 0.5, error)
    with mock.patch.object(factors, "chosen", lambda *_: (rows, slower)):
        factors.beyond.cache_clear()
        again = factors.beyond("prediction") / factors.beyond("engine")
    factors.beyond.cache_clear()
    same = np.array([each == own[0] for each in own])
    assert again[same] == pytest.approx(allowed[same])
    assert not np.allclose(again[~same], allowed[~same])


def test_factors_read_off_the_scored_rows_look_better_than_they_are() -> None:
    """A power chosen with the rows in view holds more of them than one without."""
    for by, names in record()["nested"].items():
        for name, kinds in names.items():
            for kind, (power, held) in kinds.items():
                assert factors.nested_power(by, kind, name) == power >= 1
                seen = fairness.covered(by, kind, name=name)
                if power <= decision.power(kind):
                    assert held <= seen + 1e-4
                else:
                    assert held >= seen - 1e-4
    assert (
        factors.nested_held("engine", "tpot")
        < 0.9
        <= fairness.covered("engine", "tpot")
    )
    assert factors.nested_held("model", "tpot", example.MODEL) < 0.8
    with pytest.raises(LookupError, match="without which a power can be chosen"):
        factors.nested_power("system", "tpot", "h100-sxm")


def test_the_first_token_owes_most_to_what_was_set_by_hand() -> None:
    """Six constants do not earn TTFT's score, and the table and its text say so."""
    bare = validated()["forms"]["six constants alone"]
    one, book = validated()["yardstick"], validated()["scores"]["model"]
    earned = one["ttft"]["mean"] - bare["ttft, model"]
    assert earned < bare["ttft, model"] - book["ttft"]["mean"]
    gain = validated()["forms"]["exponent fitted"]["ttft, model"]
    set_by_hand = bare["ttft, model"] - book["ttft"]["mean"]
    assert gain - book["ttft"]["mean"] == pytest.approx(set_by_hand / 2, rel=0.1)
    closer = one["ttft"]["mean"] - bare["ttft, model"]
    assert closer < bare["ttft, model"] - book["ttft"]["mean"]  # to one factor
    assert one["tpot"]["mean"] > 3 * bare["tpot, model"]
    shown = {row[0]: row[1:] for row in tables.yardsticks().rows}
    printed = float(str(shown["book, nothing set by hand"][1]).split()[0])
    assert printed == pytest.approx(100 * bare["ttft, model"], abs=0.06)


def test_few_servers_have_no_interval() -> None:
    for row in tables.groups().rows:
        assert ("(" in str(row[3])) is (int(row[2]) >= ENOUGH)


def test_only_the_largest_model_ran_in_enough_precisions() -> None:
    """Without its rows nothing tells the gain from fewer bits: a lesser merit."""
    precisions = {
        model: {row.precision for row in dense_rows() if row.model == model}
        for model in {row.model for row in dense_rows()}
    }
    assert "fp4" in precisions.pop(example.MODEL)
    assert not any("fp4" in each for each in precisions.values())


def test_each_case_has_factors_and_what_such_ones_held() -> None:
    """Who knows the engine plans with less; a case that is new has its own shares."""
    known, *anew = factors.cases()
    row = example.rows()[factors.AT]
    for place, kind in enumerate(factors.KINDS):
        kept = (factors.beyond("engine", kind) <= 1).mean()
        assert known.held[place] == pytest.approx(kept)
        assert kept < known.promised
        for by, case in zip(factors.NEW, anew, strict=True):
            assert 1 < known.factors[place] < case.factors[place]
            shares = case.names[place]
            assert (case.held[place] is None) is (not shares)
            if shares:  # pooled: the names' shares, each with the weight of its rows
                tried = validated()["coverage"]["tried"][by][kind]
                rows = {name: tried[name][0] for name in shares}
                inside = sum(rows[name] * shares[name] for name in rows)
                pooled = inside / sum(rows.values())
                assert case.held[place] == pytest.approx(pooled)
        _, error = decision.near_rows(kind, row)
        inside = np.abs(np.log1p(error)) <= np.log(anew[0].factors[place])
        assert inside.mean() > 0.9  # of the rows that made it: the power widens it
    least = {name: low for case in anew for name, low in case.names[0].items()}
    assert factors.least_held("tpot")[0] == min(least.values()) < 0.9
    others = {
        (each.server, each.system)
        for each in dense_rows()
        if (each.model, each.engine) == (row.model, row.engine)
    }
    assert (row.server, row.system) in others  # and other servers on such GPUs
    assert sum(system == row.system for _, system in others) > 1


def test_ninety_per_cent_are_held_of_pooled_rows_and_not_of_each_name() -> None:
    """What the page says of the powers: pooled by label, and less of single names."""
    for kind in factors.KINDS:
        least = []
        for names in validated()["coverage"]["tried"].values():
            tried = names[kind].values()
            if tried:
                inside = sum(each[0] * each[3] for each in tried)
                least.append(min(each[3] for each in tried))
                assert inside / sum(each[0] for each in tried) >= 0.9
        assert min(least) < 0.9


def test_the_picture_of_trust_is_counted_again_from_the_rows() -> None:
    """Every line but the first has all rows; the worst server is worse than the mean.

    A fit that has not seen a server is the least blind of the four, and a load between
    two own runs is predicted best of all.
    """
    first, *lines = trust_picture.trusted()
    labels = [label for label in trust_picture.CASES.values() if label]
    assert len(trust_picture.CASES) == len(lines) + 1 == len(labels) + 1
    for (mean, worst), label in zip(lines, labels, strict=True):
        rows, error = chosen("tpot", label)
        assert len(rows) == len(dense_rows())
        own = dict[str, list[float]]()
        for row, each in zip(rows, error, strict=True):
            own.setdefault(row.server, []).append(100 * abs(float(each)))
        assert worst == pytest.approx(max(map(np.mean, own.values())))
        weighted = sum(len(each) * np.mean(each) for each in own.values())
        assert mean == pytest.approx(weighted / len(rows)) and mean < worst
    assert first[0] == pytest.approx(100 * fairness.own_runs("both")[1])
    assert lines == sorted(lines, key=lambda line: line[0])  # as they are drawn
    assert first[0] < lines[0][0] and first[1] < min(worst for _, worst in lines)


@pytest.mark.long
def test_a_fit_that_has_not_seen_a_server_is_made_again() -> None:
    """The record's errors of one server, from constants fitted to rows of others.

    Every sixteenth row, and so constants that are a little off; tests/deep takes all.
    """
    own = example.rows()[0].server
    assert own not in sample().label("server")
    mine = [row.server == own for row in dense_rows()]
    rows = Predictor([row for row in dense_rows() if row.server == own])
    error = errors(rows.predict(fit(sample())), rows.measured, "tpot")
    assert row_errors("tpot", "server")[mine] == pytest.approx(error, abs=0.02)


def test_the_table_of_rules_scores_no_factor_of_our_own_server() -> None:
    """What was held is of other factors: at another load the table stays the same."""
    table = plan_tables.factors()
    assert not any("×" in column for column in table.columns)
    with mock.patch.object(factors, "AT", 0):
        assert plan_tables.factors().rows == table.rows
        assert factors.cases()[0].factors != known_factors()


def known_factors() -> tuple[float, float]:
    """The engine's factors for the example's load that the text works by hand."""
    row = example.rows()[3]
    tpot, ttft = (decision.own_factor(kind, row, 3) for kind in factors.KINDS)
    return tpot, ttft


def test_errors_of_one_server_resemble_each_other() -> None:
    """Why whole groups are left out: a server's own mean explains much of an error."""
    rows, error = chosen("tpot", "model")
    logs = np.log1p(error)
    server = np.array([row.server for row in rows])
    own = np.array([logs[server == name].mean() for name in server])
    rng = np.random.default_rng(0)
    mixed = rng.permutation(server)
    chance = np.array([logs[mixed == name].mean() for name in mixed])
    assert own.var() > 5 * chance.var()


def test_two_runs_of_a_server_correct_the_loads_between() -> None:
    """One run with many clients does not: its error is another than at few."""
    before, both = fairness.own_runs("both")
    assert both < 0.75 * before
    assert fairness.own_runs("most")[1] > before
    rows, error = chosen("tpot", "model")
    loads = dict[object, dict[int, float]]()
    for row, each in zip(rows, error, strict=True):
        key = (row.server, row.prompt_len, row.output_len)
        loads.setdefault(key, {})[row.clients] = float(each) + 1
    sizes = []
    for ratio in loads.values():
        few, many = min(ratio), max(ratio)
        mean = (ratio[few] * ratio[many]) ** 0.5
        sizes += [abs(ratio[n] / mean - 1) for n in ratio if n not in (few, many)]
    assert both == pytest.approx(np.mean(sizes), rel=1e-9)


def test_a_factor_after_two_runs_is_tested_on_servers_that_did_not_make_it() -> None:
    """Counted over again from the rows; fewer are held than by a factor of all."""
    rows, error = chosen("tpot", "model")
    ratios = dict[tuple[str, int, int], dict[int, float]]()
    for row, error_of in zip(rows, error, strict=True):
        key = (row.server, row.prompt_len, row.output_len)
        ratios.setdefault(key, {})[row.clients] = float(error_of) + 1
    late = dict[str, list[float]]()
    for (name_of, _, _), ratio in ratios.items():
        few, many = min(ratio), max(ratio)
        mean = (ratio[few] * ratio[many]) ** 0.5
        late.setdefault(name_of, []).extend(
            mean / ratio[n] for n in ratio if n not in (few, many)
        )
    late = {server: each for server, each in late.items() if each}
    every = [each for own in late.values() for each in own]
    assert worth.runs_factor() == pytest.approx(np.quantile(every, 0.95))
    held = {}
    for server, own in late.items():
        others = [each for name in late if name != server for each in late[name]]
        held[server] = [each <= np.quantile(others, 0.95) for each in own]
    pooled, by_server = worth.runs_held()
    assert by_server == pytest.approx(
        {name: np.mean(all) for name, all in held.items()}
    )
    assert pooled == pytest.approx(
        np.mean([one for all in held.values() for one in all])
    )
    assert pooled < 0.95 and min(by_server.values()) < 0.6  # single servers, much less
    mine = worth.runs_factor(example.rows()[0].server)  # which the page works by hand
    assert round(mine, 2) == round(worth.runs_factor(), 2)


def test_the_error_falls_and_rises_with_the_load() -> None:
    """No trend, and the largest load is the worst."""
    every = list(fairness.by_load().values())
    assert every.index(min(every)) not in (0, len(every) - 1)
    assert every[-1] == max(every)


def test_two_rows_stand_out() -> None:
    labels = {"model": "qwen3-32b", "engine": "vllm", "clients": 128}
    first, second, third, *_ = fairness.times_as_long(**labels)
    assert first > second > 1.5 > 1.3 > third
    with pytest.raises(ValueError, match="labels must be those of a row"):
        fairness.times_as_long(clients=3)


def test_the_worst_group_is_of_all_that_were_kept() -> None:
    rows, error = chosen("tpot", "model")
    found = dict[tuple[str, str, str], list[float]]()
    for row, size in zip(rows, np.abs(error), strict=True):
        found.setdefault((row.model, row.system, row.engine), []).append(float(size))
    worst, mean = fairness.worst_kept()
    assert max(found, key=lambda group: np.mean(found[group])) == worst
    assert worst == ("llama-3-70b", "h200-sxm", "trtllm")  # the page names it
    assert mean == pytest.approx(np.mean(found[worst])) and mean < 1  # none refused


def test_engines_lean_less_by_constants_that_they_share() -> None:
    """Left out, an engine is predicted by the others, which lean away from it."""
    for engine in ("vllm", "trtllm"):
        left, common = (fairness.bias_of(engine, by) for by in ("engine", "nothing"))
        assert 0 < common / left < 0.75
