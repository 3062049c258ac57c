"""The engine beside a measured goodput: what is stored is what it does."""

import pytest

from llmserve_lab.capacity import measured, mlperf


def test_the_measured_run_keeps_its_promise_and_hardly_more() -> None:
    run, promise = mlperf.MEASURED, mlperf.PROMISE
    assert 0.95 * promise.ttft_s < run.ttft99_s <= promise.ttft_s
    assert run.tpot99_s <= promise.tpot_s and run.per_s <= mlperf.ARRIVED


def test_latencies_of_the_log_add_up() -> None:
    """Its mean latency is the first token and a mean TPOT for each further one."""
    run = mlperf.MEASURED
    total_s = run.ttft_s + (mlperf.ANSWER - 1) * run.tpot_s
    assert total_s == pytest.approx(3.3178, rel=1e-3)
    assert run.per_s * mlperf.ANSWER == pytest.approx(5103.99, rel=1e-3)


@pytest.mark.long
def test_the_promise_breaks_at_the_stored_goodput() -> None:
    rate = mlperf.goodput()
    assert mlperf.keeps(mlperf.at(0.98 * rate))
    assert not mlperf.keeps(mlperf.at(1.02 * rate))


def test_at_the_stored_rate_the_tpot_is_the_measured_one() -> None:
    found = mlperf.at(mlperf.rate_at_tpot()).tpot_s.mean()
    assert found == pytest.approx(mlperf.MEASURED.tpot_s, rel=0.03)


def test_the_error_of_the_rate_lies_within_the_band_of_the_page() -> None:
    low, high = measured.rate_error()
    assert low <= mlperf.error_at_tpot() <= high
    assert mlperf.off(-0.004) == "−0.4%" and mlperf.off(0.087) == "+9%"
