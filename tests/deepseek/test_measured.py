"""Predictions beside measurements: within bounds where we say so, printed always."""

from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    DEPLOYMENTS,
)
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.deepseek.calibration.kernel_efficiency import trips_started
from llmserve_lab.deepseek.calibration.link_efficiency import (
    far_share_reached,
    layer_wire_bytes,
    share_of_link,
    trip_rates,
)
from llmserve_lab.deepseek.evaluation import attribution
from llmserve_lab.deepseek.evaluation.ablations import ablations, ablations_table
from llmserve_lab.deepseek.evaluation.attribution import ladder_table
from llmserve_lab.deepseek.evaluation.caveats import (
    balance_table,
    busy_table,
    hidden_table,
    production_at,
    production_table,
    small_table,
    told_table,
    user_rates,
)
from llmserve_lab.deepseek.evaluation.kernels import (
    headlines_table,
    kernel_s,
    kernels_table,
)
from llmserve_lab.deepseek.evaluation.predictions import (
    Point,
    curve,
    error,
    points,
    points_table,
    signed,
)
from llmserve_lab.deepseek.evaluation.published_runs import (
    batch_of,
    decodes,
    known_runs,
    rate_of,
    run_as,
)
from llmserve_lab.deepseek.evaluation.sensitivity import (
    changes,
    silent_table,
    swings,
    swings_table,
)
from llmserve_lab.deepseek.model.assumptions import Choices, as_printed
from llmserve_lab.deepseek.model.setup import SETUPS, setup_of
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import plain

DECODES = [record for record in DEPLOYMENTS if decodes(record)]


@cache
def predicted() -> tuple[Point, ...]:
    return points(Choices())


def test_all_published_points_but_one_are_within_fifteen_percent() -> None:
    """The mean of a day is no saturated machine: its prefill is missed by far."""
    missed = [point for point in predicted() if abs(error(point)) > 0.15]
    assert [point[0] for point in missed] == [DEEPSEEK_PREFILL.name]
    assert error(missed[0]) > 0.4


def test_a_users_rate_alone_predicts_production_less_well() -> None:
    """Each found batch keeps the rate, one request more does not."""
    measured, misses = float(DEEPSEEK_DECODE.gpu_tokens_per_s), []
    for rate in user_rates():
        batch, found = production_at(rate, Choices())
        assert found / batch >= rate > found / batch * 0.98
        misses.append(found / measured - 1)
    assert misses == sorted(misses, reverse=True)
    assert misses[0] > 0.1 > misses[-1] > 0
    assert [row[-1] for row in production_table(Choices()).rows] == [
        signed(miss) for miss in misses
    ]


def test_the_balancedness_decides_several_errors() -> None:
    """Two rows know of none: even routing was simulated there."""
    table = balance_table(Choices())
    moved = {str(row[0]): row[1] != row[-1] for row in table.rows}
    assert [name for name, moves in moved.items() if not moves] == [
        name for name in moved if "profile" in name or "even" in name
    ]
    at = plain(Choices().balancedness)
    ours = [str(column) for column in table.columns].index(at)
    for tried in {1, 2, 3, 4} - {ours}:  # elsewhere more than one is missed
        off = [abs(int(str(row[tried]).split()[0])) > 15 for row in table.rows]
        assert sum(off) > 1
    assert [row[ours] for row in table.rows] == [
        signed(error(point)) for point in predicted()
    ]


def test_the_twin_takes_no_more_than_the_headlines() -> None:
    for row in headlines_table().rows:
        best, taken = (float(str(cell).split()[0]) for cell in row[2:])
        assert 50 < taken <= best <= 100


def test_as_the_paper_reads_most_are_not() -> None:
    """Its factor of two on memory stands for what lies between the products."""
    far = [abs(error(point)) > 0.15 for point in points(as_printed())]
    assert sum(far) > len(far) / 2


def _short(name: str) -> str:
    """``EP72`` of ``SGLang, EP72, batch 256``."""
    return name.partition(", ")[2].partition(", batch")[0]


def test_the_ladder_ends_where_the_points_are() -> None:
    first, *_, last = ladder_table().rows
    ends = {_short(point[0]): signed(error(point)) for point in predicted()}
    columns = ladder_table().columns[1:]
    assert [str(cell) for cell in last[1:]] == [ends[name] for name in columns]
    assert (first[0], first[-1]) == ("the paper's reading", "–")
    printed = as_printed()
    for cell, record in zip(first[1:-1], attribution.DECODES, strict=True):
        twin = Twin(setup=setup_of(record), choices=printed)
        made = rate_of(record, twin) / float(record.gpu_tokens_per_s)
        assert cell == signed(made - 1)
    assert twin.choices.overlap == "halves" and printed.near_copies == "near"


def test_the_error_is_printed() -> None:
    rows = points_table(Choices()).rows
    assert len(rows) == len(predicted()) == len(DEPLOYMENTS)
    assert all(str(row[-1]).endswith(" %") for row in rows)


def test_what_was_measured_fits_in_memory() -> None:
    for found in (curve(record, Choices()) for record in DECODES):
        assert found.batch <= found.batches[-1]
        assert (np.diff(found.batches) > 0).all()


def test_every_gain_has_the_measured_sign() -> None:
    """Sizes are missed, as the page says; a sign never is."""
    for _, gain, measured in ablations(Choices()):
        assert {gain > 1} == {each > 1 for each in measured}


