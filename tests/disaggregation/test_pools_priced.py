"""What two kinds of GPU cost in two pools, by arithmetic of its own."""

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.disaggregation.worked_example import LOOSEST_S, priced
from llmserve_lab.engine import IterationLoad


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm"])
def test_times_and_dollars_are_the_engines(device: str) -> None:
    """A prompt alone, and a step of the batch that fits or keeps the promise."""
    gpu = catalog.accelerator(device)
    cost = running_example.served_by(running_example.model(), gpu)
    found = priced(device, LOOSEST_S)
    read_s = cost.seconds(IterationLoad.of(chunk=1000))
    assert found.read_ms == pytest.approx(1e3 * read_s, rel=2e-3)
    one = IterationLoad.of(chunk=1, context=1099)
    fits = cost.kv_blocks(block_tokens=1) // 1200
    kept = [n for n in range(1, fits + 1) if cost.seconds(one.times(n)) <= LOOSEST_S]
    write_s = 199 * cost.seconds(one.times(kept[-1])) / kept[-1]
    assert found.write_ms == pytest.approx(1e3 * write_s, rel=6e-3)
    usd = 1e6 * float(HOURLY[device]) / 3600 * write_s
    assert found.write_usd == pytest.approx(usd, rel=6e-3)


def test_a_stricter_promise_takes_the_gain_away() -> None:
    def saved(promise_s: float) -> float:
        new, old = (priced(key, promise_s) for key in ("h100-sxm", "a100-80-sxm"))
        return new.write_usd - old.write_usd

    assert saved(LOOSEST_S) > 0 > saved(0.015)
    with pytest.raises(LookupError, match="device must be one of a100"):
        priced("h20-sxm", LOOSEST_S)
