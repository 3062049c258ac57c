"""A live figure as HTML: a picture that needs nothing, then the means to move it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.text import said, said_unit
from llmserve_lab.page.alone import alone
from llmserve_lab.page.band_beside import shown
from llmserve_lab.page.html import (
    ON_WHITE,
    data_script,
    digest,
    escape,
    number_of_figure,
    symbol,
    tag,
)
from llmserve_lab.page.live.bands import band_at
from llmserve_lab.page.live.controls import (
    CONTROL_DIGITS,
    Choice,
    Control,
    Lookup,
    Slider,
)
from llmserve_lab.page.live.goal import goal_html
from llmserve_lab.page.live.readout import Readout, Verdict
from llmserve_lab.page.number_record import Provenance
from llmserve_lab.page.svg import tidy

if TYPE_CHECKING:
    from llmserve_lab.page.live.figure import LiveFigure

DRAG = "Drag an edge in the picture, or move a slider."


def figure_html(figure: LiveFigure) -> str:
    """The whole ``<figure>``: title, picture, controls, numbers, caption, data."""
    data = figure_data(figure)
    key = f"live-{digest(data)}"
    sentence = figure.caption()
    svg = tidy(figure.picture(), prefix=key, decimals=1)
    head = number_of_figure(figure.name) + escape(figure.title)
    body = [
        tag("p", head, class_="live-title", id=f"{key}-title"),
        goal_html(figure.goal) if figure.goal else "",
        tag("div", svg, class_="live-picture", role="img", aria_label=sentence),
        alone(svg),
        controls_html(figure, key),
        readouts_html(figure),
        tag("figcaption", escape(sentence)),
        data_script(data, "live-data"),
        _origins(figure, key),
    ]
    attributes = {"class_": "live", "id": key, "aria_labelledby": f"{key}-title"}
    attributes |= {"style": ON_WHITE}
    return tag("figure", "\n".join(part for part in body if part), **attributes)


def _origins(figure: LiveFigure, key: str) -> str:
    """Where the numbers under the figure are from, at any setting."""
    book = Provenance()
    book.figure(key, figure)
    return book.script()


def figure_data(figure: LiveFigure) -> dict[str, Any]:
    """What the runtime needs to know, as plain data."""
    drag = {"drag": list(figure.drag)} if figure.drag else {}
    holes = [{"by": lk.by, "at": lk.holes()} for lk in figure.lookups if lk.holes()]
    goal = {"goal": True} if figure.goal else {}
    refusal = {"refusal": asdict(figure.refusal)} if figure.refusal else {}
    stops = {slider.name: slider.stops for slider in figure.sliders}
    return {
        "name": figure.name,
        "version": digest([stops, figure.words()])[:4],
        "spec": figure.spec,
        "stops": stops,
        "holes": holes,
        "units": {name: said_unit(unit) for name, unit in figure.units.items()},
        "words": figure.words(),
        "sentence": figure.sentence,
        **drag,
        **goal,
        **refusal,
    }


def controls_html(figure: LiveFigure, key: str) -> str:
    """The rows of controls, hidden until the runtime has made them work."""
    rows = [_row(control, key) for control in figure.controls]
    if figure.drag:
        rows.insert(0, tag("p", DRAG, class_="live-hint"))
    reset = tag("button", "Reset", type="button", class_="live-reset")
    return tag(
        "div",
        "".join(rows) + tag("div", reset, class_="live-actions"),
        class_="live-controls",
        role="group",
        aria_label=f"Settings: {figure.title}",
        hidden=True,
    )


def _row(control: Control, key: str) -> str:
    if isinstance(control, Lookup):
        return ""
    key = f"{key}-{control.name}"
    if isinstance(control, Choice):
        head, turn = _choice(control, key)
    else:
        head, turn = _slider(control, key)
    return tag(
        "div", tag("div", head, class_="live-label") + " " + turn, class_="live-row"
    )


def _slider(slider: Slider, key: str) -> tuple[str, str]:
    quantity = slider.quantity
    shown = said(slider.default, quantity.unit, CONTROL_DIGITS)
    label = tag("label", escape(slider.label or quantity.meaning), for_=key)
    label = tag("span", f"{label} {symbol(quantity.symbol)}")
    value = tag("span", shown, class_="live-value", aria_hidden="true")
    at = str(slider.stops.index(slider.default))
    turn = tag(
        "input",
        id=key,
        type="range",
        name=slider.name,
        min="0",
        max=str(len(slider.stops) - 1),
        step="1",
        value=at,
        aria_valuetext=shown,
        autocomplete="off",
    )
    return f"{label} {value}", turn


def _choice(choice: Choice, key: str) -> tuple[str, str]:
    options = " ".join(
        tag("option", escape(text), value=str(i), selected=text == choice.default)
        for i, text in enumerate(choice.options)
    )
    label = tag("label", escape(choice.label), for_=key)
    printed = tag("span", escape(choice.default), class_="live-value live-printed")
    select = tag("select", options, id=key, name=choice.name, autocomplete="off")
    return f"{label} {printed}", select


def readouts_html(figure: LiveFigure) -> str:
    """The numbers at the defaults, in regions that announce their changes."""
    known = figure.values()
    if figure.refused(known):
        raise ValueError(f"{figure.name} must have numbers at its defaults, got none")
    tiles = [_tile(figure, readout, known[readout.name]) for readout in figure.readouts]
    return tag("div", "".join(tiles), class_="live-readouts")


def _tile(figure: LiveFigure, readout: Readout | Verdict, value: float) -> str:
    label = tag("span", escape(readout.label), class_="live-readout-label") + " "
    output = tag(
        "output",
        escape(figure.shown(readout.name, value)),
        data_readout=readout.name,
        data_value=f"{value:.12g}",
        aria_live="polite",
    )
    return tag("div", label + output + _band(figure, readout), class_="live-readout")


def _band(figure: LiveFigure, readout: Readout | Verdict) -> str:
    """The error band of a number at the defaults, if it is a prediction."""
    if isinstance(readout, Verdict) or readout.band is None:
        return ""
    known = figure.values()
    at = known[readout.name], figure.units[readout.name]
    return shown(band_at(readout.band, figure.controls, known), at)
