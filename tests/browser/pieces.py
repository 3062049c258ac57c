"""A bare page with some pieces of the book on it, in a folder of its own."""

import shutil
from pathlib import Path
from typing import Any

from vendor_runtime import RUNTIME, vendor

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SCRIPTS = (
    *("tables.js", "si.js", "keep.js", "address.js", "figure_parts.js"),
    *("live.js", "step.js", "question.js"),
)
STYLES = ("book.css", "text.css", "lists.css")
LOADED = "\n".join(f'<script defer src="{s}"></script>' for s in ("vega.js", *SCRIPTS))
LINKED = "".join(f'<link rel="stylesheet" href="{s}">' for s in STYLES)
PAGE = f"""<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Pieces</title>
<link rel="icon" href="data:,">{LINKED}
<style>html[data-theme=dark] {{ background: #121212; color-scheme: dark; }}</style>
{LOADED}</head>
<body>NAVIGATION<main><h1>Pieces</h1>PIECES</main></body></html>"""


def html_of(item: Any) -> str:
    """What an object shows in a page."""
    return str(item._repr_mimebundle_()["text/html"])


def prepare(folder: Path) -> None:
    """Put the scripts and the style beside the pages of a folder."""
    for name in (*SCRIPTS, *STYLES):
        shutil.copy(ASSETS / name, folder)
    if RUNTIME.is_file():
        shutil.copy(RUNTIME, folder / "vega.js")
    else:
        vendor(folder / "vega.js")


def write(folder: Path, name: str, *items: Any, navigation: str = "") -> Path:
    """Write a page with these objects, or texts of HTML, one below the other."""
    parts = [item if isinstance(item, str) else html_of(item) for item in items]
    page = PAGE.replace("NAVIGATION", navigation).replace("PIECES", "\n".join(parts))
    (folder / name).write_text(page, "utf8")
    return folder / name
