"""A step figure as HTML: three stills that need nothing, then the means to step."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.alone import alone, hatching
from llmserve_lab.page.html import (
    ON_WHITE,
    data_script,
    digest,
    escape,
    number_of_figure,
    tag,
)
from llmserve_lab.page.live.goal import goal_html
from llmserve_lab.page.palette import GREY, HATCH, MEANINGS
from llmserve_lab.page.step.content import Place, StepContent, StepLog
from llmserve_lab.page.svg import tidy

SWATCH = 14  # CSS pixels
# In the element, for places that have no style sheet of ours, such as nbviewer.
SIDE_BY_SIDE = (
    "display: grid; gap: 1rem; "
    "grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr))"
)


def step_html(figure: StepContent) -> str:
    """The whole ``<figure>``: title, legend, player, stills, data."""
    data = step_data(figure)
    key = f"step-{digest(data)}"
    head = number_of_figure(figure.name) + escape(figure.title)
    body = [
        tag("p", head, class_="live-title", id=f"{key}-title"),
        _hatch(key) if figure.hatched else "",
        _legend(figure),
        _player(figure, key),
        _stills(figure, key),
        data_script(data, "step-data"),
    ]
    inside = "\n".join(part for part in body if part)
    attributes = {"class_": "step", "id": key, "aria_labelledby": f"{key}-title"}
    attributes |= {"style": ON_WHITE}
    # The hatching has an id, which no two figures of a page may share.
    own = inside.replace(HATCH, f"url(#{key}-idle)")
    return tag("figure", own, **attributes)


def step_data(figure: StepContent) -> dict[str, Any]:
    """What the runtime needs to know, as plain data."""
    logs = [_log_data(figure, log) for log in figure.logs.values()]
    signature = [figure.name, list(figure.logs), [len(lg["say"]) for lg in logs]]
    return {
        "name": figure.name,
        "version": digest(signature)[:4],
        "spec": figure.spec(frame=figure.start),
        "tables": {name: packed(rows) for name, rows in figure.rows.items()},
        "logs": logs,
        "start": figure.start,
        "goal": bool(figure.goal),
    }


def _log_data(figure: StepContent, log: StepLog) -> dict[str, Any]:
    return {
        "say": [frame.sentence for frame in log.frames],
        "count": [figure.shown(frame) for frame in log.frames],
    }


def packed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows with their field names once; the runtime makes objects of them again."""
    fields = list(dict.fromkeys(name for row in rows for name in row))
    return {"fields": fields, "rows": [[row.get(f) for f in fields] for row in rows]}


def _hatch(key: str) -> str:
    """The pattern of what is idle, which every picture of the figure refers to."""
    pattern = hatching(f"{key}-idle")
    return (
        '<svg class="step-hatch" width="0" height="0" aria-hidden="true">'
        f"{pattern}</svg>"
    )


def _legend(figure: StepContent) -> str:
    items = "".join(
        tag("li", _swatch(name) + escape(words))
        for name, words in figure.legend.items()
    )
    return tag("ul", items, class_="step-legend") if items else ""


def _swatch(name: str) -> str:
    """A drawn square: a background colour would not be printed."""
    size = f'width="{SWATCH}" height="{SWATCH}"'
    edge = f'stroke="{GREY.css}" stroke-width="1"'
    square = f'<rect {size} fill="{MEANINGS[name].css}" {edge}/>'
    return f'<svg {size} aria-hidden="true">{square}</svg>'


def _player(figure: StepContent, key: str) -> str:
    """What the runtime fills and unhides: picture, buttons, counters, sentence."""
    first = figure.frame(next(iter(figure.logs)), figure.start)
    parts = [
        goal_html(figure.goal) if figure.goal else "",
        _log_choice(figure, key) if len(figure.logs) > 1 else "",
        _picture(figure, first.sentence, ""),
        _controls(figure),
        _counters(figure, figure.shown(first)),
        tag("p", escape(first.sentence), class_="step-say", aria_live="polite"),
        tag("div", "", class_="live-actions"),
    ]
    return tag("div", "".join(parts), class_="step-player", hidden=True)


def _picture(figure: StepContent, sentence: str, svg: str) -> str:
    """The frame of a picture, no wider than the scene wants it."""
    width = figure.scene.width
    wide = f"max-width: {width}px; margin-inline: auto" if width else None
    attributes = {"class_": "live-picture", "role": "img", "style": wide}
    return tag("div", svg, **attributes, aria_label=sentence)


def _log_choice(figure: StepContent, key: str) -> str:
    rows = []
    for i, name in enumerate(figure.logs):
        at = f"{key}-log-{i}"
        button = tag(
            "input", id=at, type="radio", name=f"{key}-log", value=str(i),
            checked=i == 0, autocomplete="off",
        )  # fmt: skip
        rows.append(tag("span", button + tag("label", escape(name), for_=at)))
    legend = tag("legend", "What is played")
    return tag("fieldset", " ".join([legend, *rows]), class_="step-logs")


def _controls(figure: StepContent) -> str:
    last = len(next(iter(figure.logs.values())).frames) - 1
    slider = tag(
        "input", type="range", name="frame", min="0", max=str(last), step="1",
        value=str(figure.start), aria_label="Step", autocomplete="off",
    )  # fmt: skip
    row = " ".join(
        (
            _button("back", "◀", "One step back"),
            _button("play", "Play", None),
            _button("forward", "▶", "One step forward"),
            slider,
            tag(
                "span", _place(figure.start, last), class_="step-at", aria_hidden="true"
            ),
        )
    )
    label = f"Steps: {figure.title}"
    return tag("div", row, class_="step-controls", role="group", aria_label=label)


def _place(frame: int, last: int) -> str:
    """A frame by its place among all, counted from 1."""
    return f"{frame + 1} of {last + 1}"


def _button(name: str, text: str, label: str | None) -> str:
    return tag("button", text, type="button", class_=f"step-{name}", aria_label=label)


def _counters(figure: StepContent, texts: list[str]) -> str:
    tiles = [
        tag(
            "div",
            tag("span", escape(counter.label), class_="live-readout-label")
            + " "
            + tag("output", escape(text), aria_live="off"),
            class_="live-readout",
        )
        for counter, text in zip(figure.counters, texts, strict=True)
    ]
    return tag("div", "".join(tiles), class_="live-readouts") if tiles else ""


def _stills(figure: StepContent, key: str) -> str:
    stills = [_still(figure, at, f"{key}-{i}") for i, at in enumerate(figure.stills)]
    return tag("div", "".join(stills), class_="step-stills", style=SIDE_BY_SIDE)


def _still(figure: StepContent, at: Place, key: str) -> str:
    """One frame: its place in the log, the picture, the counters, the sentence."""
    log, index = at
    frame = figure.frame(log, index)
    where = f"Step {_place(index, len(figure.logs[log].frames) - 1)}"
    head = f"{log}: {where[0].lower()}{where[1:]}" if len(figure.logs) > 1 else where
    drawn = tidy(figure.picture(log, index), prefix=key, decimals=1, join=True)
    svg = drawn.replace(f"url(#{key}-{HATCH[5:-1]})", HATCH)
    pairs = zip(figure.counters, figure.shown(frame), strict=True)
    counted = "; ".join(f"{counter.label}: {text}" for counter, text in pairs)
    return tag(
        "div",
        tag("p", escape(head), class_="step-still-head")
        + _picture(figure, frame.sentence, svg)
        + alone(svg)
        + (tag("p", escape(counted), class_="step-still-count") if counted else "")
        + tag("p", escape(frame.sentence)),
        class_="step-still",
    )
