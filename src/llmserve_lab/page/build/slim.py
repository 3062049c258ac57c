"""A built page without what only a notebook needs: each byte is read by a browser.

A Sphinx extension, loaded from ``_config.yml``. Stored outputs stand alone: every
figure brings the line that loads the runtime in JupyterLab, and every colour its
fallback. A built page has one runtime and one style sheet.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from llmserve_lab.page.html import bootstrap

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
FALLBACK = re.compile(r"var\((--fig-\w+), #[0-9a-f]{6}\)")
PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')
NAMESPACE = "http://www.w3.org/2000/svg"
# Attributes of text that its parents can have for it, and what they are without.
OF_TEXT = {"text-anchor": "start", "font-size": "", "font-weight": ""}


def slim(body: str) -> str:
    """The HTML of a page's body, shorter, and the same to look at."""
    body = PICTURE.sub(lambda match: _picture(match.group()), body)
    return PLAIN.sub(r"\1", body.replace(bootstrap(), ""))


def _picture(svg: str) -> str:
    """A drawing whose texts have in common what most of them say."""
    svg = FALLBACK.sub(r"var(\1)", svg)
    texts = svg.count("<text")
    return svg if texts < 3 else _hoisted(svg)


def _hoisted(svg: str) -> str:
    """Attributes that most texts share stand once, at the root."""
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(svg)
    texts = [e for e in root.iter() if e.tag.rpartition("}")[2] == "text"]
    for name, default in OF_TEXT.items():
        said = [text.get(name, default) for text in texts]
        most, _ = Counter(said).most_common(1)[0]
        if not most or "" in said or name in root.attrib:
            continue
        root.set(name, most)
        for text, value in zip(texts, said, strict=True):
            text.attrib.pop(name, None)
            if value != most:
                text.set(name, value)
    return ElementTree.tostring(root, encoding="unicode")


def shorten(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Sphinx is about to write a page: shorten its body."""
    if "body" in context:
        context["body"] = slim(context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx, after the records have been gathered."""
    app.connect("html-page-context", shorten, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
