"""Every number answers for itself: the record that stands in the page beside it.

A record is made when the notebook runs. It names a formula and what was put in, a cited
source, or the run that printed the number. Formulas, letters and sources are kept once,
by name, and numbers refer to them; the page's script (``assets/provenance.js``) puts a
card together when the reader asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.band import ErrorBand
from llmserve_lab.formula.latex import template
from llmserve_lab.formula.origin import (
    Assignment,
    CellRun,
    Computed,
    Evidence,
    Origin,
    hand_in,
)
from llmserve_lab.formula.quantity import Coefficient, Quantity
from llmserve_lab.formula.text import kept, said_unit, without_links
from llmserve_lab.formula.tree import prefix_form
from llmserve_lab.page.band_beside import shown
from llmserve_lab.page.html import data_script, digest, escape, tag
from llmserve_lab.page.live.bands import BandTable, ReadoutBand, opens_with
from llmserve_lab.page.live.readout import Readout

if TYPE_CHECKING:
    from llmserve_lab.formula.equation import Equation
    from llmserve_lab.page.live.controls import Lookup
    from llmserve_lab.page.live.figure import LiveFigure
    from llmserve_lab.page.live.readout import Bound

PARTS = (
    "formulas",
    "quantities",
    "sources",
    "texts",
    "steps",
    "bands",
    "tables",
    "numbers",
    "figures",
)
SCRIPT = "provenance-data"  # class of the element that holds the records
Data = dict[str, dict[str, Any]]


class Provenance:
    """The records of one output: each formula, letter, source, band, number once."""

    def __init__(self) -> None:
        self.data: Data = {part: {} for part in PARTS}

    def number(
        self,
        origin: Origin,
        name: str = "",
        band: ErrorBand | None = None,
        *,
        predicted: bool = False,
    ) -> str:
        """Record a number by its origin; returns the key that its mark refers to.

        The key is ``name``, if it has one, as numbers in prose do. ``band`` is its
        error band, where the origin has none. What is ``predicted`` alone says so.
        """
        band = (origin.band if isinstance(origin, Computed) else None) or band
        held: dict[str, Any] = {} if band is None else {"band": self.band(band)}
        if predicted and band is None:
            held = {"p": 1}
        record = self._record(origin) | held
        key = name or digest(record)
        self.data["numbers"][key] = record
        return key

    def mark(self, text: str, origin: Origin) -> str:
        """The text as HTML, with a mark that the page's script finds."""
        return marked(escape(text), self.number(origin))

    def records(self) -> Data:
        """What has been recorded, without parts that are empty."""
        return {part: found for part, found in self.data.items() if found}

    def script(self) -> str:
        """The records in a data element, empty where there are none."""
        return data_script(data, SCRIPT) if (data := self.records()) else ""

    def _record(self, origin: Origin) -> dict[str, Any]:
        if isinstance(origin, Computed):
            self.formula(origin.formula)
            known = origin.formula.known()
            given = {
                name: self._given(known[name], value)
                for name, value in sorted(origin.given.items())
            }
            return {"formula": origin.formula.label, "given": given}
        if isinstance(origin, CellRun):
            steps = [self._step(each) for each in origin.steps]
            return {"run": self._run(origin.call, origin, steps)}
        return {"source": self.source(origin)}

    def _run(self, text: str, run: CellRun | Assignment, more: Any) -> list[Any]:
        settings = {n: self._setting(v) for n, v in run.settings.items()}
        held = [text, run.does, settings, more]
        while not held[-1]:  # what is not known is not said
            held.pop()
        return held

    def _step(self, step: Assignment) -> str:
        """Record an assignment behind numbers; returns the key."""
        if step.exact is None:
            record = self._run(step.text, step, None)
        else:  # its card says the rest
            record = [step.text, "", {}, self._record(step.exact)]
        key = digest(record)[:5]
        self.data["steps"][key] = record
        return key

    def _given(self, term: Quantity, value: Any) -> Any:
        """A number in the unit of its letter; with the key of its source, if it has."""
        number = kept(float(term.checked(value)))
        return [number, self.source(value)] if isinstance(value, Evidence) else number

    def _setting(self, value: Any) -> Any:
        if not isinstance(value, Evidence):
            return str(value)
        return [
            str(value.shown() if hasattr(value, "shown") else value.value),
            self.source(value),
        ]

    def source(self, evidence: Evidence) -> str:
        """Record a source; returns the key."""
        line = [evidence.kind, evidence.source, evidence.url, evidence.note]
        while not line[-1]:
            line.pop()
        key = digest(line)[:6]
        self.data["sources"][key] = line
        return key

    def band(self, band: ErrorBand) -> str:
        """Record an error band; returns the key."""
        record = band.record()
        if "how" in record:
            record["how"] = self._text(record["how"])
        key = digest(record)[:6]
        self.data["bands"][key] = record
        return key

    def _text(self, text: str) -> str:
        """Record what many bands say; returns the key."""
        key = digest(text)[:6]
        self.data["texts"][key] = text
        return key

    def formula(self, formula: Equation) -> None:
        """Record a formula, its letters, and the formulas below it."""
        for step in formula.steps():
            if step.label not in self.data["formulas"]:
                self.data["formulas"][step.label] = _formula(step)
                self.data["quantities"] |= _quantities(step)

    def figure(self, key: str, figure: LiveFigure) -> None:
        """Record where the numbers under a live figure are from, at any setting."""
        numbers = {
            readout.name: readout.name
            if (bound := readout.bound) is None
            else self._bound(bound)
            for readout in figure.readouts
            if isinstance(readout, Readout)
        }
        derived = {name: self._bound(bound) for name, bound in figure.bounds.items()}
        self.data["figures"][key] = {
            "readouts": numbers,
            "derived": derived,
            "lookups": {lookup.name: self._lookup(lookup) for lookup in figure.lookups},
            "now": figure.values(),
            "starts": {
                slider.name: self.source(slider.source)
                for slider in figure.sliders
                if slider.source is not None
            },
        }
        if bands := self._bands(figure):
            self.data["figures"][key]["bands"] = bands

    def _bands(self, figure: LiveFigure) -> dict[str, Any]:
        """Which band a readout has, by name: of all settings, the first, or each."""
        return {
            readout.name: self._held(readout.band, figure)
            for readout in figure.readouts
            if isinstance(readout, Readout) and readout.band is not None
        }

    def _held(self, band: ReadoutBand, figure: LiveFigure) -> dict[str, Any]:
        if not isinstance(band, BandTable):
            return {"opens" if opens_with(band) else "of": self.band(band)}
        keys = [self.band(each) for each in band.times.bands(figure.controls)]
        names = [*dict.fromkeys(keys)]
        at = [names.index(key) for key in keys]
        table = {"by": [*band.stops(figure.controls).items()], "of": names, "at": at}
        key = digest(table)[:6]
        self.data["tables"][key] = table
        return {"table": key} | ({"rate": True} if band.rate else {})

    def _bound(self, bound: Bound) -> dict[str, Any]:
        self.formula(bound.formula)
        known = bound.formula.known()
        at = {
            name: value if isinstance(value, str) else self._given(known[name], value)
            for name, value in bound.at.items()
            if value != name
        }
        return {"formula": bound.formula.label} | ({"at": at} if at else {})

    def _lookup(self, lookup: Lookup) -> dict[str, Any]:
        return {"by": lookup.by, "sources": self._sources(lookup.table)}

    def _sources(self, table: Any) -> Any:
        if isinstance(table, tuple | list):
            found = [self._sources(entry) for entry in table]
            return found if any(found) else None
        return self.source(table) if isinstance(table, Evidence) else None


