"""The whole record of the simulated goodput, computed again: minutes."""

import json

import pytest

from llmserve_lab.disaggregation.__main__ import written
from llmserve_lab.disaggregation.goodput import HANDS, LIMITS_S, LOADS
from llmserve_lab.disaggregation.record import recorded
from tests.disaggregation.test_goodput import check_lasting


def test_the_record_is_what_the_simulator_gives_now() -> None:
    now = json.loads(written())
    assert now["backlog"].keys() == recorded()["backlog"].keys()
    for promise, rates in recorded()["backlog"].items():
        assert now["backlog"][promise] == pytest.approx(rates, rel=1e-3)
    for name, variants in recorded()["goodput"].items():
        assert now["goodput"][name].keys() == variants.keys()
        for variant, rows in variants.items():
            found = now["goodput"][name][variant]
            assert found.keys() == rows.keys()
            for rate, shares in rows.items():
                assert found[rate] == pytest.approx(shares, abs=1)


@pytest.mark.parametrize("limit", LIMITS_S)
@pytest.mark.parametrize("name", ["whole", "2,048 rows", "2P:2D"])
def test_every_goodput_lasts(name: str, limit: float) -> None:
    check_lasting(LOADS[0], name, HANDS[0], limit)
