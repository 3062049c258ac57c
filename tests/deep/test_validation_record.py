"""The whole record of the validation, computed again: about a minute."""

import json

import pytest

from llmserve_lab.validation.__main__ import RECORD, written


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
