"""Each symptom is there, its causes are told apart, and remedies do as is said."""

from __future__ import annotations

from itertools import product

import pytest

from llmserve_lab.symptoms.case import (
    Cause,
    Remedy,
    Sign,
    Symptom,
    trials,
    tried,
    watched,
)
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.dashboard import METRICS, Dashboard
from llmserve_lab.symptoms.mapped import panel_of
from llmserve_lab.symptoms.served import WatchedRun

PAIRS = [(each, cause) for each in CASES for cause in each.causes]
NAMES = [f"{each.key}: {cause.name}" for each, cause in PAIRS]
each_case = pytest.mark.parametrize("each", CASES, ids=[c.key for c in CASES])
each_cause = pytest.mark.parametrize(("each", "cause"), PAIRS, ids=NAMES)


@each_case
def test_a_healthy_run_raises_no_alarm(each: Symptom) -> None:
    assert not each.alarm.holds(watched(each))


@pytest.mark.long
@each_cause
def test_every_cause_raises_the_same_alarm(each: Symptom, cause: Cause) -> None:
    assert each.alarm.holds(watched(each, cause.name))


@each_cause
def test_the_signs_point_to_the_cause_and_to_no_other(
    each: Symptom, cause: Cause
) -> None:
    assert each.diagnose(watched(each, cause.name)) is cause


@each_case
def test_causes_differ_in_the_signs_and_not_in_the_alarm(each: Symptom) -> None:
    """Two or more look-alikes; no threshold on the alarm is among their signs."""
    assert len(each.causes) >= 2
    for one, other in product(each.causes, each.causes):
        if one is not other:
            seen = watched(each, other.name)
            assert not all(sign.holds(seen) for sign in one.signs)
            assert each.alarm.metric not in {sign.metric for sign in one.signs}


@pytest.mark.long
@each_case
def test_remedies_do_as_is_said(each: Symptom) -> None:
    wrong = [
        (trial.cause.name, trial.remedy.name, trial.factor)
        for trial in trials(each)
        if not trial.as_said
    ]
    assert wrong == []


@each_cause
def test_each_cause_has_a_remedy_that_helps_and_one_that_does_not(
    each: Symptom, cause: Cause
) -> None:
    assert {remedy.helps for remedy in cause.remedies} == {True, False}


@pytest.mark.long
@each_cause
def test_requests_and_tokens_are_conserved(each: Symptom, cause: Cause) -> None:
    """What came was answered, at its length, and every KV block fits."""
    setup = cause.setup(0)
    changed = [remedy.change(setup) for remedy in cause.remedies]
    for run in (setup, *changed):
        if not isinstance(run, WatchedRun):
            continue
        report, sent = run.report(), {r.id: r for r in run.requests}
        answered = [int(number) for number in report.id]
        assert sorted(answered) == sorted(sent)
        for number, prompt, output in zip(
            answered, report.prompt_len, report.output_len, strict=True
        ):
            assert (prompt, output) == (
                sent[number].prompt_len,
                sent[number].output_len,
            )
        assert report.log is not None
        assert all(0 <= s.used_blocks <= s.num_blocks for s in report.log)


@each_cause
def test_a_trial_changes_one_thing(each: Symptom, cause: Cause) -> None:
    """The load stays unless the remedy is about the load; a dashboard is repeatable."""
    assert watched(each, cause.name).values == cause.setup(0).observe().values
    for remedy in cause.remedies:
        assert remedy.change(cause.setup(0)) != cause.setup(0)


@pytest.mark.parametrize("seed", (0, 3))
def test_one_replica_finds_what_the_fleet_has_lost(seed: int) -> None:
    """So the test of two users has to be made on one replica."""
    of = case("prefix-cache")
    fleet = watched(of, "scattered and evicted", seed)
    clock = watched(of, "prompts differ at the start", seed)
    assert fleet["hit_share"] < 0.5 and fleet["repeat_hits"] > 0.9
    assert clock["hit_share"] == clock["repeat_hits"] == 0


@each_cause
def test_a_cap_that_is_tried_binds(each: Symptom, cause: Cause) -> None:
    """Slots below the most that ran before: a cap above them proves nothing."""
    for remedy in cause.remedies:
        if remedy.name in ("fewer slots", "cap the batch"):
            before, after = cause.setup(0), remedy.change(cause.setup(0))
            assert isinstance(before, WatchedRun) and isinstance(after, WatchedRun)
            slots = int(remedy.option.split()[-1])
            most = [panel_of(run)["running_most"] for run in (before, after)]
            assert most[0] > 1.3 * slots and most[1] == slots


@pytest.mark.parametrize("seed", (0, 3))
def test_a_prompt_that_is_shared_fills_fewer_blocks(seed: int) -> None:
    """Reuse across requests, and not another replica or more memory, is what saves."""
    trial = tried(case("prefix-cache"), "caching is off", "turn it on", seed)
    assert trial.after["kv_peak"] < 0.7 * trial.before["kv_peak"]


def test_more_gpus_are_compared_with_those_before_as_they_were() -> None:
    """More tokens in all from as many GPUs are more from each, in one column."""
    of = case("more-gpus")
    more = tried(of, of.causes[0].name, "more requests at a time")
    totals, each = (
        [seen[name] for seen in more.pair] for name in ("tokens_per_s", "scaling")
    )
    assert each[1] / each[0] == pytest.approx(totals[1] / totals[0])
    assert totals[1] > totals[0] and not more.helped


def test_all_rows_that_were_asked_for_are_there() -> None:
    assert len(CASES) == len({each.key for each in CASES}) == 11
    assert sum(len(each.causes) for each in CASES) == 24
    assert all(sign.metric in METRICS for _, c in PAIRS for sign in c.signs)


def test_what_does_not_exist_is_refused_by_name() -> None:
    storm = case("preemption-storm")
    with pytest.raises(ValueError, match=r"case must be one of first-token, .*'fire'"):
        case("fire")
    with pytest.raises(ValueError, match=r"cause must be one of answers.*'ghosts'"):
        watched(storm, "ghosts")
    with pytest.raises(ValueError, match=r"one of fewer slots.*'prayer'"):
        tried(storm, storm.causes[0].name, "prayer")
    with pytest.raises(ValueError, match=r"seed must be .*-1"):
        watched(storm, None, -1)
    with pytest.raises(ValueError, match=r"dashboard must show preemptions from 0.1"):
        storm.diagnose(watched(storm))
    with pytest.raises(ValueError, match=r"metric must be one of .*, got 'mood'"):
        Sign("mood")
    with pytest.raises(ValueError, match=r"least must be at most 1, got 2"):
        Sign("mfu", least=2, most=1)
    with pytest.raises(ValueError, match=r"values must be named in METRICS"):
        Dashboard({"mood": 1.0})


def test_signs_that_fit_no_cause_are_an_error() -> None:
    calm = Sign("mfu", most=0.0)
    never = Remedy("nothing", False, lambda setup: setup, "roofline")
    of = CASES[0]
    cause = Cause("a", "", of.causes[0].setup, (Sign("mfu", least=1.0),), (never,))
    odd = Symptom("odd", "", "", calm, "mfu", True, "", "", of.healthy, "", (cause,))
    with pytest.raises(ValueError, match=r"signs must point to one cause, got none"):
        odd.diagnose(Dashboard({"mfu": 0.0}))
