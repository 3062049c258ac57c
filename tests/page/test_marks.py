"""Pieces of live charts: equal ratios, one grid line a decade, an ink a name."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.page.live.marks import Curve, by_ink, curves, landmark, log_axis
from llmserve_lab.page.palette import SERIES
from tests.formula.javascript import evaluate

TWICE = "2 * datum.x"


def drawn(over: tuple[float, float], *lines: Curve) -> list[dict[str, Any]]:
    """The layers of some curves, as Vega-Lite has them."""
    import altair as alt

    x, y = (alt.X("x", type="quantitative"), alt.Y("y", type="quantitative"))
    spec = curves(x, y, over, *lines).to_dict()
    assert spec["encoding"]["x"]["field"] == "x"
    shared = {"data": spec["data"]} if "data" in spec else {}
    return [layer | shared for layer in spec["layer"]]


def rows(layer: dict[str, Any]) -> list[dict[str, float]]:
    """The rows of one curve, computed as the browser does, step after step."""
    sequence, found = layer["data"]["sequence"], []
    for i in range(sequence["start"], sequence["stop"]):
        row: dict[str, float] = {sequence["as"]: i}
        for step in layer["transform"]:
            row[step["as"]] = evaluate(step["calculate"], datum=row)
        found.append(row)
    return found


@settings(max_examples=15)
@given(st.floats(1e-3, 1e3), st.floats(1.5, 1e6))
def test_rows_stand_at_equal_ratios_from_end_to_end(low: float, factor: float) -> None:
    (layer,) = drawn((low, low * factor), Curve("twice", TWICE, SERIES[0]))
    found = [row["x"] for row in rows(layer)]
    assert found[0] == pytest.approx(low, rel=1e-4)
    assert found[-1] == pytest.approx(low * factor, rel=1e-3)
    ratios = [b / a for a, b in itertools.pairwise(found)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-9)
    assert all(row["y"] == 2 * row["x"] for row in rows(layer))


def test_no_row_is_stored_and_an_expression_only_once() -> None:
    lines = [Curve(ink.name, TWICE, ink) for ink in SERIES]
    text = json.dumps(drawn((1, 1e6), *lines))
    assert text.count(TWICE) == len(SERIES)
    assert len(text) < 700 * len(SERIES)


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
    spec = landmark(channel, "ridge", "the ridge", at=7).to_dict()
    assert spec["encoding"][name]["field"] == "place"
    rule, text = spec["layer"]
    for layer in (rule, text):
        assert layer["transform"] == [{"calculate": "ridge", "as": "place"}]
        assert layer["mark"]["clip"] is True
    assert rule["mark"]["type"] == "rule"
    assert text["mark"]["text"] == "the ridge"


@pytest.mark.parametrize("rising", [True, False])
def test_a_name_stands_above_a_rising_line_and_below_a_falling(rising: bool) -> None:
    curve = Curve("twice", TWICE, SERIES[0], label_at=0.5, rising=rising)
    (layer,) = drawn((1, 100), curve)
    line, name = layer["layer"]
    assert (line["mark"]["type"], name["mark"]["type"]) == ("line", "text")
    assert (name["mark"]["dy"] < 0) is rising
    assert name["mark"]["text"] == "twice"
    (keep,) = name["transform"]
    kept = [row for row in rows(layer) if evaluate(keep["filter"], datum=row)]
    assert [row["x"] for row in kept] == pytest.approx([10], rel=1e-4)
