"""Decode runs that were predicted blind: the rule, the score of that day, its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from statistics import fmean

import numpy as np
import pytest

from decode_rows import chosen
from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS, OPENED
from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS, DecodeRun
from llmserve_lab.deepseek.calibration.host_time import errors_of, predicted_s
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.deepseek.evaluation.decode_scores import SYSTEMS
from llmserve_lab.deepseek.page import blind_table
from llmserve_lab.formula.text import signed

# Errors in per cent as they were printed when the runs were opened, in their order.
THAT_DAY = (
    -19.1, -4.5, 7.4, -7.4, -4.5, -7.0, 8.1, 18.1, 17.7, -9.3, 11.0, 21.0, -8.7, -22.0,
    27.7, -3.5, -7.6, 71.8, -10.4, 0.9, 3.3, -6.7, 7.1, 17.2, 17.9, 22.4, -20.3, -19.4,
    -11.9, 8.9,
)  # fmt: skip
PUBLISHED = {key: name for name, key in SYSTEMS.items()}  # what the suite calls them


def test_the_errors_are_those_of_the_day_on_which_the_runs_were_opened() -> None:
    found = [100 * each.error for each in blind_runs.blind()]
    assert found == pytest.approx(THAT_DAY, abs=0.051)
    total = blind_runs.blind_score()
    assert (total.n_runs, total.status) == (30, "blind")
    assert round(100 * total.mean_error, 1) == 14.1
    assert round(100 * total.bias, 1) == 3.3
    assert total.mean_error == pytest.approx(fmean(abs(e) for e in found) / 100)
    assert total.mean_error <= blind_runs.GOAL
    assert abs(total.bias) <= blind_runs.GOAL_BIAS


def test_they_are_seen_from_that_day_on() -> None:
    assert {run.status for run in BLIND_RUNS} == {OPENED}
    assert (OPENED.kind, OPENED.date) == ("seen", "2026-11-28")


def test_runs_drawn_anew_have_a_mean_error_within_its_interval() -> None:
    sizes = np.abs([each.error for each in blind_runs.blind()])
    draws = np.random.default_rng(7).integers(0, len(sizes), (3000, len(sizes)))
    ends = np.percentile(sizes[draws].mean(axis=1), [2.5, 97.5])
    found = blind_runs.blind_score().mean_interval
    assert found == pytest.approx(ends, abs=0.005)
    assert found[0] < blind_runs.GOAL < found[1]  # so that another thirty may miss it


def test_times_exchanged_at_random_are_predicted_far_worse() -> None:
    made = np.array([each.predicted_s for each in blind_runs.blind()])
    times = np.array([run.tpot_s for run in BLIND_RUNS])
    rng = np.random.default_rng(3)
    mixed = [np.abs(made / rng.permutation(times) - 1).mean() for _ in range(200)]
    assert min(mixed) > 2 * blind_runs.blind_score().mean_error


def as_answered(run: DecodeRun) -> Mapping[str, object]:
    """A stored run as the suite's site answers it."""
    system = PUBLISHED[run.accelerator]
    gpus = 96  # a multiple of every group
    metrics = {"ttft": run.ttft_s, "tpot": run.tpot_s}
    return {
        "model": "dsr1", "hardware": system.removesuffix("_sxm"),
        "framework": {"trtllm": "dynamo-trt", "sglang": "dynamo-sglang"}[run.engine],
        "precision": run.precision, "isl": run.prompt_tokens, "osl": run.output_tokens,
        "disagg": True, "spec_method": "none", "decode_dp_attention": True,
        "decode_tp": run.ep, "decode_ep": run.ep, "num_decode_gpu": gpus,
        "conc": gpus * run.requests_per_gpu, "prefill_tp": 4, "num_prefill_gpu": 8,
        "date": run.date,
        "metrics": {f"{run.statistic}_{name}": s for name, s in metrics.items()},
    }  # fmt: skip


def test_every_stored_run_is_taken_by_the_rule_and_only_once() -> None:
    taken = chosen([[as_answered(run) for run in BLIND_RUNS]])
    assert len(taken) == len(BLIND_RUNS) == len({run.name for run in BLIND_RUNS})
    wanted = {
        (PUBLISHED[run.accelerator], run.engine, f"{1e3 * run.tpot_s:.6g}", run.date)
        for run in BLIND_RUNS
    }
    assert {(row[0], row[1], row[9], row[11]) for row in taken} == wanted
    assert chosen([[as_answered(run) for run in DECODE_RUNS]]) == []


