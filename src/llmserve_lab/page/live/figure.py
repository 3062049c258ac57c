"""A live figure answers "what if?": move a slider, and every number follows.

The chart's calculations, the numbers under it and the sentence that describes it all
come from the book's formulas. NumPy computes the state that the page stores; the
browser computes every other state from the same expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import said
from llmserve_lab.page.live.controls import (
    CONTROL_DIGITS,
    Choice,
    Control,
    Lookup,
    Param,
    Slider,
)
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Refusal, Verdict
from llmserve_lab.page.palette import vega_config

WIDTH = 640  # of the stored picture, in CSS pixels; on a page the container decides
NAME = re.compile(r"[a-z][a-z0-9-]*")  # of a figure, as it may stand in an address
FIELD = re.compile(r"\{(\w+)(?::(\d+))?\}")


@dataclass(frozen=True, kw_only=True)
class LiveFigure:
    """A chart, its controls, the numbers that it states and a sentence that says them.

    ``chart`` returns an Altair chart (one view, or layers) whose expressions read the
    signals: control names, ``sets`` and lookups, and ``derived`` formulas by name.
    ``sentence`` holds fields such as ``{batch}`` or ``{intensity:2}`` (digits), each
    shown with its unit; it is the caption, the alternative text and ``text/plain``.
    ``drag`` names sliders whose values lie along the horizontal axis, each with the
    expression for where it begins: the reader may also take it by its far edge. A
    ``goal`` is what to bring the figure to; the page says when the reader is there. A
    ``refusal`` says where the settings ask for what cannot be.
    """

    name: str
    title: str
    chart: Callable[[], Any]
    controls: tuple[Control, ...]
    readouts: tuple[Readout | Verdict, ...]
    sentence: str
    derived: Mapping[str, Formula | Bound] = field(default_factory=dict)
    drag: Mapping[str, str] = field(default_factory=dict)
    goal: Goal | None = None
    refusal: Refusal | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name must be of a-z, 0-9 and -, got {self.name!r}")
        names = [param["name"] for param in self.params()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"signals of {self.name} must differ, got {twice} twice")

    def values(self, **settings: Any) -> dict[str, float]:
        """Every signal and readout by name, computed by NumPy.

        ``settings`` gives sliders a number and choices an option; the others keep their
        defaults. A choice and a verdict are indices into their options and cases.

        Raises:
            TypeError: a setting is no slider and no choice of this figure.
            ValueError: a value is out of range, or the combination does not exist.
        """
        known = self._settings(settings)
        for lookup in self.lookups:
            known[lookup.name] = lookup.signal(known)
        for name, bound in self.bounds.items():
            known[name] = bound.value(known)
        for readout in self.readouts:
            known[readout.name] = readout.value(known)
        return known

    def _settings(self, settings: Mapping[str, Any]) -> dict[str, float]:
        turned = {c.name: c for c in self.controls if not isinstance(c, Lookup)}
        unknown = [name for name in settings if name not in turned]
        if unknown:
            raise TypeError(
                f"{self.name} has no control {', '.join(unknown)}; "
                f"it has {', '.join(turned)}"
            )
        return {n: c.signal(settings.get(n, c.default)) for n, c in turned.items()}

    @property
    def sliders(self) -> list[Slider]:
        """The controls that move a quantity."""
        return [c for c in self.controls if isinstance(c, Slider)]

    @property
    def lookups(self) -> list[Lookup]:
        """Every table: those of the choices, then those that combine choices."""
        own = [lk for c in self.controls if isinstance(c, Choice) for lk in c.lookups]
        return own + [c for c in self.controls if isinstance(c, Lookup)]

    @cached_property
    def bounds(self) -> dict[str, Bound]:
        """The derived signals, each a formula with its arguments tied."""
        pairs = self.derived.items()
        return {n: f if isinstance(f, Bound) else Bound(f) for n, f in pairs}

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of the signals that a formula, slider or table explains, by name."""
        bounds = [*self.bounds.items()]
        bounds += [(r.name, r.bound) for r in self._numbers() if r.bound]
        found = {lookup.name: lookup.unit for lookup in self.lookups if lookup.unit}
        found |= {slider.name: slider.quantity.unit for slider in self.sliders}
        for name, bound in bounds:
            found = {**bound.units(), **found, name: bound.formula.result.unit}
        return found

    def _numbers(self) -> list[Readout]:
        return [r for r in self.readouts if isinstance(r, Readout)]

    def words(self) -> dict[str, tuple[str, ...]]:
        """What is shown for a signal that is an index: options and cases, by name."""
        options = {c.name: c.options for c in self.controls if isinstance(c, Choice)}
        verdicts = [r for r in self.readouts if isinstance(r, Verdict)]
        return options | {verdict.name: verdict.cases for verdict in verdicts}

    def shown(self, name: str, value: float, digits: int | None = None) -> str:
        """A signal as the page prints it: the word it stands for, or number and unit.

        A slider's value is printed in full, a result to three ``digits``.
        """
        words = self.words()
        if name in words:
            return words[name][int(value)]
        if name not in self.units:
            raise ValueError(f"{self.name} does not know the unit of {name}")
        turned = any(slider.name == name for slider in self.sliders)
        return said(
            value, self.units[name], digits or (CONTROL_DIGITS if turned else 3)
        )

    def caption(self, **settings: Any) -> str:
        """The sentence at these settings, its numbers computed by NumPy."""
        known = self.values(**settings)
        refused = self.refusal if self.refused(known) else None

        def text(match: re.Match[str]) -> str:
            name, digits = match.groups()
            if name not in known:
                raise ValueError(f"{self.name} has no signal {name} for its sentence")
            return self.shown(name, known[name], int(digits) if digits else None)

        return FIELD.sub(text, refused.sentence if refused else self.sentence)

    def refused(self, known: Mapping[str, float]) -> bool:
        """Whether there are no numbers to show at the signals in ``known``."""
        return self.refusal is not None and self.refusal.holds(known)

    def params(self) -> list[Param]:
        """The signals as Vega-Lite parameters, each after what it reads."""
        tables = [c for c in self.controls if isinstance(c, Lookup)]
        turned = [c for c in self.controls if not isinstance(c, Lookup)]
        found = [param for control in [*turned, *tables] for param in control.params()]
        for name, bound in self.bounds.items():
            found.append({"name": name, "expr": bound.expression()})
        found += [param for shown in self.readouts for param in shown.params()]
        found += [{"name": f"{n}_start", "expr": e} for n, e in self.drag.items()]
        return found + ([self.goal.param()] if self.goal else [])

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, signals and the book's look included.

        Raises:
            ValueError: the chart is made of several views, which cannot follow the
                width of a phone.
        """
        spec = self.chart().to_dict()
        several = {"hconcat", "vconcat", "concat", "facet", "repeat"} & set(spec)
        if several:
            raise ValueError(f"chart of {self.name} must be one view, got {several}")
        own = {k: v for k, v in spec.pop("config", {}).items() if k != "view"}
        spec.pop("$schema", None)
        spec |= {"width": WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
        spec["params"] = self.params() + spec.get("params", [])
        return {"height": 320, **spec, "config": {**vega_config(), **own}}

    def picture(self) -> str:
        """The chart at its defaults as an SVG document, as Vega draws it."""
        from llmserve_lab.extras import vl_convert

        # Vega numbers its clips on from figure to figure; here each starts at 0.
        svg, numbers = str(vl_convert.vegalite_to_svg(self.spec)), dict[str, str]()
        return re.sub(
            r"\bclip\d+\b",
            lambda clip: numbers.setdefault(clip.group(), f"clip{len(numbers)}"),
            svg,
        )

    def __repr__(self) -> str:
        return self.caption()

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        from llmserve_lab.page.live.html import figure_html

        return {"text/plain": self.caption(), "text/html": figure_html(self)}
