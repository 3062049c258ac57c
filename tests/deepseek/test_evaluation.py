"""Predictions beside measurements: scored apart by what a run was used for."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    DEPLOYMENTS,
    NVL72_DECODE,
    SMALL_BATCHES,
)
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.deepseek.calibration.host_time import mean_context
from llmserve_lab.deepseek.calibration.kernel_efficiency import PEAKS, alike
from llmserve_lab.deepseek.defaults import book_assumptions, paper_assumptions
from llmserve_lab.deepseek.evaluation import decode_scores, kernels
from llmserve_lab.deepseek.evaluation.ablations import (
    ablations,
    balance_before,
    overlap_ablations,
    rebalancing_gain,
)
from llmserve_lab.deepseek.evaluation.attribution import (
    ladder,
)
from llmserve_lab.deepseek.evaluation.bands import scored
from llmserve_lab.deepseek.evaluation.caveats import few_requests
from llmserve_lab.deepseek.evaluation.predictions import (
    Point,
    by_status,
    points,
    saturated,
    score,
)
from llmserve_lab.deepseek.evaluation.published_runs import (
    batch_of,
    decodes,
    known_runs,
    run_as,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.page import caveat_tables, evidence, tables
from llmserve_lab.formula.text import signed
from tests.deepseek.twins import assume

RUNS = [record for record in DEPLOYMENTS if decodes(record)]
LATEST_GAIN = 0.08  # by which a predicted gain of overlap may miss the measured one


@cache
def predicted() -> dict[str, Point]:
    return {point.record.name: point for point in points(book_assumptions())}


def test_every_run_says_what_it_was_used_for() -> None:
    """None is blind: all were looked at. A pair gave the balancedness."""
    used = {
        record.name: record.status.kind for record in (*DEPLOYMENTS, *SMALL_BATCHES)
    }
    calibrated = [name for name, kind in used.items() if kind == "calibrated"]
    assert "blind" not in used.values()
    assert {"SGLang, prefill of 4096", "SGLang, prefill of 4096, even routing"} <= {
        *calibrated
    }
    assert {run.status.kind for run in DECODE_RUNS} == {"calibrated"}
    for run in SMALL_BATCHES[:4]:  # those that are decode runs too are not scored
        context, rate = float(run.context), float(run.gpu_tokens_per_s)
        among = any(
            mean_context(each) == pytest.approx(context, rel=1e-3)
            and each.tpot_s == pytest.approx(batch_of(run) / rate, rel=1e-3)
            for each in DECODE_RUNS
        )
        assert (run.status.kind == "calibrated") is among


@pytest.mark.parametrize(
    ("kind", "date", "message"),
    [
        ("known", "2026-11-22", "kind must be one of seen, calibrated, blind, got"),
        ("seen", "yesterday", "date must be year-month-day, got 'yesterday'"),
    ],
)
def test_a_status_without_sense_is_refused(kind: Any, date: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Status(kind, date)


def test_scores_are_taken_apart() -> None:
    found = by_status([("seen", 0.1), ("blind", -0.3), ("seen", -0.2)])
    assert [(s.status, s.n_runs) for s in found] == [("seen", 2), ("blind", 1)]
    seen, blind = found
    assert seen.mean_error == pytest.approx(0.15) and seen.bias == pytest.approx(-0.05)
    assert (seen.worst, seen.share_within) == (-0.2, 0.5)
    assert (blind.worst, blind.share_within) == (-0.3, 0.0)
    assert seen.mean_interval[0] <= seen.mean_error <= seen.mean_interval[1]
    assert seen.bias_interval == pytest.approx((-0.2, 0.1))  # either run, twice
    assert blind.mean_interval == pytest.approx((0.3, 0.3))
    with pytest.raises(ValueError, match="errors must be at least 1, got 0"):
        score("seen", ())
    with pytest.raises(ValueError, match="errors must be finite, got"):
        score("seen", (float("nan"),))


def test_runs_that_were_seen_come_out_within_nine_percent_on_average() -> None:
    """The mean of a day is no saturated machine: its prefill is missed by far."""
    seen, calibrated = by_status(
        (p.status, p.error) for p in saturated(book_assumptions())
    )
    assert (seen.n_runs, calibrated.n_runs) == (13, 2)
    assert seen.mean_error < 0.1 and abs(seen.bias) < 0.05
    missed = [p.record for p in predicted().values() if abs(p.error) > 0.16]
    assert missed == [DEEPSEEK_DECODE, NVL72_DECODE, DEEPSEEK_PREFILL]
    assert calibrated.mean_error < 0.01


def test_a_run_is_predicted_with_the_callers_kernels_in_every_row() -> None:
    """With all peaks reached no row stays what it was."""
    ours = {p.record: p.predicted for p in predicted().values()}
    for point in points(assume(kernels=alike(PEAKS))):
        assert point.predicted > 1.05 * ours[point.record]


def test_the_twin_takes_no_more_than_the_headlines() -> None:
    for each in kernels.headlines():
        assert 0.5 < each.taken <= each.of_peak <= 1


def test_as_the_paper_reads_most_are_not() -> None:
    """Its factor of two on memory stands for what lies between the GEMMs."""
    far = [abs(point.error) > 0.15 for point in points(paper_assumptions())]
    assert sum(far) > len(far) / 2


def test_errors_are_predictions_over_measurements() -> None:
    for point in predicted().values():
        assert point.error == pytest.approx(point.predicted / point.measured - 1)
        assert point.measured == float(point.record.gpu_tokens_per_s)
        batch = batch_of(point.record) if decodes(point.record) else None
        assert point.batch == batch
    measured = [float(record.gpu_tokens_per_s) for record in DEPLOYMENTS]
    assert [p.measured for p in predicted().values()] == measured


def test_what_was_measured_fits_in_memory() -> None:
    for record in RUNS:
        fits = run_as(record, book_assumptions()).batch_fits(float(record.context))
        assert batch_of(record) <= float(fits)


def test_overlap_gains_what_was_measured() -> None:
    """None of the four gains was fitted to; the slowdown is a published one."""
    for found in overlap_ablations(book_assumptions()):
        low, high = min(found.measured), max(found.measured)
        assert low - LATEST_GAIN < found.predicted < high + LATEST_GAIN


def test_overlap_that_neither_waits_nor_slows_gains_too_much() -> None:
    """So waiting and slowing down each explain a part of what is not gained."""
    ours = book_assumptions()
    free, waiting, both = (
        [found.predicted for found in overlap_ablations(assumed)]
        for assumed in (
            replace(ours, overlap_slowdown=0.0),
            replace(ours, overlap_slowdown=0.1),
            ours,
        )
    )
    assert all(np.diff([both, waiting, free], axis=0).ravel() > 0)
    measured = [max(found.measured) for found in overlap_ablations(ours)]
    assert all(gain > most + 0.02 for gain, most in zip(free, measured, strict=True))


def test_every_gain_has_the_measured_sign() -> None:
    for found in ablations(book_assumptions()):
        assert {found.predicted > 1} == {each > 1 for each in found.measured}


def test_the_balancedness_before_makes_the_gain_what_it_was() -> None:
    """It was uneven before, and more so in decode; how much was not published."""
    ours = book_assumptions()
    before = {phase: balance_before(phase, ours) for phase in ("prefill", "decode")}
    assert 0.2 < before["decode"] < before["prefill"] < 0.5 < ours.balancedness
    for phase, gain in (("prefill", 1.49), ("decode", 2.54)):
        found = rebalancing_gain(phase, ours, before=before[phase])
        assert found == pytest.approx(gain)


def test_a_deployment_decodes_or_prefills() -> None:
    assert len(predicted()) == len(DEPLOYMENTS) > len(RUNS)
    for record in {*DEPLOYMENTS} - {*RUNS}:
        with pytest.raises(ValueError, match="record must tell a batch or a user's"):
            batch_of(record)


def test_only_what_is_known_of_a_run_differs() -> None:
    """A run of which nothing is known is that of the assumptions themselves."""
    ours = book_assumptions()
    for record in DEPLOYMENTS:
        made = run_as(record, ours).assumptions
        differs = {
            each.name
            for each in fields(Assumptions)
            if getattr(made, each.name) != getattr(ours, each.name)
        }
        assert differs == set(known_runs().get(record, {}))


def test_transfers_are_met_within_a_tenth_and_without_a_start_less_well() -> None:
    ours = book_assumptions()
    with_start, without = (
        max(abs(each.error) for each in kernels.transfers(assumed))
        for assumed in (ours, kernels.without_starts(ours))
    )
    assert with_start < 0.09 < 0.15 < without
    shares = kernels.without_starts(ours).kernels["hopper"]
    assert 0.7 < shares.far < 0.85 and shares.transfer_start_s == 0
    assert shares.far < ours.kernels["hopper"].far  # a start was read as a slow link


HEADER = ",".join(decode_scores.COLUMNS)
ROW = "h200_sxm,sglang,fp8,8192,1024,8,8,32,29643.608,42.735"


def test_a_file_of_runs_is_scored_as_blind_ones(tmp_path: Path) -> None:
    """What cannot be predicted is left out, and counted by reason."""
    file = tmp_path / "runs.csv"
    odd = (
        ROW.replace("h200_sxm", "mi355x"),
        ROW.replace("fp8", "fp6"),
        ROW.replace(",8,8,32", ",8,1,32"),
        ROW.replace("42.735", "nan"),
        ROW.replace("42.735", "-"),
        ROW.replace(",8,8,32", ",8.5,8.5,32"),
    )
    file.write_text("\n".join((HEADER, ROW, *odd)))
    runs, left_out = decode_scores.read_runs(file, Status("blind", "2026-11-22"))
    assert dict(left_out) == {
        "system mi355x is not in the catalogue": 1,
        "precision fp6 has no protocol": 1,
        "attention is not data-parallel over the whole group": 1,
        "a number is not finite and positive": 1,
        "a number is missing": 1,
        "a count is not whole": 1,
    }
    (found,) = decode_scores.predictions(book_assumptions(), runs)
    (same,) = (
        each
        for each in decode_scores.predictions(book_assumptions())
        if each.run.tpot_s == 0.042735
    )
    assert found.error == pytest.approx(same.error, rel=1e-6)
    (total,) = decode_scores.scores([found])
    assert (total.status, total.n_runs) == ("blind", 1)
    file.write_text("\n".join((HEADER, ROW.replace(",8,8,32", ",8.0,8.0,32"))))
    assert decode_scores.read_runs(file, Status("blind", "2026-11-22"))[0] == runs
    file.write_text("\n".join((HEADER, *odd)))
    with pytest.raises(ValueError, match="must hold a run that can be predicted"):
        decode_scores.main(file)
    file.write_text(HEADER.replace(",ep", ""))
    with pytest.raises(ValueError, match=r"runs\.csv must have the columns ep"):
        decode_scores.read_runs(file, Status("blind", "2026-11-22"))


def test_tables_print_the_records() -> None:
    """Each error on the page is the record's, rounded to a percent."""
    ours = book_assumptions()
    printed = {str(row[0]).partition(" [")[0]: row for row in tables.points(ours).rows}
    few = {each.point.name: each.point for each in few_requests(ours)}
    told = [*predicted().values(), *(p for p in few.values() if p.status == "seen")]
    for point in told:
        assert printed[point.name][4:] == (signed(point.error), point.status)
    workers = [row for row in printed.values() if row[5] == "blind"]
    assert len(printed) == len(told) + len(workers) == 19 + 2
    full = 251.4 * 1382 * 61 * 576 * 2  # caches, beside 19 experts on a GPU of sixteen
    assert full > 0.9 * 85e9 - 19 * 58 * 3 * 7168 * 2048 - 14.5e9
    noted = [row[0] for row in tables.points(ours).rows if str(row[0])[:2] == "In"]
    assert [name for name in noted if "[" in str(name)] == [f"{noted[-2]}"]
    sorts = [
        record for record in (*DEPLOYMENTS, *SMALL_BATCHES) if "8 H" not in record.name
    ]
    assert evidence.n_workers() == len(evidence.runs()) - len(sorts)
    across = [error for place, error in scored() if place.across]
    rates = {signed(1 / (1 + error) - 1) for error in across}
    assert len(across) == 8 and rates <= {row[4] for row in printed.values()}
    assert [row[0] for row in caveat_tables.ladder().rows] == [
        each.change for each in ladder()
    ]
    gains = {found.change: found.predicted for found in ablations(ours)}
    for change, gain, _ in caveat_tables.ablated(ours).rows:
        assert gain == signed(gains[str(change)] - 1)
