"""A built page is shorter than its stored outputs, and looks the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from llmserve_lab.page.build.slim import slim

FILL = "var(--fig-grey, #5c6670)"
TEXTS = "".join(
    f'<text text-anchor="{at}" font-size="12px" fill="{FILL}">a</text>'
    for at in ("middle", "middle", "end")
)
CELL = re.compile(r'<(t[hdr])(?: class="?(\w+)"?)?(?: scope="?(\w+)"?)?>([^<]*)')
SVG = f'<svg xmlns="http://www.w3.org/2000/svg"><g><path d="M0,0" />{TEXTS}</g></svg>'


def said(svg: str, name: str) -> list[str]:
    """What each text of a drawing has of an inherited attribute."""
    root = ElementTree.fromstring(svg)
    texts = [e for e in root.iter() if e.tag.endswith("text")]
    return [text.get(name, root.get(name, "")) for text in texts]


def test_each_text_keeps_what_it_says() -> None:
    short = slim(SVG)
    assert len(short) < len(SVG)
    for name in ("text-anchor", "font-size"):
        assert said(short, name) == said(SVG, name)


def test_a_text_that_says_nothing_is_not_given_the_others_size() -> None:
    mixed = SVG.replace(' font-size="12px"', "", 1)
    assert said(slim(mixed), "font-size") == said(mixed, "font-size")


def test_a_text_without_an_anchor_starts_where_it_stands() -> None:
    mixed = SVG.replace(' text-anchor="end"', "")
    assert said(slim(mixed), "text-anchor") == ["middle", "middle", "start"]


def test_colours_are_the_style_sheets() -> None:
    page = f"<p>x</p>{SVG}"
    assert "#5c6670" not in slim(page) and "var(--fig-grey)" in slim(page)


def test_the_rest_of_a_page_stays() -> None:
    page = '<p class="n">var(--fig-grey, #5c6670)</p><span class="k">def</span>'
    assert slim(page) == page
    assert slim('<span class="n">x</span><span class="w"> </span>') == "x "


def test_a_look_in_a_class_reaches_a_marker_that_is_used_elsewhere() -> None:
    """Inside a <use> no selector sees the picture, so the class stands alone, too."""
    mark = '<path d="M0 0h2" style="fill:red" />'
    page = f'<svg xmlns="http://www.w3.org/2000/svg"><defs>{mark * 3}</defs></svg>'
    assert ".z0{fill:red}" in slim(page).replace("svg .z0,", "")


def test_a_table_is_read_as_it_was() -> None:
    row = '<tr><th scope="row">a</th><td class="num">1</td><td>b</td></tr>\n'
    body = f"<thead>\n{row}</thead>\n<tbody>\n{row * 2}</tbody>\n"
    page = f'<table class="catalog" data-run="e5">{body}</table><td class="num">x</td>'
    short = slim(page)
    assert len(short) < len(page) and short.endswith('<td class="num">x</td>')
    before, after = (CELL.findall(each) for each in (page, short))
    assert after == before


def test_synonyms_of_entries_become_data() -> None:
    entry = '<div role="listitem" data-also="TPOT &amp; gap" id="letter-a" class="f">'
    short = slim(entry)
    assert "data-also" not in short and '{"letter-a":"TPOT & gap"}' in short


def test_a_letter_of_the_index_is_plain_and_those_of_formulas_stay_marked() -> None:
    letter = (
        r'<li id="letter-a"><span class="math">\(\class{q-a}{a_{b}}\)</span> a</li>'
    )
    formula = r'<li id="formula-f"><p>\(\class{q-a}{a_{b}}\)</p></li>'
    short = slim(f"<ul>{letter}\n{formula}</ul>")
    assert r"\(a_{b}\)" in short and r"\class{q-a}{a_{b}}\)</p>" in short
    assert short.count("<li ") == 2 and short.count("</li>") == 1
