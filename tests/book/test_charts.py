"""Pieces of live charts: equal ratios, one grid line a decade, an ink a name."""

import itertools
import json
from typing import Any

import altair as alt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.book.charts import Curve, by_ink, landmark, log_axis, powers
from llmserve_lab.book.palette import SERIES
from tests.book.engine import evaluate


def rows(chart: Any, name: str) -> list[float]:
    """The field's values, computed as the browser does."""
    spec = chart.mark_point().to_dict()
    sequence = spec["data"]["sequence"]
    (step,) = [s for s in spec["transform"] if s["as"] == name]
    return [
        evaluate(step["calculate"], datum={sequence["as"]: i})
        for i in range(sequence["start"], sequence["stop"])
    ]


@settings(max_examples=15)
@given(st.floats(1e-3, 1e3), st.floats(1.5, 1e6), st.integers(2, 40))
def test_rows_stand_at_equal_ratios_from_end_to_end(
    low: float, factor: float, steps: int
) -> None:
    found = rows(powers(low, low * factor, "x", steps=steps), "x")
    assert len(found) == steps + 1
    assert found[0] == pytest.approx(low, rel=1e-4)
    assert found[-1] == pytest.approx(low * factor, rel=1e-3)
    ratios = [b / a for a, b in itertools.pairwise(found)]
    assert ratios == pytest.approx([ratios[0]] * steps, rel=1e-9)


def test_no_row_is_stored_in_the_page() -> None:
    spec = powers(1, 1e6, "x", steps=1000).mark_line().to_dict()
    assert len(json.dumps(spec)) < 600


@pytest.mark.parametrize(
    ("low", "high", "decades"),
    [(1, 1000, [1, 10, 100, 1000]), (0.3, 30, [1, 10]), (0.03, 2, [0.1, 1])],
)
def test_there_is_one_grid_line_a_decade(
    low: float, high: float, decades: list[float]
) -> None:
    axis = log_axis("bytes", low, high)
    assert axis["axis"]["values"] == pytest.approx(decades)
    assert axis["scale"].to_dict() == {
        "type": "log", "domain": [low, high], "nice": False,
    }  # fmt: skip
    assert axis["title"] == "bytes"


def test_an_axis_can_be_told_more() -> None:
    axis = log_axis("bytes", 1, 100, values=[50], grid=False)["axis"].to_dict()
    assert axis["values"] == [50] and axis["grid"] is False


def test_every_name_has_its_colour_and_its_dash() -> None:
    import altair as alt

    inks = dict(zip(("a", "b", "c"), SERIES, strict=False))
    chart = alt.Chart(alt.sequence(0, 2)).mark_line().encode(**by_ink("name", inks))
    encoding = chart.to_dict()["encoding"]
    colors, dashes = (encoding[c]["scale"] for c in ("color", "strokeDash"))
    assert colors["domain"] == dashes["domain"] == ["a", "b", "c"]
    assert len(set(colors["range"])) == len({*map(tuple, dashes["range"])}) == 3
    assert "legend" not in encoding["color"]


def test_a_legend_can_be_left_out() -> None:
    channels = by_ink("name", {"a": SERIES[0]}, legend=False)
    assert all(channel.to_dict()["legend"] is None for channel in channels.values())


@pytest.mark.parametrize("name", ["x", "y"])
def test_a_landmark_is_a_rule_and_its_label(name: str) -> None:
    import altair as alt

    channel = {"x": alt.X, "y": alt.Y}[name]("place", type="quantitative")
    rule, text = landmark(channel, "ridge", "the ridge", at=7).to_dict()["layer"]
    for layer in (rule, text):
        assert layer["transform"] == [{"calculate": "ridge", "as": "place"}]
        assert layer["encoding"][name]["field"] == "place"
        assert layer["mark"]["clip"] is True
    assert rule["mark"]["type"] == "rule"
    assert text["mark"]["text"] == "the ridge"


@pytest.mark.parametrize("rising", [True, False])
def test_a_name_stands_above_a_rising_line_and_below_a_falling(rising: bool) -> None:
    x, y = (alt.X("x", type="quantitative"), alt.Y("y", type="quantitative"))
    curve = Curve("twice", "2 * datum.x", SERIES[0], label_at=5.0, rising=rising)
    line, label = curve.drawn(x, y, over=(1, 10)).to_dict()["layer"]
    assert (label["mark"]["dy"] < 0) is rising
    assert label["mark"]["text"] == "twice"
    assert label["transform"] == line["transform"][-1:]
    assert evaluate(label["transform"][0]["calculate"], datum={"x": 5.0}) == 10.0
