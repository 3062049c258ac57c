"""The band of the twin: made of scores, nearest first, none far from all runs."""

import pytest

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import bands, predictions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.formula.band import Band, Unmeasured

HERE = DecodeSetting(accelerator="h100-sxm", ep=72, batch=128, context=4096)


def test_every_decode_that_was_measured_is_scored_once() -> None:
    decodes = [p for p in predictions.points(book_assumptions()) if p.batch is not None]
    assert len(bands.scored()) == len(DECODE_RUNS) + len(decodes)
    # The rate of a deployment is one over its step, so that its error is as well.
    steps = sorted(error for _, error in bands.scored()[len(DECODE_RUNS) :])
    rates = sorted(1 / (1 + p.error) - 1 for p in decodes)
    assert steps == pytest.approx(rates)


def test_a_band_holds_the_error_of_the_run_that_it_stands_on() -> None:
    for place, error in bands.scored():
        found = band("decode_step", place)
        assert isinstance(found, Band) and found.n == bands.NEAREST
        assert found.low <= error <= found.high


def test_the_band_s_ends_are_errors_of_the_nearest_runs() -> None:
    near = bands.nearest(HERE)
    found = band("decode_step", HERE)
    assert isinstance(found, Band) and len(near) == bands.NEAREST == found.n
    assert {found.low, found.high} <= {error for _, error in near}
    rest = [run for run in bands.scored() if run not in near]
    farthest = max(bands._distance(place, HERE) for place, _ in near)
    assert all(bands._distance(place, HERE) >= farthest for place, _ in rest)


def test_a_rate_has_the_inverse_band_of_its_step() -> None:
    step = band("decode_step", HERE)
    assert band("gpu_tokens_per_s", HERE) == step.inverse()
    assert band("user_tokens_per_s", HERE) == step.inverse()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"batch": 1.0}, "1 requests on a GPU, far below"),
        ({"batch": 1e5}, "100,000 requests on a GPU, far above"),
        ({"ep": 320}, "a group of 320 GPUs, far above 144"),
        ({"context": 1e6}, "a context of 1,000,000 tokens, far above"),
        ({"accelerator": "a100-80-sxm"}, "architecture ampere; measured: blackwell"),
    ],
)
def test_far_from_all_runs_there_is_no_band(
    change: dict[str, object], reason: str
) -> None:
    setting = DecodeSetting(**{**vars(HERE), **change})
    found = band("decode_step", setting)
    assert isinstance(found, Unmeasured) and found.reason.startswith(reason)


def test_no_number_no_band() -> None:
    with pytest.raises(ValueError, match="batch must be"):
        DecodeSetting(accelerator="h100-sxm", ep=72, batch=0.0, context=4096)
    with pytest.raises(
        LookupError, match=r"kind must be one of decode_step, .* 'ttft'"
    ):
        band("ttft", HERE)
