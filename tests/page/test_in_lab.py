"""What JupyterLab renders of the chapters' MyST, and which cell a link means."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import quickjs

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("references.js", "markdown.js", "links.js")
RAW = (")=\n", "\n: ", "{raw}", "{.", '.html"', ".html#", "{cite", "{exercise", "{sol")


@cache
def engine() -> quickjs.Context:
    """The extension's scripts that need no page."""
    context = quickjs.Context()
    context.eval("var window = {};")
    for name in SCRIPTS:
        context.eval((ROOT / "labextension" / name).read_text("utf8"))
    return context


def called(function: str, *values: Any) -> Any:
    """What a function of the extension answers."""
    given = ", ".join(json.dumps(value) for value in values)
    return json.loads(engine().eval(f"JSON.stringify(window.{function}({given}))"))


def rewritten(text: str) -> str:
    known = "window.llmserveReferences"
    given = json.dumps(text)
    return str(engine().eval(f"window.llmserveMarkdown.rewritten({given}, {known})"))


def texts(path: Path) -> list[str]:
    """The Markdown of a page; a cell is one text."""
    if path.suffix == ".md":
        return [path.read_text("utf8")]
    cells = json.loads(path.read_text("utf8"))["cells"]
    return ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]


PAGES = [
    ROOT / "intro.ipynb",
    *sorted((ROOT / "chapters").glob("*.ipynb")),
    *sorted((ROOT / "chapters").glob("*.md")),
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_page_shows_its_markup(path: Path) -> None:
    shown = [rewritten(text + "\n") for text in texts(path)]
    assert shown and not [
        (mark, text[:80]) for text in shown for mark in RAW if mark in text
    ]


def test_a_target_is_a_place_and_a_page_a_notebook() -> None:
    assert '<a id="own-model"></a>' in rewritten("(own-model)=\n## Models")
    link = '<a href="sources.html#claim-1">1</a>'
    assert rewritten(link) == link.replace("html", "ipynb")


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ({"cell_type": "markdown", "source": "(own-model)=\n## Models"}, "own-model"),
        ({"cell_type": "markdown", "source": "## When it fails"}, "when-it-fails"),
        ({"cell_type": "markdown", "source": ["## A, *b*\n", "c"]}, "a-b"),
        ({"cell_type": "code", "outputs": [{"x": '<p id="eq-a">'}]}, "eq-a"),
    ],
)
def test_a_link_finds_its_cell(cell: dict[str, Any], name: str) -> None:
    assert called("llmserveLinks.holds", cell, name)
    assert not called("llmserveLinks.holds", cell, name[:-1])


def test_each_equation_that_a_page_names_is_in_one_chapter() -> None:
    table = engine().eval("JSON.stringify(window.llmserveReferences)")
    places = json.loads(table)["places"]
    every = [name for names in places.values() for name in names]
    assert len(every) == len(set(every)) > 100
    linked = {
        part.split(")")[0]
        for path in PAGES
        for text in texts(path)
        for part in text.split("](#")[1:]
        if part.startswith("eq-")
    }
    assert linked and linked <= set(every)
