"""Marks of a step figure: rectangles, ticks, nodes, links and labels, bound by name.

A mark reads one table of the log and says which of its fields stands for what. Every
row may have ``since`` and ``until``: it is drawn in frames since <= frame < until.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llmserve_lab.page.palette import GREY, INK, MEANINGS, PAGE_CSS

LETTER, SMALL, WIDE = 11, 9, 0.62  # pixels of a letter's height; its width over it
ALIVE = "(!isValid(datum.since) || datum.since <= frame)"
DEAD = "(!isValid(datum.until) || frame < datum.until)"
OF_LOG = "(!isValid(datum.log) || datum.log === log)"
Spec = dict[str, Any]


@dataclass(frozen=True)
class SceneAxis:
    """One direction of a scene: numbers from low to high, or names in their order.

    Raises:
        ValueError: fewer than one name, or a range of length zero.
    """

    domain: tuple[Any, ...]
    title: str = ""
    shown: bool = True

    def __post_init__(self) -> None:
        if not self.domain or (not self.named and self.domain[0] == self.domain[-1]):
            raise ValueError(f"domain must have an extent, got {self.domain}")

    @property
    def named(self) -> bool:
        """Whether places have names; else they are numbers."""
        return isinstance(self.domain[0], str)

    def channel(self, field: str) -> Spec:
        """The encoding of ``field`` along this axis."""
        scale: Spec = {"domain": list(self.domain)}
        if self.named:
            scale |= {"paddingInner": 0.12, "paddingOuter": 0.06}
        else:
            scale |= {"nice": False, "zero": False}
        quiet: Spec = {"grid": False, "domain": False, "ticks": False}
        if not self.named:
            quiet = {"grid": False, "tickCount": {"expr": "width < 400 ? 5 : 10"}}
        title = self.title or None
        return {
            "field": field,
            "type": "nominal" if self.named else "quantitative",
            "scale": scale | ({"type": "band"} if self.named else {}),
            "sort": None,
            "title": title,
            "axis": {**quiet, "labelAngle": 0, "title": title} if self.shown else None,
        }


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What all marks have: a table, two places, and an ink by name.

    ``ink`` names the field that holds an ink (``"A"``, ``"idle"``, ``"weights"``), or
    is such a name itself. With ``grows`` a row is drawn only as far as ``now``.
    """

    table: str
    x: str = "x"
    y: str = "y"
    ink: str = "ink"
    grows: bool = False

    def layers(self, x: SceneAxis, y: SceneAxis, inks: tuple[str, ...]) -> list[Spec]:
        """The Vega-Lite layers on these axes."""
        raise NotImplementedError

    def _layer(self, mark: Spec, encoding: Spec, *steps: Spec) -> Spec:
        seen = [ALIVE, DEAD, OF_LOG, *([f"datum.{self.x} < now"] if self.grows else [])]
        return {
            "data": {"name": self.table},
            "transform": [{"filter": " && ".join(seen)}, *steps],
            "mark": mark,
            "encoding": encoding,
        }

    def _color(self, inks: tuple[str, ...]) -> Spec:
        if self.ink in MEANINGS:
            return {"value": MEANINGS[self.ink].css}
        range_ = [MEANINGS[name].css for name in inks]
        scale = {"domain": list(inks), "range": range_}
        return {"field": self.ink, "type": "nominal", "scale": scale, "legend": None}


