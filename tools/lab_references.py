"""Write what JupyterLab cannot know of other files: `labextension/references.js`.

It is the references that a chapter cites, and the chapter in which an equation stands.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "labextension" / "references.js"
HEAD = (
    "/* Written by tools/lab_references.py from references.bib and the chapters. */\n"
)
LISTED = re.compile(
    r"^```\{bibliography\}\n(?:.*\n)*?:keyprefix: (\S+)\n:labelprefix: (\S+)\n", re.M
)
EQUATION = re.compile(r'id=\\"(eq-[^"\\]+)\\"')
CITED = re.compile(r"\{cite:[pt]\}`([^`]+)`")


def chapters() -> dict[str, dict[str, Any]]:
    """Prefix of a chapter's citations -> its letter and its keys as first cited."""
    found = {}
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        text = _prose(path)
        listed = LISTED.search(text)
        if listed:
            prefix, letter = listed.groups()
            keys = [key for group in CITED.findall(text) for key in group.split(",")]
            bare = [key.strip().removeprefix(prefix) for key in keys]
            found[prefix] = {"letter": letter, "keys": list(dict.fromkeys(bare))}
    return found


def entries() -> dict[str, str]:
    """Key of each entry of references.bib -> the entry as one line of Markdown."""
    from pybtex.database import parse_file
    from pybtex.plugin import find_plugin

    style = find_plugin("pybtex.style.formatting", "unsrt")()
    markdown = find_plugin("pybtex.backends", "markdown")()
    known = parse_file(str(ROOT / "references.bib"))
    return {
        entry.key: entry.text.render(markdown).replace("\n", " ")
        for entry in style.format_bibliography(known)
    }


def places() -> dict[str, list[str]]:
    """Chapter -> the names of its equations, for links from other pages."""
    return {
        path.stem: list(dict.fromkeys(EQUATION.findall(path.read_text("utf8"))))
        for path in sorted((ROOT / "chapters").glob("*.ipynb"))
    }


def _prose(path: Path) -> str:
    cells = json.loads(path.read_text("utf8"))["cells"]
    return "\n\n".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    )


def script() -> str:
    """The file: what the chapters cite, and where the equations stand."""
    cited, every = chapters(), entries()
    used = {key: every[key] for chapter in cited.values() for key in chapter["keys"]}
    table = {"chapters": cited, "text": used}
    lines = "".join(
        f"{json.dumps(chapter)}: {json.dumps(names)},\n"
        for chapter, names in places().items()
        if names
    )
    return (
        f"{HEAD}window.llmserveReferences = {json.dumps(table, indent=0)};\n"
        f"window.llmserveReferences.places = {{\n{lines}}};\n"
    )


if __name__ == "__main__":
    TABLE.write_text(script(), "utf8")
