"""Factors, risks and yardsticks are scored without what they were made from."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from llmserve_lab.how_wrong import decision, example, factors, fairness
from llmserve_lab.how_wrong.page import tables
from llmserve_lab.how_wrong.record import ENOUGH, chosen, record, validated


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


def test_the_factor_of_a_new_model_is_narrowest_and_holds_least() -> None:
    near, engines, again, band, new, own = factors.tested()
    assert new.factors < own.factors < near.factors == engines.factors < band.factors
    assert new.held == min(each.held for each in factors.tested())
    assert engines.held < again.held < 0.9 < min(own.held, band.held)
    assert near.held > engines.held and again.factors[0] < again.factors[1]
    few, rows = factors.near_servers()
    assert few < rows / 2 and rows == 60


def test_a_factor_stands_beside_the_share_that_it_held() -> None:
    """The shares of a power are those of the record, and the factor has that power."""
    near, _, again, band, new, _ = factors.tested()
    others = 1 + decision.without_the_model(example.rows()[factors.AT]).high
    tried = validated()["coverage"]["tried"]["model"]["tpot"][example.MODEL]
    even, stretched = tried[2:]
    assert new.held == even < stretched  # without a power, and with the book's
    assert new.factors[0] ** decision.power("tpot") == pytest.approx(others)
    assert band.factors[0] == pytest.approx(near.factors[0] ** decision.power("tpot"))
    for power, factor in zip(again.powers, again.factors, strict=True):
        assert factor == pytest.approx(near.factors[0] ** power)
    shares = factors.nested_shares("tpot")
    assert min(shares) == new.held and max(shares) <= 1
    labels = record()["nested"].values()
    assert len(shares) == sum("tpot" in kind for n in labels for kind in n.values())


def test_the_first_token_owes_most_to_what_was_set_by_hand() -> None:
    """Six constants do not earn TTFT's score, and the table and its text say so."""
    bare = validated()["forms"]["six constants alone"]
    one, book = validated()["yardstick"], validated()["scores"]["model"]
    earned = one["ttft"]["mean"] - bare["ttft, model"]
    assert earned < bare["ttft, model"] - book["ttft"]["mean"]
    assert one["ttft"]["low"] < bare["intervals"]["ttft, model"][1]
    assert one["tpot"]["mean"] > 3 * bare["tpot, model"]
    shown = {row[0]: row[1:] for row in tables.yardsticks().rows}
    printed = float(str(shown["book, nothing set by hand"][1]).split()[0])
    assert printed == pytest.approx(100 * bare["ttft, model"], abs=0.06)


def test_few_servers_have_no_interval() -> None:
    for row in tables.groups().rows:
        assert ("(" in str(row[3])) is (int(row[2]) >= ENOUGH)
