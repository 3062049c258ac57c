"""A book of a few small notebooks, built with the book's own extension in a second."""

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

ASSETS = Path(__file__).resolve().parents[2] / "assets"
CONF = {
    "project": "mini",
    "extensions": [
        *("myst_nb", "sphinx_external_toc", "sphinx_multitoc_numbering"),
        *("sphinx_exercise", "llmserve_lab.page.build"),
    ],
    "nb_execution_mode": "off",
    "nb_ipywidgets_js": {},
    "myst_enable_extensions": ["dollarmath"],
    "external_toc_path": "_toc.yml",
    "use_multitoc_numbering": True,
    "numfig": True,
    "html_theme": "basic",
    "nitpicky": True,
}
Shown = str | Mapping[str, Any]  # Markdown, or what a cell displays


def cell(shown: Shown, number: int) -> dict[str, Any]:
    """A cell of Markdown, or one whose code is hidden and whose output is given."""
    common: dict[str, Any] = {"id": f"cell{number}", "metadata": {}}
    if isinstance(shown, str):
        return {"cell_type": "markdown", "source": shown, **common}
    output = {"output_type": "display_data", "metadata": {}, "data": dict(shown)}
    more = {"source": "1", "execution_count": 1, "outputs": [output]}
    common["metadata"] = {"tags": ["remove-input"]}
    return {"cell_type": "code", **common, **more}


def html(item: Any) -> dict[str, str]:
    """What a cell stores that ends in ``item``."""
    if hasattr(item, "_repr_mimebundle_"):
        bundle: dict[str, str] = item._repr_mimebundle_()
        return bundle
    return {"text/plain": repr(item), "text/html": item._repr_html_()}


def write(
    folder: Path, pages: Mapping[str, Sequence[Shown]], parts: Sequence[Sequence[str]]
) -> None:
    """Lay the sources: notebooks, a front page, and parts that name their pages."""
    (folder / "chapters").mkdir(parents=True)
    for name, cells in pages.items():
        notebook = {
            "cells": [cell(shown, i) for i, shown in enumerate(cells)],
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        path = folder / "chapters" / f"{name}.ipynb"
        path.write_text(json.dumps(notebook), "utf8")
    (folder / "intro.md").write_text("# Mini\n\nA book.\n", "utf8")
    contents(folder, parts)


def contents(folder: Path, parts: Sequence[Sequence[str]]) -> None:
    """Write the table of contents: the one file that orders the book."""
    lines = ["format: jb-book", "root: intro", "parts:"]
    for part in parts:
        lines += ["- caption: A part", "  numbered: 1", "  chapters:"]
        lines += [f"  - file: chapters/{page}" for page in part]
    (folder / "_toc.yml").write_text("\n".join(lines) + "\n", "utf8")


def build(folder: Path, out: str = "html", **more: Any) -> tuple[Path, str]:
    """Build the pages; return their folder and what Sphinx warned about."""
    warned = io.StringIO()
    with warnings.catch_warnings(), docutils_namespace():
        warnings.simplefilter("ignore")  # of Sphinx and its extensions about each other
        app = Sphinx(
            folder,
            None,
            folder / out,
            folder / f"{out}-trees",
            "html",
            confoverrides=CONF | more,
            status=None,
            warning=warned,
            freshenv=True,
        )
        app.build()
    return folder / out / "chapters", warned.getvalue()
