"""The cases of the symptoms again, on other loads: five seeds of each."""

from __future__ import annotations

import pytest

from llmserve_lab.symptoms.case import SEEDS, Symptom, trials, watched
from llmserve_lab.symptoms.cases import CASES


@pytest.mark.parametrize("seed", SEEDS[1:])
@pytest.mark.parametrize("each", CASES, ids=[each.key for each in CASES])
def test_alarm_cause_and_remedies_on_another_seed(each: Symptom, seed: int) -> None:
    assert not each.alarm.holds(watched(each, None, seed))
    for cause in each.causes:
        assert each.diagnose(watched(each, cause.name, seed)) is cause
    assert [t.remedy.name for t in trials(each, seed) if not t.as_said] == []
