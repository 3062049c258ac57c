"""A live figure: NumPy and the browser agree, and the output never varies."""

import itertools
import json
import random
import re
from typing import Any

import pytest

from llmserve_lab import notation as q
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Readout
from tests.formula.example import INTENSITY, RIDGE, example
from tests.formula.javascript import evaluate

UNITS = ["byte", "byte/s", "FLOP/s", "s", "token", "request", "token/request",
         "FLOP/byte", "dimensionless", "", "1/s", "byte/(token*layer)"]  # fmt: skip


@pytest.fixture(scope="module")
def figure() -> LiveFigure:
    return example()


def states(figure: LiveFigure) -> list[dict[str, Any]]:
    """Every combination of stops and options that exists."""
    turned = [c for c in figure.controls if not isinstance(c, Lookup)]
    axes = [c.stops if isinstance(c, Slider) else c.options for c in turned]
    names = [c.name for c in turned]
    found = [dict(zip(names, s, strict=True)) for s in itertools.product(*axes)]
    return [s for s in found if (s["device"], s["precision"]) != ("old", "8 bit")]


def in_browser(figure: LiveFigure, settings: dict[str, Any]) -> dict[str, float]:
    """The signals as their expressions give them, in the order of the parameters."""
    turned = {c.name: c for c in figure.controls if not isinstance(c, Lookup)}
    known: dict[str, float] = {}
    for param in figure.spec["params"]:
        name = param["name"]
        if name in turned:
            known[name] = turned[name].signal(settings[name])
        else:
            known[name] = evaluate(param["expr"], **known)
    return known


def test_the_browser_computes_what_numpy_computes(figure: LiveFigure) -> None:
    for settings in random.Random(1).sample(states(figure), 40):
        want, found = figure.values(**settings), in_browser(figure, settings)
        assert found == pytest.approx(want, rel=1e-12)


def test_numbers_are_printed_alike_in_python_and_javascript() -> None:
    draw = random.Random(2)
    values = [draw.choice((1, -1)) * 10 ** draw.uniform(-13, 19) for _ in range(600)]
    values += [0, 1, 0.5, 2.5, 12.5, 999.5, 9995, 9999.5, 99950, 1e7, 9999999.5, 4096]
    values += [float(draw.randrange(10**6)) / 8 for _ in range(200)]
    cases = [(v, draw.choice(UNITS), draw.choice((1, 2, 3, 4, 6))) for v in values]
    found = evaluate("cases.map(c => window.llmserveLive.si(...c))", cases=cases)
    assert found == [si(v, u, d) for v, u, d in cases]


def test_what_is_not_finite_is_said_in_words() -> None:
    assert evaluate("[1/0, 0/0].map(v => window.llmserveLive.si(v))") == 2 * [
        "no value here"
    ]


def test_the_sentence_states_the_numbers_of_its_settings(figure: LiveFigure) -> None:
    known = figure.values(batch=4.0, model="large")
    caption = figure.caption(batch=4.0, model="large")
    number = si(known["intensity"], "FLOP/byte", 2)
    assert caption == f"At batch 4 requests, large on new does {number}: memory-bound."


def test_a_bound_argument_replaces_a_signal(figure: LiveFigure) -> None:
    known = figure.values()
    assert known["empty"] == figure.values(context=1.0)["intensity"]
    assert known["empty"] > known["intensity"]


def test_output_is_the_same_every_time_and_small(figure: LiveFigure) -> None:
    first, again = figure._repr_mimebundle_(), example()._repr_mimebundle_()
    assert first == again
    assert len(first["text/html"].encode()) < 25_000
    assert first["text/plain"] == figure.caption()


def test_the_page_holds_picture_sentence_and_data(figure: LiveFigure) -> None:
    html = figure._repr_mimebundle_()["text/html"]
    assert re.search(r'role="img" aria-label="At batch 32 requests[^"]*"><svg', html)
    assert 'aria-label="Settings: ' in html and "hidden>" in html
    found = re.search(r'class="live-data">(.*?)</script>', html, re.S)
    assert found and json.loads(found.group(1))["spec"] == json.loads(
        json.dumps(figure.spec)
    )
    identifiers = re.findall(r' id="([^"]+)"', html)
    assert len(identifiers) == len(set(identifiers))


def test_data_cannot_close_its_script() -> None:
    html = example(sentence="</script>{batch}")._repr_mimebundle_()["text/html"]
    assert html.count("</script>") == html.count("<script") == 2


def test_a_combination_that_does_not_exist_is_refused(figure: LiveFigure) -> None:
    with pytest.raises(ValueError, match="peak_flops has no value"):
        figure.values(device="old", precision="8 bit")


def test_an_unknown_control_is_named(figure: LiveFigure) -> None:
    with pytest.raises(TypeError, match="no control chunk; it has batch, context"):
        figure.values(chunk=3)


def test_a_signal_that_nothing_sets_is_named() -> None:
    controls = (Slider(q.batch, (1.0, 2.0), 1.0),)
    lonely = example(controls=controls, derived={}, readouts=(Readout(RIDGE, "ridge"),))
    with pytest.raises(ValueError, match="ridge needs the signals hbm_bw, peak_flops"):
        lonely.values()


def test_two_signals_of_one_name_are_refused() -> None:
    readouts = (Readout(INTENSITY, "a", name="batch"),)
    with pytest.raises(ValueError, match=r"must differ, got \['batch'\]"):
        example(readouts=readouts)


def test_a_chart_of_several_views_is_refused() -> None:
    import altair as alt

    def two() -> Any:
        return alt.hconcat(*[alt.Chart(alt.sequence(0, 2)).mark_point()] * 2)

    with pytest.raises(ValueError, match="must be one view"):
        _ = example(chart=two).spec


@pytest.mark.parametrize(
    ("stops", "default", "message"),
    [
        ((2.0, 1.0), 1.0, "stops of batch must rise"),
        ((1.0,), 1.0, "stops of batch must rise"),
        ((1.0, 2.0), 3.0, "default of batch must be one of 1.0, 2.0, got 3.0"),
        ((0.0, 2.0), 2.0, "batch must be positive"),
    ],
)
def test_bad_stops_are_named(stops: Any, default: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Slider(q.batch, stops, default)


def test_bad_choices_are_named() -> None:
    with pytest.raises(ValueError, match="model must be one of a, b, got 'c'"):
        Choice("model", "model", ("a", "b"), "c")
    with pytest.raises(ValueError, match="must have one value for each of the 2"):
        Choice("model", "model", ("a", "b"), "a", sets={"batch": (1.0,)})