def test_every_run_is_of_the_suite_s_winter() -> None:
    assert all("2025-12" <= run.date < "2026-04" for run in BLIND_RUNS)
    assert {run.statistic for run in BLIND_RUNS} == {"mean", "median"}


def test_parts_hold_each_run_once_and_add_up_to_the_whole() -> None:
    whole = blind_runs.blind_score()
    for found in blind_runs.parts().values():
        n = [each.n_runs for each in found.values()]
        assert sum(n) == whole.n_runs
        means = [each.mean_error for each in found.values()]
        assert np.average(means, weights=n) == pytest.approx(whole.mean_error)
    gpus, loads = (blind_runs.parts()[by] for by in ("GPU", "requests on a GPU"))
    assert {name: each.n_runs for name, each in gpus.items()} == {
        "GB200": 21, "B200": 5, "H100": 2, "H200": 2,
    }  # fmt: skip
    assert gpus["H100"].bias < -0.19
    assert list(loads) == ["fewer than 32", "32 to 128", "128 and more"]
    biases = [each.bias for each in loads.values()]
    assert biases == sorted(biases, reverse=True) and biases[0] > 0.15 > 0 > biases[-1]
    for by in ("engine", "weights"):
        assert all(each.mean_error < 0.18 for each in blind_runs.parts()[by].values())


def test_what_is_said_of_the_misses() -> None:
    far = blind_runs.farthest()
    assert far.run.requests_per_gpu == min(run.requests_per_gpu for run in BLIND_RUNS)
    h100 = [each.error for each in blind_runs.blind() if "h100" in each.run.name]
    assert len(h100) == 2 and max(h100) < -0.19 and min(h100) > -0.21
    fitted = {run.accelerator for run in DECODE_RUNS}
    assert "h100-sxm" not in fitted


def test_a_median_is_no_reason_of_the_result() -> None:
    """Of runs with means alone the error is hardly another."""
    ours = book_assumptions()
    of: dict[str, Sequence[float]] = {
        kind: errors_of([run for run in BLIND_RUNS if run.statistic == kind], ours)
        for kind in ("mean", "median")
    }
    sizes = {kind: fmean(map(abs, errors)) for kind, errors in of.items()}
    assert abs(sizes["mean"] - sizes["median"]) < 0.05
    one = replace(BLIND_RUNS[0], statistic="mean")
    assert predicted_s(one, ours) == predicted_s(BLIND_RUNS[0], ours)


def test_the_table_prints_the_scores() -> None:
    rows = blind_table.blind().rows
    assert str(rows[0][3]).startswith("13.1") and str(rows[0][4]) == "−0.4 %"
    printed = {(str(row[0]), str(row[1])): row for row in rows}
    for by, found in blind_runs.parts(rates=True).items():
        for name, each in found.items():
            row = printed[by, name]
            assert str(row[2]) == str(each.n_runs)
            assert str(row[5]) == signed(each.worst)


@pytest.mark.parametrize(
    ("column", "checked"),
    [
        ("ep", 9200.0),
        ("prompt_tokens", 2002944.0),
        ("output_tokens", 1035264.0),
        ("requests_per_gpu", 70212.94166666667),
        ("ttft_s", 5749.115662),
        ("tpot_s", 17.798319),
    ],
)
def test_no_digit_of_a_run_was_mistyped(column: str, checked: float) -> None:
    """Sums over the runs, each times its place, as the chosen table had them."""
    found = fsum(i * getattr(run, column) for i, run in enumerate(BLIND_RUNS, 1))
    assert found == pytest.approx(checked, rel=1e-12)


def test_errors_of_rates_are_those_of_tokens_per_second() -> None:
    """Run by run, and of each part of the table; the goals are those of the step."""
    errors = []
    for each in blind_runs.blind():
        made, real = (each.requests / s for s in (each.predicted_s, each.measured_s))
        assert each.rate_error == pytest.approx(made / real - 1)
        errors.append(made / real - 1)
    whole = blind_runs.blind_score(rates=True)
    assert whole.mean_error == pytest.approx(np.abs(errors).mean())
    assert whole.bias == pytest.approx(np.mean(errors))
    for found in blind_runs.parts(rates=True).values():
        sizes = [(each.bias, each.n_runs) for each in found.values()]
        total = sum(bias * n for bias, n in sizes) / whole.n_runs
        assert total == pytest.approx(whole.bias)
