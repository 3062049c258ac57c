"""The whole record of "How wrong is this book?", computed again: four minutes."""

import json

import numpy as np
import pytest

from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.__main__ import written
from llmserve_lab.how_wrong.record import RECORD, row_errors
from llmserve_lab.validation import Predictor, dense_rows, errors
from llmserve_lab.validation.fit import fit


def test_the_record_is_what_the_rows_give_now() -> None:
    now, recorded = json.loads(written()), json.loads(RECORD.read_text("utf8"))
    assert now.keys() == recorded.keys()
    assert now["rows_sha256"] == recorded["rows_sha256"]
    for by, names in recorded["folds"].items():
        for name, values in names.items():
            assert now["folds"][by][name] == pytest.approx(values, rel=2e-3)
    for left, kinds in recorded["errors"].items():
        for kind, stored in kinds.items():
            apart = np.array(now["errors"][left][kind]) - np.array(stored)
            assert np.abs(apart).max() < 30  # ten-thousandths
    for part in ("switches", "script"):
        for name, means in recorded[part].items():
            assert now[part][name] == pytest.approx(means, rel=2e-3)
    for by, names in recorded["together"]["both"].items():
        for name, shares in names.items():
            assert now["together"]["both"][by][name] == pytest.approx(shares, abs=0.02)
    for by, names in recorded["nested"].items():
        for name, kinds in names.items():
            assert now["nested"][by][name].keys() == kinds.keys()
            for kind, (power, held) in kinds.items():
                found = now["nested"][by][name][kind]
                assert found == [
                    pytest.approx(power, abs=0.11),
                    pytest.approx(held, abs=0.03),
                ]
    assert now["afd"]["drawn"] == recorded["afd"]["drawn"]
    for name, sizes in recorded["afd"]["rules"].items():
        assert now["afd"]["rules"][name] == pytest.approx(sizes, rel=2e-3)


def test_a_fit_that_has_not_seen_a_server_is_made_again() -> None:
    """The record's errors of one server, from constants fitted to all others."""
    rows = Predictor(dense_rows())
    mine = rows.label("server") == example.rows()[0].server
    found = rows.subset(mine).predict(fit(rows.subset(~mine)))
    error = errors(found, rows.subset(mine).measured, "tpot")
    assert row_errors("tpot", "server")[mine] == pytest.approx(error, abs=3e-3)
