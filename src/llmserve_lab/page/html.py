"""The small pieces of HTML that figures and questions share.

Everything is written in a fixed order with fixed names, so that the stored output of a
cell is the same, byte for byte, whenever and wherever it is made.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from typing import Any

from llmserve_lab.formula.text import LINK

# Where no style sheet of ours is read (a viewer of notebooks, perhaps a dark one), a
# figure is dark on white; the book's style sheet says otherwise.
ON_WHITE = "background: #fff; color: #1d2329"
VOID = ("img", "input")  # elements without an end


def escape(text: str) -> str:
    """Text made safe for HTML, inside and outside attributes."""
    return html.escape(text, quote=True)


def tag(name: str, content: str = "", /, **attributes: str | bool | None) -> str:
    """One element; ``content`` is HTML, attribute values are escaped here.

    A trailing underscore is dropped (``class_``), other underscores become hyphens;
    True is an attribute without a value, False and None leave it out.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is True:
            parts.append(key.rstrip("_").replace("_", "-"))
        elif value is not None and value is not False:
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{escape(value)}"')
    return f"<{' '.join(parts)}>" + ("" if name in VOID else f"{content}</{name}>")


def prose(text: str) -> str:
    r"""Paragraphs from plain text: blank lines part them, backticks set code.

    Mathematics between ``\(`` and ``\)`` is left for the page to typeset.
    """
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "".join(f"<p>{inline(paragraph)}</p>" for paragraph in paragraphs)


def inline(text: str) -> str:
    """One line of text with code between backticks and links, whitespace folded."""
    folded = re.sub(r"\s+", " ", escape(text.strip()))
    return linked(re.sub(r"`([^`]+)`", r"<code>\1</code>", folded))


def linked(markup: str) -> str:
    """Escaped text in which ``[words](#eq-name)`` is a link; the build numbers it."""
    return LINK.sub(r'<a class="named" href="#\2">\1</a>', markup)


def number_of_figure(name: str) -> str:
    """Where the number of a figure will stand: its name, which can be referred to."""
    if not name:
        return ""
    target = f"fig-{name}"
    link = tag("a", escape(name), class_="fig-number", id=target, href=f"#{target}")
    return f"{link} "


def symbol(latex: str) -> str:
    """A mathematical symbol that the page's MathJax typesets."""
    return tag("span", rf"\({escape(latex)}\)", class_="math notranslate nohighlight")


def data_script(data: Any, class_: str) -> str:
    """Data for the runtime, in a script element that no browser executes."""
    text = compact(data).replace("<", "\\u003c")
    return f'<script type="application/json" class="{class_}">{text}</script>'


def compact(data: Any) -> str:
    """JSON without spaces, keys sorted, 1024.0 as 1024."""
    short = _whole(data)
    return json.dumps(short, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _whole(data: Any) -> Any:
    """The same data; floats without a fraction as whole numbers, which are shorter."""
    if isinstance(data, dict):
        return {key: _whole(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_whole(value) for value in data]
    is_short = isinstance(data, float) and data.is_integer() and abs(data) < 1e15
    return int(data) if is_short else data


def digest(data: Any) -> str:
    """Eight hexadecimal digits that name a piece of data."""
    return hashlib.sha256(compact(data).encode()).hexdigest()[:8]
