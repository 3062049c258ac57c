"""A built page without what only a notebook needs: each byte is read by a browser.

A Sphinx extension, loaded from ``_config.yml``. Stored outputs stand alone: every
figure brings the line that loads the runtime in JupyterLab, and every colour its
fallback. A built page has one runtime and one style sheet.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from llmserve_lab.page.alone import IMAGE
from llmserve_lab.page.html import compact, data_script

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
FALLBACK = re.compile(r"var\((--(?:fig|book)-\w+), #[0-9a-f]{3,6}\)")
DATA = re.compile(r'<script type="application/json" class="\w+-data">.*?</script>')
CHART = re.compile(
    r'<script type="application/json" class="((?:live|step)-data)">(.*?)</script>'
)
TAGGED = re.compile(r'(?<=<div class="cell) tag_remove-input(?= )')
FRAME = re.compile(r"M0,0h[\d.]+v[\d.]+h-[\d.]+Z")
MATHS = re.compile(r'(?<=\bmath) notranslate nohighlight(?=")')
WORDS = re.compile(r'(?<=<code class="docutils literal) notranslate(?=")')
MARK = '<span class="sourced" data-sourced='
# Neighbouring attributes that say how a part looks.
LOOK = re.compile(
    r"((?: (?:fill|stroke|stroke-width|stroke-dasharray|font-size|font-weight"
    r'|text-anchor|style)="[^"]*")+)(?=[ />])'
)
PLAIN_TAG = re.compile(r'<(?!svg)\w+(?![^>]* class=")[^>]*>')
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
MOVED = re.compile(r"translate\(([-.\d]+),\s*([-.\d]+)\)")
PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')
TABLE = re.compile(r'<table class="catalog".*?</table>', re.DOTALL)
# The next cell or row, or the table's end, ends a cell, a row, a part; so HTML has it.
ENDS = re.compile(r"</(?:t[dhr]|thead|tbody)>\n?")
OF_CELL = re.compile(r' (class|scope)="(\w+)"(?=[ >])')
ALSO = re.compile(r' data-also="([^"]*)"(?= id="([^"]*)")')
# A letter of the index stands beside its meaning and need not show it once more.
OWN = re.compile(
    r'(<li[^>]* id="letter-([\w-]+)"[^>]*><span class="math[^"]*">\\\()'
    r"\\class\{q-\2\}\{(.*?)\}(?=\\\)</span>)"
)
# The next item, or the list's end, ends an item of it.
ENDS_OF_INDEX = re.compile(r"</li>\n?(?=<li id=\"(?:letter|formula)-)")
APOSTROPHE = "&#x27;"  # every attribute stands between double quotes
NAMESPACE = "http://www.w3.org/2000/svg"
OF_LOOK = frozenset(
    {
        "fill",
        "stroke",
        "stroke-width",
        "stroke-dasharray",
        "font-size",
        "font-weight",
        "text-anchor",
        "style",
    }
)
XMLNS = f' xmlns="{NAMESPACE}"'
GRID = "stroke:var(--fig-grid)"  # style of its lines
# Attributes of text that its parents can have for it, and what they are without.
OF_TEXT = {"text-anchor": "start", "font-size": "", "font-weight": ""}


def slim(body: str) -> str:
    """The HTML of a page's body, shorter, and the same to look at."""
    body = _classed(PICTURE.sub(lambda match: _picture(match.group()), body))
    body = OWN.sub(r"\1\3", IMAGE.sub("", body))
    body = ENDS_OF_INDEX.sub("", body)
    body = DATA.sub(lambda match: FALLBACK.sub(r"var(\1)", match.group()), body)
    body = TABLE.sub(_table, _found_by(_configured(body)))
    for idle in (MATHS, TAGGED, WORDS):
        body = idle.sub("", body)
    body = body.replace(MARK, "<span data-sourced=")
    body = body.replace(APOSTROPHE, "'")
    return PLAIN.sub(r"\1", body)


def _classed(body: str) -> str:
    """Drawings whose parts have in a class what many of them look like."""
    tags = (tag for drawn in PICTURE.findall(body) for tag in PLAIN_TAG.findall(drawn))
    found = Counter(match.group(1) for tag in tags if (match := LOOK.search(tag)))
    often = sorted(each for each in found if found[each] > 2 and "#" not in each)
    if not often:
        return body
    names = {look: f"z{number}" for number, look in enumerate(often)}

    def named(match: re.Match[str]) -> str:
        look = LOOK.search(match.group())
        if look is None or look.group(1) not in names:
            return match.group()
        return match.group().replace(look.group(1), f' class="{names[look.group(1)]}"')

    body = PICTURE.sub(lambda match: PLAIN_TAG.sub(named, match.group()), body)
    # A marker is a <use>: inside it no selector sees the <svg> that it stands in.
    rules = (f"svg .{n},.{n}{{{_rule(look)}}}" for look, n in names.items())
    return f"<style>{''.join(rules)}</style>{body}"


