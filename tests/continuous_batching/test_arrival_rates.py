"""What the picture of arrival rates says: until where a server keeps up."""

from __future__ import annotations

import pytest

from llmserve_lab.continuous_batching import arrival_rates
from llmserve_lab.continuous_batching.workloads import crowd


@pytest.mark.long
@pytest.mark.parametrize("name", arrival_rates.policies())
def test_a_server_delivers_what_is_asked_for_until_it_is_saturated(name: str) -> None:
    most, delivered = arrival_rates.saturation(name), arrival_rates.sweep(name)
    answers = [each.output_len for each in crowd(per_s=1.0, num_requests=4000)]
    mean = sum(answers) / len(answers)
    kept = 0
    for per_s, found in zip(arrival_rates.RATES, delivered, strict=True):
        asked = per_s * mean
        # Arrivals scatter, and the last requests leave places empty.
        assert found == pytest.approx(min(asked, most), rel=0.06), per_s
        kept += asked < most
    assert 0 < kept < len(delivered)  # each has its knee within the picture


@pytest.mark.parametrize("batch", [1, 2, 8, 32])
def test_the_more_share_a_static_batch_the_more_of_it_idles(batch: int) -> None:
    """The longest of n exponential answers lasts 1 + 1/2 + … + 1/n means."""
    longest = sum(1 / place for place in range(1, batch + 1))
    assert arrival_rates.idle_of_geometric(batch) == pytest.approx(
        1 - 1 / longest, abs=0.03
    )


@pytest.mark.long
def test_the_first_rate_that_is_too_high_is_the_one_that_is_named() -> None:
    """Below it all is delivered that is asked for, and from it on less and less."""
    late, found = arrival_rates.first_late(), arrival_rates.sweep("static")
    run = arrival_rates.served("static", late)
    asked = float(run.output_len.sum()) / float(run.arrival_s.max())
    assert run.throughput_tokens_per_s < 0.95 * asked
    before = arrival_rates.RATES[arrival_rates.RATES.index(late) - 1]
    run = arrival_rates.served("static", before)
    asked = float(run.output_len.sum()) / float(run.arrival_s.max())
    assert run.throughput_tokens_per_s > 0.97 * asked
    assert len(found) == len(arrival_rates.RATES) and late > 3.0
