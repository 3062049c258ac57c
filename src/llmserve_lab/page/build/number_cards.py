"""Where numbers are from, for a built page: the records of its outputs, each once.

A Sphinx extension, loaded from ``_config.yml``. Stored outputs carry their own records,
so that a notebook shows them anywhere. Here those of one page become one data element,
which also holds the records of the numbers that cells have glued into the prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmserve_lab.page.html import data_script
from llmserve_lab.page.number_record import SCRIPT, Data, merged

if TYPE_CHECKING:
    from sphinx.application import Sphinx

Context = dict[str, Any]
RUN_STEPS = 3  # where a run names what is behind it
ELEMENT = re.compile(
    rf'<script type="application/json" class="{SCRIPT}">(.*?)</script>\s*', re.DOTALL
)


def gathered(body: str, *stored: Data) -> str:
    """A page's HTML with all its records in one element."""
    found = map(json.loads, ELEMENT.findall(body))
    data = merged(*found, *stored)
    if "numbers" in data:
        data |= {"numbers": _short(data["numbers"])}
    if "steps" in data:
        _counted(data)
    return ELEMENT.sub("", body) + (data_script(data, SCRIPT) if data else "")


def _short(numbers: Context) -> Context:
    """Records of numbers without what says nothing: no band, no words, no settings."""
    short = {}
    for name, record in numbers.items():
        held = {key: value for key, value in record.items() if value is not None}
        if "run" in held:
            held["run"] = [*held["run"]]
            while not held["run"][-1]:
                held["run"].pop()
        short[name] = held
    return short


def _counted(data: Data) -> None:
    """Number the steps of a page as its numbers ask for them: a count is short."""
    runs = [each["run"] for each in data["numbers"].values() if "run" in each]
    asked = [run for run in runs if len(run) > RUN_STEPS]
    keys = {key: str(i) for i, key in enumerate(_asked_for(asked))}
    for run in asked:
        run[RUN_STEPS] = [keys[key] for key in run[RUN_STEPS]]
    data["steps"] = {short: data["steps"][key] for key, short in keys.items()}


def _asked_for(runs: list[list[Any]]) -> dict[str, None]:
    """Keys of the steps behind runs, each once."""
    return dict.fromkeys(key for run in runs for key in run[RUN_STEPS])


def stored_records(notebook: dict[str, Any]) -> Iterator[Data]:
    """The records in a notebook's outputs, those of hidden cells included."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ""))
            yield from map(json.loads, ELEMENT.findall(html))


def gather(app: Sphinx, page: str, template: str, context: Context, tree: Any) -> None:
    """Sphinx is about to write a page: put its records into one element."""
    if "body" not in context or page not in app.env.all_docs:
        return
    path = Path(app.env.doc2path(page))
    is_notebook = path.suffix == ".ipynb"
    notebook = json.loads(path.read_text("utf8")) if is_notebook else {"cells": []}
    context["body"] = gathered(context["body"], *stored_records(notebook))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("html-page-context", gather)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
