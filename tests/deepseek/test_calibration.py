"""Constants come from kernels run alone, from a pair of runs, and from decode runs.

Each stored record is what its fit finds, and each fit finds what it was made to find.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS, PRODUCT_RUNS, ProductRun
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.calibration import constants
from llmserve_lab.deepseek.calibration.host_time import (
    GROUPS,
    decoding_requests,
    errors_of,
    fit_host,
    leave_one_out,
    predicted_s,
    twin_of,
)
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    HEADLINES,
    PEAKS,
    blackwell,
    fit_gemm,
    gemm_s,
    hopper,
)
from llmserve_lab.deepseek.calibration.link_efficiency import (
    fit_transfers,
    link_times,
    seconds_of,
)
from llmserve_lab.deepseek.calibration.routing_balance import fit_balancedness
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.assumptions import KernelEfficiency
from llmserve_lab.deepseek.model.setup import SETUPS

PLACE = SETUPS["9 × 8 H100"]
SIZES = [56, 53_888, 289_984, 150_528]  # groups, rows, columns out, columns in


def stored(*records: Cited) -> list[float]:
    return [float(each) for each in records]


def test_the_stored_constants_are_what_the_fits_find() -> None:
    """To the digits of the records; the two of deployments each given the other."""
    ours = book_assumptions()
    for found, records in (
        (fit_gemm(), ("GEMM_FLOPS", "GEMM_READ", "GEMM_START")),
        (fit_transfers(), ("TRANSFER_START", "FAR_SHARE", "NEAR_SHARE")),
        ((fit_balancedness(ours),), ("BALANCEDNESS",)),
        ((fit_host(ours),), ("HOST",)),
    ):
        kept = stored(*(getattr(constants, name) for name in records))
        assert list(found) == pytest.approx(kept, rel=1e-5)


def test_a_fit_finds_the_host_time_that_runs_were_made_with() -> None:
    """Runs made up with a host time of six milliseconds give it back."""
    slow = replace(book_assumptions(), host_s=6e-3)
    made = [replace(run, ttft_s=1e-9) for run in DECODE_RUNS]  # none waits
    made = [replace(run, tpot_s=predicted_s(run, slow)) for run in made]
    assert fit_host(book_assumptions(), made) == pytest.approx(6e-3, rel=1e-6)
    with pytest.raises(ValueError, match="runs must be at least 1, got 0"):
        fit_host(book_assumptions(), ())


def test_a_fit_finds_the_start_and_the_rates_that_transfers_were_made_with() -> None:
    """Times made up with a known start and known shares are read off again."""
    start, far, near = 20e-6, 0.7, 0.6
    made = []
    for run in ALL_TO_ALL:
        seconds = {}
        for name, (form, _) in zip(
            ("dispatch_s", "combine_s"), seconds_of(run), strict=True
        ):
            outside, inside = link_times(run, form)
            length = start + outside / far + inside / near
            seconds[name] = replace(getattr(run, name), value=length)
        made.append(replace(run, **seconds))
    assert fit_transfers(tuple(made)) == pytest.approx((start, far, near), rel=1e-9)
    off = fit_transfers(tuple(made[:-1]))
    assert off == pytest.approx((start, far, near), rel=1e-9)


def test_one_constant_describes_decode_workers_that_it_was_not_fitted_to() -> None:
    """Whatever group is left out, the others' host time predicts it."""
    ours = book_assumptions()
    inside = np.abs(errors_of(DECODE_RUNS, ours)).mean()
    assert inside < 0.06
    for by in GROUPS:
        left = leave_one_out(ours, by)
        errors = np.concatenate([each.errors for each in left])
        assert len(errors) == len(DECODE_RUNS)
        assert np.abs(errors).mean() < 0.07 and abs(errors.mean()) < 0.03
        assert np.abs(errors).mean() >= inside * (1 - 1e-2)
        hosts = [each.host_s for each in left]
        assert max(hosts) < 2 * min(hosts)
    with pytest.raises(ValueError, match=r"by must be one of accelerator, .*'colour'"):
        leave_one_out(ours, "colour")


def test_the_fit_is_the_same_from_wherever_it_starts() -> None:
    """Twenty starts between a microsecond and a second."""
    ours = book_assumptions()
    found = [fit_host(ours, start_s=start) for start in np.geomspace(1e-6, 1.0, 20)]
    assert found == pytest.approx([ours.host_s] * 20, rel=1e-5)


def test_labels_that_are_exchanged_are_described_worse() -> None:
    """The runs' times dealt out anew: what is predicted has to do with the run."""
    ours, rng = book_assumptions(), np.random.default_rng(0)
    inside = np.abs(errors_of(DECODE_RUNS, ours)).mean()
    for _ in range(3):
        times = rng.permutation([run.tpot_s for run in DECODE_RUNS])
        runs = [
            replace(run, tpot_s=float(time))
            for run, time in zip(DECODE_RUNS, times, strict=True)
        ]
        again = replace(ours, host_s=fit_host(ours, runs))
        assert np.abs(errors_of(runs, again)).mean() > 3 * inside


def test_littles_law_holds_between_the_requests_that_decode_and_their_rate() -> None:
    """Those that decode, over a decode's time, are those that all pass, over a life."""
    for run in DECODE_RUNS:
        decode_s = (0.9 * run.output_tokens - 1) * run.tpot_s
        passing = run.requests_per_gpu / (run.ttft_s + decode_s)
        assert decoding_requests(run) / decode_s == pytest.approx(passing, rel=1e-12)
        assert decoding_requests(run) < run.requests_per_gpu


