"""Axes take title, unit and factor from their quantity; what would lie is not built."""

import pytest

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.readout import Bound
from llmserve_lab.page.palette import BLUE
from llmserve_lab.roofline import formulas as f
from tests.formula.javascript import evaluate

TIME = QuantityAxis(q.iteration_s, "ms", words="time of an iteration")
CONTEXT = QuantityAxis(q.context, domain=(64, 1e6), log=True)


def test_title_and_unit_are_those_of_the_quantity() -> None:
    assert QuantityAxis(q.intensity).title == "arithmetic intensity (FLOP/byte)"
    assert TIME.title == "time of an iteration (ms)"
    channel = QuantityAxis(q.attainable_flops, "TFLOP/s", domain=(1, 100)).on(
        "y", "roof"
    )
    assert channel.to_dict()["title"] == "compute under the roof (TFLOP/s)"
    assert channel.to_dict()["scale"] == {"domain": [1, 100], "nice": False}


def test_what_is_drawn_is_in_the_unit_of_the_title() -> None:
    assert evaluate(TIME.reads(q.weights_s), weights_s=0.004) == pytest.approx(4)
    signals = {"eff_mem": 1.0, "hbm_bw": 2e12, "intensity": 3.0, "peak_flops": 1e15}
    signals["eff_compute"] = 1.0
    for source in (f.ATTAINABLE_FLOPS, Bound(f.ATTAINABLE_FLOPS)):
        drawn = QuantityAxis(q.attainable_flops, "TFLOP/s").draws(source)
        assert evaluate(drawn, **signals) == pytest.approx(6)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: QuantityAxis(q.iteration_s, "byte"), "must be in byte .*got s"),
        (lambda: QuantityAxis(q.intensity, "byte/FLOP"), "must be in byte/FLOP"),
        (
            lambda: QuantityAxis(q.iteration_s, words="intensity"),
            "must name it .*'intensity'",
        ),
        (
            lambda: QuantityAxis(q.intensity, log=True),
            "needs a domain above 0, got None",
        ),
        (lambda: TIME.draws(f.INTENSITY), "shows intensity must be in ms"),
        (lambda: TIME.reads(q.kv_s, "weights_s"), "called like kv_s, got 'weights_s'"),
        (
            lambda: bound_curves(
                CONTEXT,
                TIME,
                Drawn("read the weights", f.KV_S, BLUE),
                Drawn("read the KV cache", f.WEIGHTS_S, BLUE),
            ),
            "names of marks must fit .*'read the weights' for .*kv",
        ),
        (
            lambda: bound_curves(
                QuantityAxis(q.context), TIME, Drawn("", f.KV_S, BLUE)
            ),
            "the axis of context needs a domain",
        ),
    ],
)
def test_what_would_lie_is_not_built(build: object, says: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=says):
        build()
