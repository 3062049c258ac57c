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
    for kind, errors in recorded["errors"].items():
        assert now["errors"][kind] == pytest.approx(errors, abs=2e-3)