def test_a_decode_run_in_an_unknown_precision_is_refused() -> None:
    odd = replace(DECODE_RUNS[0], precision="fp6")
    with pytest.raises(ValueError, match="precision must be one of fp8, fp4, got"):
        twin_of(odd, book_assumptions())


@pytest.mark.parametrize("run", PRODUCT_RUNS)
def test_both_printed_rates_speak_of_the_same_traffic(run: ProductRun) -> None:
    """FLOP/s and byte/s were printed apart; the shapes tie them together."""
    found = float(run.bytes_per_s) * run.seconds
    assert found == pytest.approx(run.traffic_bytes, rel=0.01)


def test_the_tables_add_up_as_they_were_printed() -> None:
    """Columns added up from the page: no digit was changed on the way."""
    columns = [(r.groups, r.rows, r.n_out, r.n_in) for r in PRODUCT_RUNS]
    assert [sum(column) for column in zip(*columns, strict=True)] == SIZES
    assert sum(float(run.flops_per_s) for run in PRODUCT_RUNS) == 21_528e12
    assert sum(float(run.bytes_per_s) for run in PRODUCT_RUNS) == 42_023e9
    assert sum(map(float, CAUSAL_RUNS.values())) == (423 + 521 + 579 + 602 + 616) * 1e12


def test_no_other_rates_describe_the_kernels_better() -> None:
    """Walk away from the solution in every direction: the squares add up to more."""
    rates = np.array(fit_gemm())
    seconds = np.array([run.seconds for run in PRODUCT_RUNS])

    def squares(tried: np.ndarray) -> float:
        return float((np.log(gemm_s(*tried) / seconds) ** 2).sum())

    best = squares(rates)
    for axis in range(3):
        for step in (0.98, 1.02):
            away = rates.copy()
            away[axis] *= step
            assert squares(away) > best
    assert np.sqrt(best / len(PRODUCT_RUNS)) < 0.15


def test_a_gemm_is_charged_under_the_law_its_rates_were_fitted_under() -> None:
    """The twin's law on the 28 kernels: no bias, with a row's bytes under the root."""
    rates = stored(constants.GEMM_FLOPS, constants.GEMM_READ, constants.GEMM_START)
    compute, read, start = rates
    errors, added = [], []
    for run in PRODUCT_RUNS:
        weights = run.groups * run.n_out * run.n_in
        rows = run.traffic_bytes - weights
        parts = {"attn_gemm_compute_s": run.flops / compute}
        law = f.ATTN_GEMM_S(attn_gemm_read_s=run.traffic_bytes / read, **parts)
        apart = f.ATTN_GEMM_S(attn_gemm_read_s=weights / read, **parts) + rows / read
        errors.append(float(law) + start)
        added.append(float(apart) + start)
    seconds = np.array([run.seconds for run in PRODUCT_RUNS])
    assert abs((np.array(errors) / seconds - 1).mean()) < 0.015
    assert (np.array(added) / seconds - 1).mean() > 0.05  # as it was charged before


def test_a_round_roofline_describes_them_better_than_a_sharp_one() -> None:
    compute, read, start = fit_gemm()
    seconds = np.array([run.seconds for run in PRODUCT_RUNS])
    parts = [(run.flops / compute, run.traffic_bytes / read) for run in PRODUCT_RUNS]
    sharp = start + np.max(parts, axis=1)
    found = np.square(gemm_s(compute, read, start) - seconds).sum()
    assert found < np.square(sharp - seconds).sum()


def test_kernels_reach_less_than_their_librarys_headline() -> None:
    assert hopper().gemm < HEADLINES.gemm < PEAKS.gemm == 1
    assert hopper().memory < HEADLINES.memory == hopper().cache
    assert blackwell().attention < hopper().attention
    assert 0.3 < blackwell().attention < 0.45


def test_longer_prompts_reach_more() -> None:
    lengths = np.linspace(min(CAUSAL_RUNS), max(CAUSAL_RUNS), 50)
    shares = [hopper().attention_in(float(length)) for length in lengths]
    assert np.diff(shares).min() > 0
    assert HEADLINES.attention_in(1024) == HEADLINES.attention


def test_routing_was_uneven_and_experts_are_only_part_of_a_step() -> None:
    """A sixth of the throughput lost takes more than a sixth of the balance."""
    assert 0.6 < fit_balancedness(book_assumptions()) < 50_302 / 59_337


@pytest.mark.parametrize("name", ["attention", "memory", "near"])
def test_a_share_is_a_share(name: str) -> None:
    names = ("attention", "cache", "gemm", "memory", "far", "near")
    parts: dict[str, Any] = dict.fromkeys(names, 0.5)
    with pytest.raises(ValueError, match=rf"{name} must be a share in \(0, 1\], got 2"):
        KernelEfficiency(name="wrong", **(parts | {name: 2.0}))
    with pytest.raises(ValueError, match="launch_s must be at least 0 s, got -1"):
        KernelEfficiency(name="wrong", launch_s=-1, **parts)
    with pytest.raises(ValueError, match="transfer_start_s must be at least 0 s, got"):
        KernelEfficiency(name="wrong", transfer_start_s=float("nan"), **parts)