def test_a_deployment_decodes_or_prefills() -> None:
    assert len(predicted()) == len(DEPLOYMENTS) > len(DECODES)
    for record in {*DEPLOYMENTS} - {*DECODES}:
        with pytest.raises(ValueError, match="record must tell a batch or a user's"):
            batch_of(record)


def test_only_what_is_known_of_a_run_differs() -> None:
    """A run of which nothing is known is that of the choices themselves."""
    ours = Choices()
    for record in DEPLOYMENTS:
        known = known_runs().get(record, {})
        made = run_as(record, ours).choices
        differs = {
            each.name
            for each in fields(Choices)
            if getattr(made, each.name) != getattr(ours, each.name)
        }
        assert differs == set(known)


def test_a_day_in_production_is_half_of_what_its_own_machine_can() -> None:
    """By DeepSeek's own profile as by the twin: the gap is the load, not the speed."""
    shares = [
        float(str(row[-1]).removesuffix(" %")) for row in busy_table(Choices()).rows
    ]
    profile, same, day = shares
    assert 45 < profile < 55 and same == pytest.approx(profile, abs=5)
    assert profile + 10 < day < 80  # routing is uneven, cached tokens count


def test_the_far_share_is_one_of_those_measured_and_none_passes_the_peak() -> None:
    shares = [share_of_link(each) for each in ALL_TO_ALL[1:]]
    assert far_share_reached() in shares
    assert 0.7 < min(shares) <= max(shares) < 0.85


def test_kernels_between_nodes_are_met_within_a_fifth() -> None:
    errors = [row[i] for row in kernels_table(Choices()).rows[1:] for i in (2, 4)]
    assert all(abs(float(str(each).removesuffix(" %"))) < 20 for each in errors)


def test_what_deepseek_does_not_tell_moves_its_rows() -> None:
    """Its batch and its drafting: the published rows are the first and the fourth."""
    rows = told_table(Choices()).rows
    errors = [int(str(row[-1]).split()[0]) for row in rows]
    ours = {point[0]: signed(error(point)) for point in predicted()}
    assert rows[0][-1] == ours["DeepSeek, EP144, batch 88.1"]
    assert rows[3][-1] == ours["DeepSeek's profile, EP128, batch 128"]
    assert errors[0] < errors[1] <= 15 < errors[2] and errors[3] < 15 < errors[4]


def test_the_racks_later_runs_lie_between_nothing_hidden_and_all() -> None:
    for row in hidden_table(Choices()).rows:
        none, everything = (int(str(cell).split()[0]) for cell in row[1:])
        assert none < everything


def test_with_few_requests_a_step_is_too_short_whatever_their_number() -> None:
    """What is missing does not grow with the batch; a start of trips is part of it."""
    rows = small_table(Choices()).rows
    for row in rows:
        off, started = (int(str(cell).split()[0]) for cell in row[-2:])
        assert off > 20 and 0 < started < 0.7 * off
    missing = [float(str(row[3]).split()[0]) for row in rows[:4]]
    batches = [float(str(row[1])) for row in rows[:4]]
    assert max(missing) < 1.4 * min(missing) and max(batches) > 8 * min(batches)


def test_a_start_of_trips_describes_the_kernels_better() -> None:
    def worst(choices: Choices) -> int:
        table = kernels_table(choices)
        return max(
            abs(int(str(row[i]).split()[0])) for row in table.rows for i in (2, 4)
        )

    assert worst(Choices(shares=trips_started())) < 9 < 15 < worst(Choices())


def test_the_start_is_that_of_trips_that_have_one() -> None:
    """Times made up with a known start and known rates are read off again."""
    start, far, near = trip_rates()
    for run in ALL_TO_ALL:
        for form in ("fp8", "bf16"):
            choices = Choices(shares=trips_started())
            made = kernel_s(run, form, choices=choices)
            share = 1 - 8 / run.ep if run.ep > 8 else 0.0
            size = layer_wire_bytes(form)
            by_far, by_near = (
                size * share / 50e9 / far,
                size * (1 - share) / 200e9 / near,
            )
            assert made == pytest.approx(start + max(by_far, by_near))


def test_every_change_is_in_the_table_and_the_silent_ones_beside_it() -> None:
    table = swings_table(SETUPS["9 × 8 H100"], batches=(32.0, 256.0), context=2048.0)
    assert [row[0] for row in table.rows] == [*changes()]
    lent, memory = silent_table(SETUPS["4 × 8 H100"], context=4096.0).rows
    assert str(lent[-1]).startswith("+") and str(memory[-1]).startswith("-")


def test_the_ablations_are_set_beside() -> None:
    rows = ablations_table(Choices()).rows
    assert len(rows) == 6
    assert rows[3][-1] == "+27 % to +35 %"


def test_every_choice_is_changed_by_something() -> None:
    changed = {name for change in changes().values() for name in change}
    # what fits; and what only prefill lends
    silent = {"usable_memory", "lent_share"}
    assert {field.name for field in fields(Choices)} - changed == silent


def test_what_matters_depends_on_the_batch() -> None:
    few, many = (
        dict(swings(SETUPS["9 × 8 H100"], batch=b, context=2048)) for b in (32, 256)
    )
    assert few["one after another"] > 0 > many["one after another"]
    assert few["the libraries' headlines"] > 0.3 > many["the libraries' headlines"]
    assert few["nothing between products"] > 0.3 > many["nothing between products"]
    assert few["vanilla attention"] < -0.5 and many["vanilla attention"] < -0.5
