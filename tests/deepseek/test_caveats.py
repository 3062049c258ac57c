"""What predictions rest on: each change, each silence, each number of a deployment."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from statistics import fmean

import pytest

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
)
from llmserve_lab.deepseek.defaults import book_assumptions, paper_assumptions
from llmserve_lab.deepseek.evaluation.attribution import (
    DECODES,
    RUNGS,
    STOOD_ON,
    ladder,
)
from llmserve_lab.deepseek.evaluation.caveats import (
    few_requests,
    full_machines,
    production,
    untold,
    user_rates,
)
from llmserve_lab.deepseek.evaluation.predictions import (
    Point,
    points,
)
from llmserve_lab.deepseek.evaluation.published_runs import (
    known_runs,
    rate_of,
    run_as,
)
from llmserve_lab.deepseek.evaluation.sensitivity import changes, silent, swings
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import SETUPS


@cache
def predicted() -> dict[str, Point]:
    return {point.record.name: point for point in points(book_assumptions())}


def test_a_users_rate_alone_predicts_production_less_well() -> None:
    """Each found batch keeps the rate, one request more does not."""
    found = production(book_assumptions())
    assert [each.user_rate for each in found] == [*user_rates()]
    for each in found:
        assert each.predicted / each.batch >= each.user_rate
        assert each.user_rate > each.predicted / each.batch * 0.98
    errors = [each.error for each in found]
    assert errors == sorted(errors, reverse=True)
    assert max(errors) < predicted()[DEEPSEEK_DECODE.name].error < 0


def test_the_balancedness_decides_several_errors() -> None:
    """Two rows know of none: even routing was simulated there."""
    ours = book_assumptions()
    tried = sorted({0.6, 0.9, 1.0, ours.balancedness})
    found = {at: points(replace(ours, balancedness=at)) for at in tried}
    for rows in zip(*found.values(), strict=True):
        even = known_runs().get(rows[0].record, {}).get("balancedness") == 1.0
        assert (len({point.predicted for point in rows}) == 1) is even
    errors = [p.error for p in found[ours.balancedness]]
    assert errors == [p.error for p in predicted().values()]
    size = {at: fmean(abs(p.error) for p in each) for at, each in found.items()}
    assert min(size, key=lambda at: size[at]) == ours.balancedness
    assert size[0.6] > 1.5 * size[ours.balancedness] < size[1.0] / 1.1


def test_the_ladder_ends_where_the_points_are() -> None:
    first, *_, last = ladder()
    assert list(last.errors) == [predicted()[r.name].error for r in STOOD_ON]
    assert last.assumptions == book_assumptions()
    assert first.errors[-1] is None
    printed = paper_assumptions()
    for found, record in zip(first.errors[:-1], DECODES, strict=True):
        made = rate_of(record, replace(run_as(record, printed), assumptions=printed))
        assert found == pytest.approx(made / float(record.gpu_tokens_per_s) - 1)


def test_each_rung_changes_what_it_names_and_nothing_else() -> None:
    _, *rungs = ladder()
    for below, above in pairwise(rungs):
        differ = {
            each.name
            for each in fields(Assumptions)
            if getattr(below.assumptions, each.name)
            != getattr(above.assumptions, each.name)
        }
        assert differ == set(RUNGS.get(above.change, ("kernels",)))


def test_a_day_in_production_is_half_of_what_its_own_machine_can() -> None:
    """By DeepSeek's own profile as by the twin: the gap is the load, not the speed."""
    profile, same, day = (m.day_share for m in full_machines(book_assumptions()))
    assert 0.45 < profile < 0.55 and same == pytest.approx(profile, abs=0.05)
    assert profile + 0.1 < day < 0.8  # routing is uneven, cached tokens count


def test_what_deepseek_does_not_tell_moves_its_rows() -> None:
    """Its batch and its drafting: either would bring the prediction up."""
    implied, drafted, tabled, profiled, profile_drafted = untold(book_assumptions())
    for ours in (implied, profiled):
        assert ours.error == predicted()[ours.record.name].error
    assert implied.error < drafted.error < tabled.error < 0.02
    assert profiled.error < profile_drafted.error < 0


def test_with_few_requests_the_host_is_what_kernels_do_not_account_for() -> None:
    """InferenceX's two runs that were not calibrated on are met within a tenth."""
    ours = book_assumptions()
    for each in few_requests(ours):
        host = each.predicted_s - each.without_host_s
        assert host == pytest.approx(ours.host_s, rel=1e-9)
        assert each.without_host_s < each.step_s
        if each.point.status == "seen" and "InferenceX" in each.point.record.name:
            assert abs(each.point.error) < 0.1


def test_every_change_is_there_and_the_silent_ones_beside_it() -> None:
    found = swings(SETUPS["9 × 8 H100"], batch=32.0, context=2048.0)
    assert {name for name, _ in found} == {*changes()}
    lent, memory = silent(SETUPS["4 × 8 H100"], context=4096.0)
    assert lent.by > 0 > memory.by
    changed = {name for change in changes().values() for name in change}
    # what fits; and what only prefill lends
    quiet = {"usable_memory", "lent_share"}
    assert {field.name for field in fields(Assumptions)} - changed == quiet


def test_what_matters_depends_on_the_batch() -> None:
    few, many = (
        dict(swings(SETUPS["9 × 8 H100"], batch=b, context=2048)) for b in (32, 256)
    )
    # Of the faster schedule: changing to it changes nothing.
    assert few["always one after another"] == 0 == many["always two halves"]
    assert few["always two halves"] < -0.1 > many["always one after another"]
    assert few["the libraries' headlines"] > many["the libraries' headlines"]
    assert few["nothing between GEMMs"] > 0.1 > many["nothing between GEMMs"]
    assert few["the plain form"] < -0.5 and many["the plain form"] < -0.5