@dataclass(frozen=True, kw_only=True)
class Cells(Mark):
    """Rectangles in row ``y``, from ``x`` to ``x2`` (one unit wide without it).

    ``text`` names the field of a label (if it fits), ``opacity`` one between 0 and 1.
    """

    x2: str = ""
    y2: str = ""
    text: str = ""
    opacity: str = ""

    def layers(self, x: SceneAxis, y: SceneAxis, inks: tuple[str, ...]) -> list[Spec]:
        """The rectangles, then their labels."""
        calculated = [*self._ends("x", x), *self._ends("y", y)]
        steps = [{"calculate": expr, "as": name} for name, expr in calculated]
        place = {"x": x.channel(self.x), "y": y.channel(self.y)}
        ends = {f"{name[-1]}2": {"field": name} for name, _ in calculated}
        look = {"type": "rect", "stroke": PAGE_CSS, "strokeWidth": 1}
        faint = {"opacity": _as_is(self.opacity)} if self.opacity else {}
        color = {"fill": self._color(inks)}
        drawn = self._layer(look, {**place, **ends, **color, **faint}, *steps)
        return [drawn] + ([self._label(x, y, steps)] if self.text else [])

    def _ends(self, way: str, axis: SceneAxis) -> list[tuple[str, str]]:
        """Where the rectangle ends along one axis, as a calculated field."""
        if axis.named:
            return []
        start, end = getattr(self, way), getattr(self, f"{way}2")
        expr = f"datum.{end}" if end else f"datum.{start} + 1"
        grown = f"min({expr}, now)" if self.grows and way == "x" else expr
        return [(f"end_{way}", grown)]

    def _label(self, x: SceneAxis, y: SceneAxis, steps: list[Spec]) -> Spec:
        """The text in the middle, in the page's colour, dark on what is not solid."""
        middles = [
            {"calculate": f"(datum.{start} + datum.end_{way})/2", "as": f"mid_{way}"}
            for way, start, axis in (("x", self.x, x), ("y", self.y, y))
            if not axis.named
        ]
        place = {
            "x": x.channel(self.x if x.named else "mid_x"),
            "y": y.channel(self.y if y.named else "mid_y"),
            "text": {"field": self.text},
            "color": _on(self.ink),
        }
        fits: Spec = {}
        if not x.named:
            room = f"abs(scale('x', datum.end_x) - scale('x', datum.{self.x}))"
            letters = f"length('' + datum.{self.text})"
            large, small = (f"{WIDE * size:.3g}*{letters}" for size in (LETTER, SMALL))
            fits = {
                "opacity": {"expr": f"{room} < {small} ? 0 : 1"},
                "fontSize": {"expr": f"{room} < {large} + 1 ? {SMALL} : {LETTER}"},
            }
        look = {"type": "text", "fontSize": LETTER, "fontWeight": "bold", **fits}
        worded = {"filter": f"isValid(datum.{self.text}) && datum.{self.text} !== ''"}
        return self._layer(look, place, worded, *steps, *middles)


@dataclass(frozen=True, kw_only=True)
class Ticks(Mark):
    """A short stroke across row ``y`` at each ``x``: a token, an arrival."""

    thick: int = 2

    def layers(self, x: SceneAxis, y: SceneAxis, inks: tuple[str, ...]) -> list[Spec]:
        """One layer of ticks."""
        look = {"type": "tick", "thickness": self.thick, "opacity": 1, "bandSize": 22}
        place = {"x": x.channel(self.x), "y": y.channel(self.y)}
        return [self._layer(look, {**place, "color": self._color(inks)})]


@dataclass(frozen=True, kw_only=True)
class Nodes(Mark):
    """A disc with its name in it: a GPU, an expert, a pool."""

    text: str = "text"
    size: int = 2600

    def layers(self, x: SceneAxis, y: SceneAxis, inks: tuple[str, ...]) -> list[Spec]:
        """The discs, then their names."""
        place = {"x": x.channel(self.x), "y": y.channel(self.y)}
        disc = {"type": "point", "filled": True, "opacity": 1, "size": self.size}
        name = {"type": "text", "fontWeight": "bold"}
        label = {"text": {"field": self.text}, "color": _on(self.ink)}
        return [
            self._layer(disc, {**place, "color": self._color(inks)}),
            self._layer(name, {**place, **label}),
        ]


