"""A bench is for what needs Python: turn its knobs in a notebook, or read the page.

On the static page a bench is its picture and one line on how to start it; where the
book has a button for Binder, :mod:`llmserve_lab.page.build.launch` names that. In a
live notebook the same object is its widgets. No reader meets a control that does
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmserve_lab.page.html import escape, tag
from llmserve_lab.page.still import StaticFigure

START = (
    "To turn the knobs of this bench, run make lab in the folder of the book, open "
    "this chapter there and run this cell."
)


@dataclass(frozen=True)
class Choose:
    """One of several options, chosen from a list."""

    label: str
    options: tuple[str, ...]
    default: str

    def widget(self) -> Any:
        """The ipywidgets control."""
        from llmserve_lab.extras import ipywidgets as widgets

        return widgets.Dropdown(
            options=self.options, value=self.default, description=self.label, **WIDE
        )


@dataclass(frozen=True)
class Turn:
    """A whole number, typed or stepped, between ``low`` and ``high``."""

    label: str
    low: int
    high: int
    default: int

    def widget(self) -> Any:
        """The ipywidgets control."""
        from llmserve_lab.extras import ipywidgets as widgets

        return widgets.BoundedIntText(
            value=self.default,
            min=self.low,
            max=self.high,
            description=self.label,
            **WIDE,
        )


@dataclass(frozen=True)
class Write:
    """A line of text, such as a path; empty at first. Enter hands it over."""

    label: str
    placeholder: str

    def widget(self) -> Any:
        """The ipywidgets control."""
        from llmserve_lab.extras import ipywidgets as widgets

        return widgets.Text(
            description=self.label,
            placeholder=self.placeholder,
            continuous_update=False,
            **WIDE,
        )


WIDE: dict[str, Any] = {
    "style": {"description_width": "11em"},
    "layout": {"width": "min(30em, 100%)"},
}
Knob = Choose | Turn | Write


@dataclass(frozen=True)
class PartialAnswer:
    """What is known so far: HTML, when ``done`` of ``total`` equal pieces are done."""

    html: str
    done: int = 1
    total: int = 1


@dataclass(frozen=True)
class Bench:
    """Knobs, and a function of their settings that returns HTML to show below them.

    ``show`` takes the knobs' names as keywords and returns HTML in which ``$$ … $$``
    is mathematics. What takes long it may yield part by part instead: each is shown
    as it comes, below a bar that says how much is done. A ValueError, LookupError or
    OSError is shown to the reader as the answer to a wrong setting. ``picture`` is what
    the page shows.
    """

    title: str
    knobs: Mapping[str, Knob]
    show: Callable[..., str | Iterator[PartialAnswer]]
    picture: StaticFigure
    _made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def parts(self, **settings: Any) -> Iterator[PartialAnswer]:
        """What the bench shows at these settings, in its parts; an error ends them."""
        try:
            shown = self.show(**settings)
            yield from [PartialAnswer(shown)] if isinstance(shown, str) else shown
        except (ValueError, LookupError, OSError) as error:
            text = escape(f"Not possible: {error}")
            yield PartialAnswer(tag("p", text, class_="bench-error"))

    def answer(self, **settings: Any) -> str:
        """What the bench shows in the end, an error as a readable sentence."""
        *_, last = self.parts(**settings)
        return last.html

    def widget(self) -> Any:
        """The knobs above their answer, as one ipywidgets box."""
        from llmserve_lab.extras import ipywidgets as widgets

        made = {name: knob.widget() for name, knob in self.knobs.items()}
        bar = widgets.IntProgress(description="computed", **WIDE)
        below = widgets.HTMLMath()

        def answer(_change: Any = None) -> None:
            for part in self.parts(**{name: w.value for name, w in made.items()}):
                bar.max, bar.value = part.total, part.done
                bar.layout.display = "none" if part.done == part.total else None
                below.value = part.html

        for control in made.values():
            control.observe(answer, names="value")
        answer()
        self._made.update(made, answer=below)
        return widgets.VBox([*made.values(), bar, below])

    def __repr__(self) -> str:
        return f"{self.title}. {self.picture.sentence}"

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, Any]:
        """The page's form, and beside it the live one, which a notebook prefers."""
        head = tag("p", escape(self.title), class_="live-title")
        start = tag("p", escape(START), class_="bench-start")
        page = tag("div", head + self.picture.html() + start, class_="bench")
        live = self.widget()._repr_mimebundle_()
        key = "application/vnd.jupyter.widget-view+json"
        return {"text/plain": repr(self), "text/html": page, key: live[key]}
