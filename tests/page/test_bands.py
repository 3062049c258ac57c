"""A prediction shows how far off such predictions were, at every setting."""

import json
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import catalog
from llmserve_lab.catalog import machine
from llmserve_lab.formula.band import Band, ErrorBand, Limit, Unmeasured, per_cent
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import BandTable, banded
from llmserve_lab.page.build.number_cards import ELEMENT
from llmserve_lab.page.html import compact
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.html import figure_html
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.number_record import Provenance
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import formulas as f
from tests.page.records import Browser

H100 = machine(catalog.accelerator("h100-sxm"))
NEAR = Band(-0.052, 0.311, "70B on H100", 60, "model left out")
FAR = Unmeasured("1 client, and 4 is the fewest measured")
FLOOR = Limit("lower", "all of the datasheet is reached")
errors = st.floats(-0.9, 3.0)


def test_an_error_is_said_in_whole_per_cent_with_its_sign() -> None:
    assert NEAR.short == "−5…+31 % on runs like this"
    assert replace(NEAR, known=True).short == "−5…+31 % on runs that it knew"
    assert [per_cent(e) for e in (0.0, -0.004, 0.0051, -0.25)] == [
        "0",
        "0",
        "+1",
        "−25",
    ]


@given(errors, errors)
def test_a_rate_is_as_much_too_high_as_its_time_is_too_low(a: float, b: float) -> None:
    band = Band(min(a, b), max(a, b), "runs", 9)
    rate = band.inverse()
    # The measured time lies in the one band where the measured rate lies in the other.
    shortest, longest = band.around(2.0)
    slowest, fastest = rate.around(1 / 2.0)
    assert slowest == pytest.approx(1 / longest, rel=6e-3)
    assert fastest == pytest.approx(1 / shortest, rel=6e-3)
    again = rate.inverse()
    assert (again.low, again.high) == pytest.approx((band.low, band.high), abs=0.012)


def test_a_band_of_the_truth_says_from_where_to_where() -> None:
    band = Band(-0.2, 0.25, "runs", 6, truth=True)
    assert band.beside(0.1, "s") == "if it errs as others did: 80 to 125 ms"
    assert (
        band.beside(900.0, "token/s")
        == "if it errs as others did: 720 to 1130 tokens/s"
    )
    assert NEAR.beside(0.1, "s") == NEAR.short


def test_a_lower_bound_of_a_time_is_an_upper_bound_of_the_rate() -> None:
    assert FLOOR.inverse().side == "upper" and FLOOR.inverse().inverse() == FLOOR
    assert FAR.inverse() is FAR


@pytest.mark.parametrize(("low", "high"), [(-1.0, 0.5), (0.5, 0.2), (float("nan"), 1)])
def test_a_band_that_cannot_be_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match=r"low must be above -1 and at most high"):
        Band(low, high, "runs", 3)


def only_record(html: str) -> dict[str, Any]:
    (data,) = map(json.loads, ELEMENT.findall(html))
    assert isinstance(data, dict)
    return data


def test_a_worked_line_a_cell_and_a_glued_number_keep_the_band() -> None:
    worked = banded(f.RIDGE.worked(H100), NEAR)._repr_html_()
    assert "error band: </span>−5…+31 % on runs like this</small>" in worked
    cell = banded(f.RIDGE.said(H100), FAR)
    table = Table("Ridge", ("what", "where"), [("H100", cell)])
    html = table._repr_html_()
    assert "outside everything measured" in html and "measured)" in repr(table)
    for text, band in ((worked, NEAR), (html, FAR)):
        data = only_record(text)
        (number,) = data["numbers"].values()
        stored = data["bands"][number["band"]]
        if "how" in stored:
            stored["how"] = data["texts"][stored["how"]]
        assert stored == band.record()


def test_what_is_no_prediction_says_nothing() -> None:
    for html in (
        f.RIDGE.worked(H100)._repr_html_(),
        Table("Ridge", ("what", "where"), [("H100", f.RIDGE.said(H100))])._repr_html_(),
    ):
        data = only_record(html)
        assert "bands" not in data and 'class="band"' not in html
        assert all("band" not in number for number in data["numbers"].values())