def _configured(body: str) -> str:
    """Charts that have in common how a chart looks: it stands once, before them."""
    charts = [json.loads(text) for _, text in CHART.findall(body)]
    found = Counter(compact(chart["spec"].get("config")) for chart in charts)
    if not found or (most := found.most_common(1)[0])[1] < 2:
        return body

    def short(match: re.Match[str]) -> str:
        data = json.loads(match.group(2))
        if compact(data["spec"].get("config")) != most[0]:
            return match.group()
        del data["spec"]["config"]
        return data_script(data, match.group(1))

    return data_script(json.loads(most[0]), "chart-config") + CHART.sub(short, body)


def _found_by(body: str) -> str:
    """Synonyms of many entries as data of the page: they are much alike."""
    also = {name: unescape(words) for words, name in ALSO.findall(body)}
    return data_script(also, "also") + ALSO.sub("", body) if also else body


def _table(match: re.Match[str]) -> str:
    """A table without the end tags and quotation marks that HTML can do without."""
    first, rest = match.group().split(">", 1)
    return f"{first}>" + OF_CELL.sub(r" \1=\2", ENDS.sub("", rest))


def _rule(look: str) -> str:
    """What attributes say, as a style sheet says it."""
    said = (f"{name}:{value}" for name, value in ATTRIBUTE.findall(look))
    return ";".join(each.removeprefix("style:").rstrip(";") for each in said)


def _picture(svg: str) -> str:
    """A drawing that says once what its parts have in common."""
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(FALLBACK.sub(r"var(\1)", svg))
    texts = [e for e in root.iter() if _name(e) == "text"]
    if len(texts) > 2:
        _hoist(root, texts)
    for text in texts:
        _place(text)
    _drop_frame(root)
    for group in root.iter():  # what Vega writes for each; no corner here is so sharp
        if group.get("stroke-miterlimit") == "10":
            del group.attrib["stroke-miterlimit"]
    _join_grid(root)
    _style_once(root)
    for element in root.iter():
        looks = [name for name in element.attrib if name in OF_LOOK]
        for name in looks:  # side by side, in one order, after all others
            element.set(name, element.attrib.pop(name))
    # In a page of HTML an <svg> is one without its namespace.
    return ElementTree.tostring(root, encoding="unicode").replace(XMLNS, "", 1)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _hoist(root: Element, texts: list[Element]) -> None:
    """Attributes that most texts share stand once, at the root."""
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


def _place(text: Element) -> None:
    """A text that is only moved stands where it is moved to."""
    moved = MOVED.fullmatch(text.get("transform", ""))
    if moved and not {"x", "y"} & set(text.attrib):
        del text.attrib["transform"]
        for name, value in zip("xy", moved.groups(), strict=True):
            text.set(name, value)


def _drop_frame(root: Element) -> None:
    """What draws nothing: Vega's own background, without ink, in a group without."""
    for group in root.iter():
        if group.get("fill") == "none" and not group.get("stroke"):
            for parent in group.iter():
                for child in [*parent]:
                    if set(child.attrib) == {"d"} and FRAME.fullmatch(
                        child.get("d", "")
                    ):
                        parent.remove(child)


def _join_grid(root: Element) -> None:
    """Lines of a grid that look the same are one path: nothing lies below them."""
    for parent in root.iter():
        first: dict[tuple[tuple[str, str], ...], Element] = {}
        for child in [*parent]:
            look = tuple(item for item in child.items() if item[0] != "d")
            if _name(child) != "path" or GRID not in child.get("style", ""):
                continue
            if look in first:
                first[look].set("d", f"{first[look].get('d')}{child.get('d')}")
                parent.remove(child)
            first.setdefault(look, child)


def _style_once(root: Element) -> None:
    """A mark that is drawn often has its style where it is defined."""
    marks = {f"#{e.get('id')}": e for e in root.iter() if e.get("id")}
    for place, mark in marks.items():
        uses = [e for e in root.iter() if e.get("href") == place]
        styles = {use.get("style", "") for use in uses}
        if _name(mark) != "path" or len(styles) != 1 or styles == {""}:
            continue
        # What the mark says itself comes last, and holds, as it does when used.
        mark.set("style", f"{styles.pop()};{mark.get('style', '')}".rstrip(";"))
        for use in uses:
            del use.attrib["style"]


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
