"""A picture for viewers that take drawings and styles out of a stored output.

GitHub's is one: of the HTML that a notebook stores it shows text, tables and images,
and drops inline SVG, scripts and styles. So each figure also brings its drawing as an
image on white, in fixed colours. Its own style hides it; where styles are dropped, it
shows.
"""

from __future__ import annotations

import re
from base64 import b64encode

from llmserve_lab.page.html import tag
from llmserve_lab.page.palette import FONT, GREY, HATCH, PAGE_CSS, on_paper

CLASS = "alone"
IMAGE = re.compile(rf'<img class="{CLASS}"[^>]*>\n?')  # what a built page leaves out
ROOT = re.compile(r"<svg\b[^>]*>")
TYPE = "data:image/svg+xml;base64,"


def hatching(key: str, *, ink: str = GREY.css) -> str:
    """The pattern of what is idle, under an id of its own."""
    line = f'stroke="{ink}" stroke-width="1.6"'
    path = f'<path d="M0,6L6,0M-1.5,1.5L1.5,-1.5M4.5,7.5L7.5,4.5" {line}/>'
    size = 'width="6" height="6" patternUnits="userSpaceOnUse"'
    return f'<defs><pattern id="{key}" {size}>{path}</pattern></defs>'


def document(svg: str) -> str:
    """A drawing that needs no page: white ground, a font, colours that are numbers."""
    own = svg.replace(PAGE_CSS, "#fff").replace(' aria-hidden="true"', "")
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    if HATCH in own:
        ground += hatching(HATCH[5:-1], ink=GREY.light)
    head = ROOT.match(own)
    if head is None:
        raise ValueError(f"svg must begin with <svg>, got {svg[:40]!r}")
    first = f'{head.group()[:-1]} font-family="{FONT}">'
    return on_paper(f"{first}{ground}{own[head.end() :]}")


def alone(svg: str) -> str:
    """The drawing once more, as an image that is hidden wherever styles are kept."""
    data = b64encode(document(svg).encode()).decode()
    return tag("img", class_=CLASS, alt="", src=f"{TYPE}{data}", style="display: none")
