"""The whole record of the validation, computed again: a quarter of an hour."""

import json
from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.validation.__main__ import RECORD, apart, written
from llmserve_lab.validation.blind import TRIALS
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.expert_fit import START, fit_extra, loss
from llmserve_lab.validation.expert_form import ExpertConstants, MendedPredictor
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.served import PART


def test_the_record_is_what_the_fit_gives_now() -> None:
    now, recorded = json.loads(written()), json.loads(RECORD.read_text("utf8"))
    assert now.keys() == recorded.keys()
    assert now["rows_sha256"] == recorded["rows_sha256"]
    for name, constants in recorded["constants"].items():
        assert now["constants"][name] == pytest.approx(constants, rel=2e-3)
    for by, kinds in recorded["scores"].items():
        for kind, score in kinds.items():
            assert now["scores"][by][kind] == pytest.approx(score, rel=2e-3, abs=2e-4)
    for rung, ours in zip(recorded["ladder"], now["ladder"], strict=True):
        assert ours[0] == rung[0] and ours[1:] == pytest.approx(rung[1:], rel=2e-3)
    for name, form in recorded["forms"].items():
        ends = now["forms"][name]["intervals"]
        for key, pair in form["intervals"].items():
            assert ends[key] == pytest.approx(pair, rel=5e-3)
    for kind, errors in recorded["errors"].items():
        assert now["errors"][kind] == pytest.approx(errors, abs=2e-3)
    for part in (*TRIALS, "kernels", PART, "mixtures"):
        assert not [*apart(now[part], recorded[part])]


def test_no_other_start_finds_better_constants_of_experts() -> None:
    """All 763 runs, from twenty places that lie up to a factor of ten away."""
    rng, rows = np.random.default_rng(0), MendedPredictor(stored_runs())
    best = ExpertConstants(**record()["experts"]["constants"]["all"])
    for _ in range(20):
        start = replace(
            START,
            layer_s=START.layer_s * float(rng.lognormal(0, 0.7)),
            products=START.products * float(rng.lognormal(0, 0.7)),
        )
        found = fit_extra(rows, start=start)
        assert loss(rows, found) > loss(rows, best) * (1 - 1e-4)
        assert found.layer_s == pytest.approx(best.layer_s, rel=1e-2)
        assert found.products == pytest.approx(best.products, rel=1e-2)
