"""FP8 on one H100: the gains of the page, from the runs themselves."""

import pytest

from llmserve_lab.catalog.evidence.one_h100 import passes
from llmserve_lab.quantization.on_one_gpu import gains, gains_table


def test_a_gain_is_the_mean_of_both_runs_over_the_one_in_eight_bits() -> None:
    found = {each.run.decodes: each for each in gains() if not each.run.chunk}
    for batch, gain in found.items():
        wide, narrow = (
            [
                float(run.seconds)
                for run in passes()
                if run.precision == precision
                and (run.decodes, run.context, run.chunk) == (batch, 1100, 0)
            ]
            for precision in ("bf16", "fp8")
        )
        assert len(wide) == 2 and len(narrow) == 1
        assert gain.measured == pytest.approx(sum(wide) / 2 / narrow[0])
    assert sorted(found) == [1, 16, 64, 128, 256]


def test_more_requests_gain_less_measured_and_priced() -> None:
    steps = [each for each in gains() if not each.run.chunk]
    for kind in ("measured", "formula"):
        found = [getattr(each, kind) for each in steps]
        assert found == sorted(found, reverse=True)
        assert all(1 < each < 2 for each in found)


def test_the_formula_is_below_what_a_gpu_by_itself_gains() -> None:
    """The fitted machine has a server's time for layers and requests in it."""
    assert all(each.formula < each.measured for each in gains())
    assert len(gains_table().rows) == 7
