"""What a report says, against lists and loops; how a run is watched and stopped."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.engine.metrics import tbt_histogram
from llmserve_lab.engine.metrics.suffix_max import SuffixMax
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram

COST = IterationCost(row_s=1e-4, weights_s=5e-3, kv_token_s=1e-6)
POOL = Pool(COST, Chunked(64), kv_blocks=400)


def stream(count: int, *, every_s: float = 0.05) -> Iterator[Request]:
    for number in range(count):
        yield Request(
            arrival_s=every_s * number,
            prompt_len=30 + number % 50,
            output_len=1 + number % 23,
            id=number,
        )


@pytest.fixture(scope="module")
def report() -> Report:
    return simulate(stream(100), POOL)


@pytest.mark.parametrize("method", ["linear", "inverted_cdf"])
def test_percentiles_are_those_of_the_sorted_list(report: Report, method: Any) -> None:
    lengths, counts = report.gaps.values()
    one_by_one = np.repeat(lengths, counts.astype(int))
    for q in (0, 1, 37.123, 50, 90, 99, 99.9, 100):
        expected = np.percentile(one_by_one, q, method=method)
        found = report.percentile("tbt", q, method=method)
        assert found == pytest.approx(expected, rel=1e-12)
        found = report.percentile("latency", q, method=method)
        assert found == np.percentile(report.latency_s, q, method=method)
    middle = sorted(report.ttft_s)[49:51]
    halves = {"linear": sum(middle) / 2, "inverted_cdf": middle[0]}
    found = report.percentile("ttft", 50, method=method)
    assert found == pytest.approx(halves[method], rel=1e-15)
    assert report.percentile("latency", 100) == max(report.latency_s)


@given(
    gaps=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1),
    q=st.floats(0, 100),
)
def test_a_histogram_interpolates_as_the_list_of_its_gaps_does(
    gaps: list[tuple[int, int]], q: float
) -> None:
    histogram = TbtHistogram()
    for length_s, times in gaps:
        histogram.add(length_s, times=times)
    one_by_one = [length for length, times in gaps for _ in range(times)]
    expected = np.percentile(one_by_one, q)
    assert histogram.percentile(q) == pytest.approx(expected, rel=1e-12)


def test_the_mean_time_per_token_is_the_mean_gap(report: Report) -> None:
    spans_s = (report.tpot_s * (report.output_len[report.output_len > 1] - 1)).sum()
    assert spans_s == pytest.approx(report.gaps.total_s)
    assert (report.tpot_s <= report.worst_gap_s[report.output_len > 1] + 1e-12).all()


def test_goodput_counts_who_kept_all_limits(report: Report) -> None:
    ttft_s, gap_s = report.percentile("ttft", 60), float(sorted(report.worst_gap_s)[60])
    good = sum(
        first <= ttft_s + 1e-9 and worst <= gap_s + 1e-9
        for first, worst in zip(report.ttft_s, report.worst_gap_s, strict=True)
    )
    assert 0 < good < 100
    rate = report.goodput(ttft_s=ttft_s, tbt_s=gap_s)
    assert rate == pytest.approx(good / report.elapsed_s)
    assert report.goodput(ttft_s=99) == report.requests_per_s
    assert report.goodput(ttft_s=99, tpot_s=0.0) < report.requests_per_s
    assert report.goodput(ttft_s=99, tpot_s=99) == report.requests_per_s
    share = report.slo_attainment(ttft_s=ttft_s, tbt_s=gap_s)
    assert share == good / 100
    slowest_s = float(report.latency_s.max())
    assert report.slo_attainment(latency_s=slowest_s) == 1
    assert report.slo_attainment(latency_s=slowest_s * 0.999) < 1
    assert report.goodput() == report.requests_per_s
    ones = float((report.output_len == 1).mean())  # as vLLM: they keep any limit
    assert 0 < report.slo_attainment(tpot_s=0.0) == ones
    with pytest.raises(
        ValueError, match=r"limit must be one of ttft_s, .* got 'itl_s'"
    ):
        report.goodput(itl_s=1.0)


def test_rates_and_shares(report: Report) -> None:
    tokens = sum(request.output_len for request in stream(100))
    per_s = report.throughput_tokens_per_s
    assert per_s == pytest.approx(tokens / report.elapsed_s)
    use = report.pools["pool"]
    assert 0 < use.compute_utilisation < use.utilisation < 1
    assert use.memory_utilisation < use.utilisation
    assert 0 < use.kv_occupancy < use.kv_peak < 1
    assert use.iterations == report.iterations


def test_it_prints_as_a_table(report: Report) -> None:
    text = repr(report)
    for words in ("100 requests in", "TTFT", "TBT", "TPOT", "p99", "tokens/s"):
        assert words in text
    assert "<table" in report._repr_html_()


def test_many_gaps_are_poured_into_narrow_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = simulate(stream(400), POOL).gaps
    monkeypatch.setattr(tbt_histogram, "MOST_RUNS", 50)
    binned = simulate(stream(400), POOL).gaps
    assert binned.count == exact.count
    assert binned.values()[1].sum() == exact.count
    assert binned.total_s == exact.total_s and binned.longest_s == exact.longest_s
    for q in (1, 50, 99, 99.9):
        assert binned.percentile(q) == pytest.approx(exact.percentile(q), rel=6e-4)
    assert len(binned._runs) < 4 * 50


def test_a_run_of_gaps_is_its_gaps() -> None:
    tally = TbtHistogram()
    tally.add(1.0, slope_s=0.5, count=3, times=2)
    tally.add(1.5)
    lengths, counts = tally.values()
    assert list(np.repeat(lengths, counts.astype(int))) == [1, 1, 1.5, 1.5, 1.5, 2, 2]
    assert (tally.count, tally.total_s, tally.longest_s) == (7, 10.5, 2.0)
    with pytest.raises(ValueError, match=r"q must be in \[0, 100\], got 101"):
        tally.percentile(101)
    with pytest.raises(ValueError, match="at least one gap"):
        TbtHistogram().percentile(50)


def test_the_highest_since_is_found_without_looking_at_all() -> None:
    values = [3, 1, 4, 1, 5, 2, 2, 1]
    peaks = SuffixMax()
    for tick, value in enumerate(values):
        peaks.push(tick, value)
        for since in range(tick + 1):
            assert peaks.highest_since(since) == max(values[since : tick + 1])
    with pytest.raises(ValueError, match="not be after the last value, got 99"):
        peaks.highest_since(99)


def test_a_stopped_run_keeps_what_it_has() -> None:
    looks: list[float] = []

    def enough(now_s: float) -> bool:
        looks.append(now_s)
        return now_s > 20

    stopped = simulate(stream(10_000), POOL, stop=enough)
    assert stopped.stopped and looks == sorted(looks)
    assert 390 < stopped.num_requests <= 401
    assert 20 < stopped.elapsed_s == looks[-1] < 20.05
    assert simulate(stream(5), POOL, stop=lambda now_s: True).num_requests == 0
    assert "(stopped)" in repr(stopped)


def test_a_run_that_is_interrupted_keeps_what_it_has() -> None:
    def interrupted() -> Iterator[Request]:
        yield from stream(200)
        raise KeyboardInterrupt

    report = simulate(interrupted(), POOL)
    assert report.stopped and 150 < report.num_requests <= 200


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(list(stream(50)), POOL, progress=True)
    assert "50/50" in capsys.readouterr().err


def test_nothing_asked_is_nothing_done() -> None:
    empty = simulate([], POOL)
    assert empty.num_requests == 0 == empty.throughput_tokens_per_s
    with pytest.raises(ValueError, match="ttft must have at least one value"):
        empty.percentile("ttft", 50)
    assert "0 requests" in repr(empty)


def test_long_times_are_told_in_seconds() -> None:
    rare = replace(next(stream(1)), arrival_s=7_200.0)
    assert "in 7,20" in simulate([rare], POOL).table().caption


def test_one_run_is_like_the_other() -> None:
    one, two = (simulate(stream(60), Pool(COST, Continuous(), 2, 99)) for _ in "12")
    assert np.array_equal(one.finished_s, two.finished_s)
    assert repr(one) == repr(two)
