"""Predictions beside measurements: within bounds where we say so, printed always."""

from dataclasses import fields

import pytest

from llmserve_lab.catalog.measurements import (
    ALL_TO_ALL,
    OVERLAP_GAINS,
    REBALANCING_GAINS,
    SGLANG_DECODE,
)
from llmserve_lab.deepseek.ablations import (
    ablations_table,
    overlap_gain,
    rebalancing_gain,
)
from llmserve_lab.deepseek.choices import Choices
from llmserve_lab.deepseek.evidence import link_share, share_of_link
from llmserve_lab.deepseek.measured import (
    error,
    kernels_table,
    points,
    points_table,
)
from llmserve_lab.deepseek.sensitivity import CHANGES, swings
from llmserve_lab.deepseek.setup import SETUPS, setup_of

POINTS = points(Choices())


def test_three_decodes_on_hopper_are_within_fifteen_percent() -> None:
    assert [abs(error(point)) < 0.15 for point in POINTS[:3]] == [True] * 3


def test_where_the_twin_is_wrong_it_is_too_fast() -> None:
    """The rack and prefill: kernels that reach less than Hopper's best in decode."""
    assert all(0.15 < error(point) < 1 for point in POINTS[3:])


def test_the_error_is_printed() -> None:
    rows = points_table(Choices()).rows
    assert len(rows) == len(POINTS) == 8
    assert all(str(row[-1]).endswith(" %") for row in rows)


def test_overlap_gains_have_the_measured_sign() -> None:
    for batch, measured in OVERLAP_GAINS.items():
        gain = overlap_gain(setup_of(SGLANG_DECODE), batch, 2000, Choices())
        assert (gain > 1) == (float(measured) > 1)


@pytest.mark.parametrize("phase", REBALANCING_GAINS)
def test_rebalancing_gains(phase: str) -> None:
    assert rebalancing_gain(phase, Choices()) > 1


def test_the_link_share_is_one_of_those_measured_and_none_passes_the_peak() -> None:
    shares = [share_of_link(each) for each in ALL_TO_ALL[1:]]
    assert link_share() in shares
    assert 0.7 < min(shares) <= max(shares) < 0.85


def test_kernels_between_nodes_are_met_within_a_fifth() -> None:
    errors = [row[i] for row in kernels_table(Choices()).rows[1:] for i in (2, 4)]
    assert all(abs(float(str(each).removesuffix(" %"))) < 20 for each in errors)


def test_the_ablations_are_set_beside() -> None:
    assert len(ablations_table(Choices()).rows) == 4


def test_every_choice_is_changed_by_something() -> None:
    changed = {name for change in CHANGES.values() for name in change}
    silent = {"usable_memory"}  # decides what fits, not how fast it is
    assert {field.name for field in fields(Choices)} - changed == silent


def test_what_matters_depends_on_the_batch() -> None:
    few, many = (
        dict(swings(SETUPS["9 × 8 H100"], batch=b, context=2048)) for b in (32, 256)
    )
    assert few["one after another"] > 0 > many["one after another"]
    assert few["best kernels"] > 0.3 > many["best kernels"]
    assert few["vanilla attention"] < -0.5 and many["vanilla attention"] < -0.5