def test_a_pair_and_a_text_can_be_predictions() -> None:
    assert banded((2980.0, "token/s"), NEAR) == "2980 tokens/s"
    assert banded("2,980 tokens/s", NEAR).band is NEAR
    with pytest.raises(TypeError, match=r"value must be a result, a text or .* got 3"):
        banded(3, NEAR)  # type: ignore[call-overload]


BATCHES, DEVICES = (1.0, 2.0, 4.0, 8.0), ("small", "large")


def like(batch: float, device: str) -> ErrorBand:
    """Some band that differs at each setting."""
    if batch == 1:
        return replace(FAR, reason=f"nothing on {device}")
    return Band(-0.01 * batch, 0.02 * batch, device, 7, "as seen", whole=True)


def figure(*readouts: Readout) -> LiveFigure:
    """A figure of a slider and a choice."""
    import altair as alt

    return LiveFigure(
        name="trial",
        title="A trial",
        chart=lambda: alt.Chart(alt.InlineData([{"x": 1}])).mark_point(),
        controls=(
            Slider(quantity("batch"), BATCHES, 4.0),
            Choice("device", "GPU", DEVICES, "large", {"chunk": (3.0, 9.0)}),
        ),
        derived={},
        readouts=readouts,
        sentence="{batch} {device}",
    )


def bound(name: str) -> Readout:
    return Readout(f.N_ROWS, "Rows", name=name)


def test_the_page_finds_the_band_of_each_setting() -> None:
    table = BandTable(like, ("batch", "device"))
    drawn = figure(banded(bound("a"), table), banded(bound("b"), table.inverse()))
    book = Provenance()
    book.figure("k", drawn)
    data = book.records()
    assert len(data["tables"]) == 1 and len(data["figures"]["k"]["bands"]) == 2
    for batch, device in product(BATCHES, DEVICES):
        data["figures"]["k"]["now"] |= {"batch": batch, "device": DEVICES.index(device)}
        page = Browser(json.loads(compact(data)))  # as a page holds them
        want = like(batch, device)
        assert page.band("k", "a") == want.short
        assert page.band("k", "b") == want.inverse().short


def test_a_tile_shows_the_band_of_the_default_setting() -> None:
    held = banded(bound("a"), BandTable(like, ("batch", "device")))
    html = figure_html(figure(held, bound("b")))
    assert html.count('<small class="band">') == 1
    assert "error band: </span>−4…+8 % on runs like this</small>" in html


@pytest.mark.parametrize(("band", "key"), [(NEAR, "opens"), (FAR, "of"), (FLOOR, "of")])
def test_one_band_of_errors_belongs_to_the_setting_that_a_figure_opens_with(
    band: ErrorBand, key: str
) -> None:
    book = Provenance()
    book.figure("k", figure(banded(bound("a"), band)))
    data = book.records()
    assert [*data["figures"]["k"]["bands"]["a"]] == [key]
    assert Browser(data).band("k", "a") == band.short


def test_a_table_of_bands_names_controls_and_stays_small() -> None:
    with pytest.raises(ValueError, match=r"by must name controls .* got \['clients'\]"):
        Provenance().figure(
            "k", figure(banded(bound("a"), BandTable(like, ("clients",))))
        )
    many = Slider(quantity("batch"), tuple(map(float, range(1, 5000))), 1.0)
    with pytest.raises(
        ValueError, match="by must have at most 3,000 settings, got 4,9"
    ):
        BandTable(partial(like, device="large"), ("batch",)).stops((many,))


def test_a_setting_has_the_band_of_the_option_and_of_the_stop_that_it_names() -> None:
    """Every pair of an option and a stop, as what makes the bands is asked for it."""
    controls = (
        Choice("kind", "Kind", ("first", "other", "last"), "other"),
        Slider(quantity("batch"), (1.0, 8.0, 64.0), 8.0),
    )

    def of(kind: str, batch: float) -> Band:
        return Band(-0.1, ("last", "other", "first").index(kind) + batch, "runs", 5)

    table = BandTable(of, ("kind", "batch"))
    made = [*table.bands(controls)]
    wants = [of(*each) for each in product(("first", "other", "last"), (1, 8, 64))]
    assert made == wants
    for index, kind in enumerate(("first", "other", "last")):
        known = {"kind": float(index), "batch": 8.0}
        assert table.at(controls, known) == of(kind, 8.0)
