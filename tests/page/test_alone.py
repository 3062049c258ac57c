"""The picture for viewers that drop drawings says what the drawing says."""

import re
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest

from llmserve_lab.page.alone import IMAGE, TYPE, alone, document
from llmserve_lab.page.build.slim import slim
from llmserve_lab.page.live.registry import figures, steps
from llmserve_lab.page.palette import HATCH
from llmserve_lab.page.still import StaticFigure

KINDS: tuple[dict[str, Callable[[], Any]], ...] = (figures(), steps())
# A few of each, by name.
MADE = {name: kind[name] for kind in KINDS for name in [*kind][::10]}
DRAWN = re.compile(r"(<svg\b(?:(?!<svg\b).)*</svg>)</div>\s*(<img[^>]*>)", re.S)
SOURCE = re.compile(rf'src="{re.escape(TYPE)}([^"]+)"')


@cache
def stored(name: str) -> str:
    """What a notebook stores of a figure."""
    html: str = MADE[name]()._repr_mimebundle_()["text/html"]
    return html


def opened(image: str) -> ElementTree.Element:
    """The drawing in an image, as a browser would parse it: alone, and strictly."""
    found = SOURCE.search(image)
    assert found
    return ElementTree.fromstring(b64decode(found.group(1)))


def words(root: ElementTree.Element) -> list[str]:
    return ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("text")]


@pytest.mark.parametrize("name", MADE)
def test_the_image_has_the_words_and_the_marks_of_the_drawing(name: str) -> None:
    pairs = DRAWN.findall(stored(name))
    assert len(pairs) == len(IMAGE.findall(stored(name))) > 0
    for svg, beside in pairs:
        drawn, image = ElementTree.fromstring(svg), opened(beside)
        assert words(image) == words(drawn)
        assert len(list(image.iter())) >= len(list(drawn.iter())) + 1  # its ground


@pytest.mark.parametrize("name", MADE)
def test_the_image_needs_no_page(name: str) -> None:
    """No variable of a style sheet, no pattern that is elsewhere; a white ground."""
    for image in IMAGE.findall(stored(name)):
        root = opened(image)
        text = ElementTree.tostring(root, encoding="unicode")
        assert "var(" not in text
        own = {e.get("id") for e in root.iter()}
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= own
        assert (root[0].get("fill"), root[0].get("width")) == ("#fff", "100%")
        assert root.get("width") and root.get("height")


def test_the_built_page_leaves_it_out() -> None:
    for html in map(stored, MADE):
        assert IMAGE.search(html)
        assert not IMAGE.search(slim(html))


def test_a_static_figure_has_one_too() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9"><text>A</text></svg>'
    image = IMAGE.findall(StaticFigure(svg, "It shows A.").html())
    assert [words(opened(each)) for each in image] == [["A"]]


def test_what_is_idle_stays_hatched() -> None:
    svg = f'<svg width="9" height="9"><rect fill="{HATCH}"/></svg>'
    assert f'<pattern id="{HATCH[5:-1]}"' in document(svg)
    assert "<pattern" not in document(svg.replace(HATCH, "#fff"))


def test_it_is_hidden_where_styles_are_kept() -> None:
    assert alone("<svg/>".replace("/>", "></svg>")).endswith('style="display: none">')
    with pytest.raises(ValueError, match="svg must begin with <svg>, got '<p>"):
        document("<p>")