@dataclass(frozen=True, kw_only=True)
class Links(Mark):
    """A line from (x, y) to (x2, y2), with an arrow head half way: a message.

    ``width`` names a field of widths in pixels, ``text`` that of a label.
    """

    x2: str = "x2"
    y2: str = "y2"
    width: str = ""
    text: str = ""
    arrow: bool = True

    def layers(self, x: SceneAxis, y: SceneAxis, inks: tuple[str, ...]) -> list[Spec]:
        """The lines, their heads, their labels."""
        place = {"x": x.channel(self.x), "y": y.channel(self.y)}
        ends = {"x2": {"field": self.x2}, "y2": {"field": self.y2}}
        color = {"color": self._color(inks)}
        wide = {"size": _as_is(self.width)} if self.width else {}  # of a rule: width
        line = {"type": "rule", "strokeWidth": 3, "strokeCap": "round"}
        found = [self._layer(line, {**place, **ends, **color, **wide})]
        middle = [
            {"calculate": f"0.42*datum.{a} + 0.58*datum.{b}", "as": f"mid_{way}"}
            for way, a, b in (("x", self.x, self.x2), ("y", self.y, self.y2))
        ]
        there = {"x": x.channel("mid_x"), "y": y.channel("mid_y")}
        if self.arrow:
            head = {"type": "point", "filled": True, "opacity": 1, "size": 130}
            head |= {"shape": "triangle-up", "angle": {"expr": self._angle()}}
            found.append(self._layer(head, {**there, **color}, *middle))
        if self.text:
            words = {"type": "text", "dy": -13, "fontWeight": "bold"}
            edge = {"stroke": PAGE_CSS, "strokeWidth": 5, "strokeJoin": "round"}
            halo = {**words, **edge}
            label = {**there, "text": {"field": self.text}}
            found.append(self._layer(halo, label, *middle))
            ink = {"color": {"value": INK.css}}
            found.append(self._layer(words, {**label, **ink}, *middle))
        return found

    def _angle(self) -> str:
        """Degrees clockwise from straight up, as the line runs on the screen."""
        rise, run = (
            f"scale('{way}', datum.{end}) - scale('{way}', datum.{start})"
            for way, start, end in (("y", self.y, self.y2), ("x", self.x, self.x2))
        )
        return f"90 + atan2({rise}, {run})*180/PI"


@dataclass(frozen=True, kw_only=True)
class Labels(Mark):
    """Words at a place; ``align`` is left, center or right."""

    text: str = "text"
    ink: str = "ink-text"
    align: str = "center"

    def layers(self, x: SceneAxis, y: SceneAxis, inks: tuple[str, ...]) -> list[Spec]:
        """One layer of text."""
        place = {"x": x.channel(self.x), "y": y.channel(self.y)}
        look = {"type": "text", "align": self.align, "fontWeight": "bold"}
        color = {"value": INK.css} if self.ink == "ink-text" else self._color(inks)
        words = {"text": {"field": self.text}, "color": color}
        return [self._layer(look, {**place, **words})]


def _as_is(field: str) -> Spec:
    """A field whose numbers are used as they are."""
    return {"field": field, "type": "quantitative", "scale": None, "legend": None}


def _on(ink: str) -> Spec:
    """The colour of letters on an ink: the page's on a solid one, else dark."""
    open_ = [name for name, ink_ in MEANINGS.items() if not ink_.solid]
    if ink in MEANINGS:
        return {"value": INK.css if ink in open_ else PAGE_CSS}
    test = f"indexof({open_!r}, datum.{ink}) >= 0"
    return {"condition": {"test": test, "value": INK.css}, "value": PAGE_CSS}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Axes and marks, drawn in this order; ``fixed`` rows are there in every frame.

    A picture that must not be stretched says how wide it gets, in pixels; ``now`` draws
    a line where the marks that grow have come to.
    """

    x: SceneAxis
    y: SceneAxis
    marks: tuple[Mark, ...]
    height: int = 220
    fixed: dict[str, list[Spec]] | None = None
    now: bool = False
    width: int | None = None

    def layers(self, inks: Iterable[str]) -> list[Spec]:
        """All layers, and a thin line at ``now`` where the scene asks for one."""
        used = tuple(inks)
        found = [layer for m in self.marks for layer in m.layers(self.x, self.y, used)]
        if not self.now:
            return found
        channel = {k: v for k, v in self.x.channel("now").items() if k != "title"}
        rule = {
            "data": {"values": [{}]},
            "transform": [{"calculate": "now", "as": "now"}],
            "mark": {"type": "rule", "color": GREY.css, "strokeDash": [3, 3]},
            "encoding": {"x": {**channel, "title": self.x.title or None}},
        }
        return [*found, rule]
