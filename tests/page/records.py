"""The records of where numbers are from, as stored in the chapters' outputs."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import quickjs

from llmserve_lab.page.build.number_cards import stored_records
from llmserve_lab.page.number_record import Data, merged

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
SCRIPTS = [
    ROOT / "assets" / f"{name}.js"
    for name in ("provenance_records", "provenance_text", "provenance")
]
MARK = re.compile(r'<span class="sourced" data-sourced="([\w-]+)">(.*?)</span>')
READOUT = re.compile(r'<output data-readout="(\w+)" data-value="([^"]+)"')
FIGURE = re.compile(r'<figure class="live" id="([\w-]+)".*?</figure>', re.DOTALL)
PROSE = re.compile(r"\[([^\[\]]*)\]\(#num-(\w+)\)")
# What the script asks of a page before it is told to do anything.
NO_PAGE = """
var window = {addEventListener() {}};
var document = {readyState: "loading", addEventListener() {}};
"""


def stored_html(notebook: dict[str, Any]) -> Iterator[str]:
    """Every piece of HTML that a notebook stores."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            yield "".join(output.get("data", {}).get("text/html", ""))


@cache
def notebook_of(path: Path) -> dict[str, Any]:
    """A notebook as it lies on disk."""
    notebook: dict[str, Any] = json.loads(path.read_text("utf8"))
    return notebook


@cache
def records_of(path: Path) -> Data:
    """All records of one chapter, as its built page holds them."""
    return merged(*stored_records(notebook_of(path)))


def marks_of(path: Path) -> Iterator[tuple[str, str]]:
    """Key and text of every number that can be asked: in outputs, and in prose."""
    for piece in stored_html(notebook_of(path)):
        for key, text in MARK.findall(piece):
            yield key, html.unescape(re.sub(r"<[^>]*>", "", text))
    for cell in notebook_of(path)["cells"]:
        if cell["cell_type"] == "markdown":
            for text, key in PROSE.findall("".join(cell["source"])):
                yield key, text


def readouts_of(path: Path) -> Iterator[tuple[str, str, float]]:
    """Figure, name and stored value of every readout."""
    for piece in stored_html(notebook_of(path)):
        for figure in FIGURE.finditer(piece):
            for name, value in READOUT.findall(figure[0]):
                yield figure[1], name, float(value)


class Browser:
    """The page's script in a JavaScript engine, with the records of one chapter."""

    def __init__(self, records: Data) -> None:
        self.engine = quickjs.Context()
        self.engine.eval(NO_PAGE)
        for script in SCRIPTS:
            self.engine.eval(script.read_text("utf8"))
        self.engine.eval("var p = window.llmserveProvenance")
        self.engine.eval(f"p.add({json.dumps(records)})")

    def number(self, key: str) -> float:
        """What the script makes of a stored number."""
        asked = f"p.storedWorking(p.book.numbers.get({json.dumps(key)})).value"
        return float(self.engine.eval(asked))

    def readout(self, figure: str, name: str) -> float:
        """What the script makes of a readout at the figure's stored setting."""
        live = f"new p.Live({{id: {json.dumps(figure)}}}).of({json.dumps(name)})"
        return float(self.engine.eval(f"(f => f.working?.value ?? f.value)({live})"))

    def band(self, figure: str, name: str) -> str:
        """What the script writes beside a readout at the stored setting."""
        root = f"{{id: {json.dumps(figure)}}}"
        asked = f"p.bandText(new p.Live({root}).band({json.dumps(name)}))"
        return str(self.engine.eval(asked))
