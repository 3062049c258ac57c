"""All-reduces as they are done, beside the runs to which their lines were fitted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.collectives import (
    ALL_REDUCES,
    ENGINE_LIMITS,
    ENGINE_RUNS,
)
from llmserve_lab.collectives import calibration
from llmserve_lab.collectives.calibration import FittedReduce
from llmserve_lab.collectives.formulas import (
    ALL_REDUCE_S,
    FASTEST_S,
    IN_SWITCH_S,
    ONE_SHOT_S,
    TWO_SHOT_S,
)
from llmserve_lab.formula.band import Band

KINDS = (calibration.nccl, calibration.one_shot, calibration.in_switch)


def test_measured_times_grow_with_the_tensor() -> None:
    """As a whole: kernels that change over may win or lose a little on the way."""
    for runs in ALL_REDUCES.values():
        for n_gpus in {run.n_gpus for run in runs}:
            times = [float(run.seconds) for run in runs if run.n_gpus == n_gpus]
            rises = np.diff(times)
            assert (rises > -0.12 * np.array(times[:-1])).all()
            assert times[-1] > 10 * times[0]


def test_no_measured_all_reduce_is_faster_than_the_wires() -> None:
    """Each GPU must at least send what a switch needs: its tensor once a way."""
    for runs in ALL_REDUCES.values():
        for run in runs:
            assert run.nbytes / float(run.seconds) < 450e9


@pytest.mark.parametrize(
    ("kind", "mean"), list(zip(KINDS, (0.14, 0.05, 0.02), strict=True))
)
def test_a_line_is_as_near_as_it_says(kind: object, mean: float) -> None:
    fitted = kind()  # type: ignore[operator]
    assert fitted.mean_error < mean
    assert 0 < fitted.share < 1 and 1e-6 < fitted.start_s < 1e-5


def test_a_step_of_a_ring_is_below_a_microsecond() -> None:
    """An end-to-end latency of three microseconds, taken for each step, is too long."""
    assert 0.5e-6 < calibration.nccl().hop_s < 1e-6


def test_two_shots_are_as_near_as_they_say_and_start_later_than_one() -> None:
    two, one = calibration.two_shot(), calibration.one_shot()
    assert two.mean_error < 0.05 and two.start_s > one.start_s and 0 < two.share < 1


def test_the_engine_changes_over_where_the_lines_cross_or_near() -> None:
    """On four GPUs from one shot to two, on eight to the switch: less than twice."""
    for n_gpus, limits in ENGINE_LIMITS.items():
        at = float(limits.one_shot)
        size = {"n_ranks": n_gpus, "tensor_bytes": at}
        shot = float(ONE_SHOT_S.at(calibration.one_shot().known(), size))
        later = TWO_SHOT_S if n_gpus == 4 else IN_SWITCH_S
        kind = calibration.two_shot if n_gpus == 4 else calibration.in_switch
        assert 0.5 < float(later.at(kind().known(), size)) / shot < 2
        assert (
            float(limits.one_shot) <= float(limits.two_shot) < float(limits.in_switch)
        )


def test_the_fastest_of_three_is_what_an_engine_takes() -> None:
    errors = []
    for run in ENGINE_RUNS:
        size = {"n_ranks": run.n_gpus, "tensor_bytes": run.nbytes}
        ways = {
            formula.name: float(formula.at(kind().known(), size))
            for formula, kind in zip(
                (ALL_REDUCE_S, ONE_SHOT_S, IN_SWITCH_S), KINDS, strict=True
            )
        }
        errors.append(float(FASTEST_S(**ways)) / float(run.seconds) - 1)
    assert np.abs(errors).mean() < 0.07 and np.abs(errors).max() < 0.25


@pytest.mark.parametrize("kind", KINDS)
def test_a_band_holds_the_error_of_each_all_reduce_that_was_fitted(
    kind: Callable[[], FittedReduce],
) -> None:
    found = kind()
    for run, error in zip(found.runs, found.errors, strict=True):
        band = found.band(run.n_gpus, run.nbytes)
        assert isinstance(band, Band) and band.whole and band.n == len(found.runs)
        low, high = band.around((1 + error) * float(run.seconds))
        assert low <= float(run.seconds) * (1 + 1e-9) and high >= float(run.seconds) * (
            1 - 1e-9
        )


def test_outside_its_runs_an_all_reduce_has_no_band() -> None:
    switch = calibration.in_switch()
    assert str(switch.band(4, 2**20)).endswith("4 GPUs: measured were 8")
    assert "1 kB: measured were 524 kB to 134 MB" in str(switch.band(8, 1000.0))
    with pytest.raises(ValueError, match="nbytes must be positive, got 0"):
        switch.band(8, 0.0)
