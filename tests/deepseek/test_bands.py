"""The band of the twin: made of scores, nearest first, none far from all runs."""

import pytest

from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import bands, predictions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.blind_runs import blind
from llmserve_lab.deepseek.evaluation.caveats import few_requests
from llmserve_lab.deepseek.model.setup import Setup, setup
from llmserve_lab.formula.band import Band, Unmeasured

HERE = DecodeSetting(accelerator="h100-sxm", ep=72, batch=128, context=4096)


def setup_of(place: DecodeSetting) -> Setup:
    return setup(place.accelerator, place.ep)


def test_every_decode_that_was_measured_is_scored_once() -> None:
    decodes = [p for p in predictions.points(book_assumptions()) if p.batch is not None]
    decodes += [
        each.point
        for each in few_requests(book_assumptions())
        if each.point.status == "seen"
    ]
    scored = bands.scored()
    n_blind = len(BLIND_RUNS)
    known = len(DECODE_RUNS) + len(decodes)
    assert len(scored) == known + n_blind == len(set(scored))
    # The rate of a deployment is one over its step, so that its error is as well.
    steps = sorted(error for _, error in scored[len(DECODE_RUNS) : known])
    rates = sorted(1 / (1 + p.error) - 1 for p in decodes)
    assert steps == pytest.approx(rates)
    assert [error for _, error in scored[known:]] == [e.error for e in blind()]


def test_a_band_holds_the_error_of_the_run_that_it_stands_on() -> None:
    for place, error in bands.scored():
        found = band("decode_step", place)
        assert isinstance(found, Band)
        assert found.low <= error <= found.high


def test_across_nodes_the_band_holds_the_errors_of_all_eight_runs() -> None:
    near = [run for run in bands.scored() if setup_of(run[0]).n_nodes > 1]
    found = band("decode_step", HERE)
    assert isinstance(found, Band) and len(near) == 8 == found.n
    assert (found.low, found.high) == (min(e for _, e in near), max(e for _, e in near))
    assert found.low < -0.1 and found.high > 0.1  # both ways
    assert "across nodes" in found.regime


@pytest.mark.parametrize("ep", [16, 32, 72, 256])
def test_the_band_does_not_move_with_the_batch_or_the_group(ep: int) -> None:
    """So that two predictions for groups across nodes can be compared."""
    known = band("decode_step", HERE)
    for batch in (8.0, 66.0, 256.0):
        asked = DecodeSetting(
            accelerator="h100-sxm", ep=ep, batch=batch, context=4000.0
        )
        assert band("decode_step", asked) == known


def test_inside_a_node_or_rack_only_runs_inside_one_count() -> None:
    sizes = {"h100-sxm": 8, "gb200-nvl72": 72}
    for accelerator, ep in sizes.items():
        at = DecodeSetting(accelerator=accelerator, ep=ep, batch=64, context=4000)
        runs = bands.alike(at)
        assert {place.architecture for place, _ in runs} == {at.architecture}
        assert {setup_of(place).n_nodes for place, _ in runs} == {1.0}


def test_blind_errors_are_in_the_band_of_runs_alike() -> None:
    """The farthest of all sets an end of the band, both H100s another one."""
    rack = DecodeSetting(accelerator="gb200-nvl72", ep=32, batch=64, context=4000)
    found, farthest = band("decode_step", rack), max(e.error for e in blind())
    assert isinstance(found, Band) and found.high == farthest
    assert found.low == min(e.error for e in blind() if "b200-" in e.run.accelerator)
    across = band("decode_step", HERE)
    assert isinstance(across, Band)
    assert across.low == min(e.error for e in blind() if "h100-" in e.run.accelerator)


def test_a_rate_has_the_inverse_band_of_its_step() -> None:
    step = band("decode_step", HERE)
    assert band("gpu_tokens_per_s", HERE) == step.inverse()
    assert band("user_tokens_per_s", HERE) == step.inverse()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"batch": 0.5}, "0.5 requests on a GPU, far below"),
        ({"batch": 1e5}, "100,000 requests on a GPU, far above 480"),
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