def beside(computed: Computed, text: str) -> str:
    """Small print under a worked line: the result, and sources of what was put in."""
    book = Provenance()
    by_source: dict[str, list[str]] = {}
    for name, value in sorted(computed.given.items()):
        if isinstance(value, Evidence):
            term = computed.formula.known()[name]
            by_source.setdefault(_cited(value), []).append(escape(term.meaning))
    said = "; ".join(f"{', '.join(names)}: {who}" for who, names in by_source.items())
    number = book.mark(text, computed) + shown(computed.band)
    line = f"{number} · {said or 'all values are chosen here'}"
    return tag("p", line, class_="worked-sources") + book.script()


def _cited(evidence: Evidence) -> str:
    """A source in short, linked where it is on the web, and its kind."""
    short = escape(evidence.source.split(",")[0])
    is_web = evidence.url.startswith("https://")
    who = tag("a", short, href=evidence.url) if is_web else short
    return f"{who} ({evidence.kind})"


def marked(html: str, key: str) -> str:
    """A piece of HTML as a number that can be asked where it is from."""
    return tag("span", html, class_="sourced", data_sourced=key)


def merged(*parts: Mapping[str, Mapping[str, Any]]) -> Data:
    """The records of several outputs as those of one page."""
    found: Data = {part: {} for part in PARTS}
    for each in parts:
        for part, records in each.items():
            found[part] |= records
    return {part: records for part, records in found.items() if records}


@cache
def _formula(formula: Equation) -> dict[str, Any]:
    """What a card says of a formula; the values put in come with the number."""
    coefficients = {
        name: term.value
        for name, term in formula.terms.items()
        if isinstance(term, Coefficient)
    }
    record = {
        "title": formula.title,
        "result": formula.name if formula.variant else "",
        "numbers": coefficients,
        "uses": [used.label for used in formula.uses if used.name in formula.terms],
        "tree": prefix_form(formula),
        "latex": template(formula),
        "holds": without_links(formula.holds),
        "from": without_links(formula.source),
    }
    return {name: value for name, value in record.items() if value}


@cache
def _quantities(formula: Equation) -> dict[str, list[str]]:
    """Letter, unit and meaning of a formula's terms and of its result."""
    terms = [*formula.terms.values(), formula.result]
    return {
        term.name: [term.symbol, said_unit(term.unit), term.meaning]
        for term in terms
        if not isinstance(term, Coefficient)
    }


hand_in(beside)
