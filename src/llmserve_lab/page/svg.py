"""A drawing that goes into a page: small, its names its own, in the page's font."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from llmserve_lab.checks import whole

NAMESPACE = "http://www.w3.org/2000/svg"
# The picture's frame has the description, the page has the font.
DROPPED = re.compile(r"aria-|(class|font-family|pointer-events|role|version)$")
DEFAULTS = {("opacity", "1"), ("stroke-width", "1"), ("font-weight", "normal")}
CROWD = 500  # points that are worth joining
MOVED = re.compile(r"translate\(([-.\d]+),\s*([-.\d]+)\)")
FROM = re.compile(r"M([-.\d]+),([-.\d]+)(?=[hvc])")
NOTHING = {"", "M0,0h0v0h0Z"}


def tidy(svg: str, *, prefix: str, decimals: int, join: bool = False) -> str:
    """Make an SVG document fit to stand inside an HTML page among others.

    Long coordinates are rounded to ``decimals``; identifiers that are used get
    ``prefix``, so that two figures cannot clash; groups and attributes that do nothing
    go, and so does a style that would reach the page. Text stays as it is. With
    ``join`` neighbouring areas that look the same become one.
    """
    whole(first=0, most=17, decimals=decimals)
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    for element in root.iter():
        _clean(element, used, prefix, decimals)
    _prune(root)
    for group in root.iter():
        _join_lines(group)
        _join_points(group)
        if join:
            _join_cells(group)
    root.set("xmlns", NAMESPACE)
    root.set("aria-hidden", "true")
    root.set("style", "max-width: 100%; height: auto")  # where no style sheet says it
    return ElementTree.tostring(root, encoding="unicode")


def _join_points(parent: Element) -> None:
    """Make one path of a crowd of equal points that follow each other."""
    if len(parent) < CROWD:
        return
    joined: list[Element] = []
    for child in parent:
        moved = MOVED.fullmatch(child.get("transform", ""))
        start = FROM.match(child.get("d", ""))
        if child.tag != "path" or not (moved and start):
            joined.append(child)
            continue
        x, y = (
            float(a) + float(b)
            for a, b in zip(moved.groups(), start.groups(), strict=True)
        )
        child.set("d", f"M{x:.1f},{y:.1f}{child.get('d', '')[start.end() :]}")
        del child.attrib["transform"]
        last = joined[-1] if joined else None
        if last is not None and last.tag == "path" and _look(last) == _look(child):
            last.set("d", f"{last.get('d')}{child.get('d')}")
        else:
            joined.append(child)
    parent[:] = joined


def _join_cells(parent: Element) -> None:
    """Make one path of neighbouring paths that look the same: the cells of a grid.

    Only of paths without a transform, whose coordinates are absolute.
    """
    joined: list[Element] = []
    for child in parent:
        last = joined[-1] if joined else None
        alike = last is not None and _joins(last) and _joins(child)
        if alike and last is not None and _look(last) == _look(child):
            last.set("d", f"{last.get('d')}{child.get('d')}")
        else:
            joined.append(child)
    parent[:] = joined


def _joins(element: Element) -> bool:
    return element.tag == "path" and "transform" not in element.attrib


def _clean(element: Element, used: set[str], prefix: str, decimals: int) -> None:
    """Keep the attributes that matter, without namespaces, in short numbers."""
    kept = {}
    for key, value in element.attrib.items():
        name = _local(key)
        idle = (name == "id" and value not in used) or value.startswith("rotate(-0 ")
        if DROPPED.match(name) or idle or (name, value) in DEFAULTS:
            continue
        kept[name] = _short(f"{prefix}-{value}" if name == "id" else value, decimals)
        kept[name] = re.sub(
            r"(url\(|^)#(?=[a-z])", rf"\1#{prefix}-", kept[name], flags=re.I
        )
        if name == "d":
            kept[name] = re.sub(r"\s*([A-Za-z])\s*", r"\1", kept[name])
    element.tag, element.attrib = _local(element.tag), kept


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _short(value: str, decimals: int) -> str:
    """An attribute with rounded numbers, no spare blanks, and the page's font."""
    value = re.sub(r"-?\d+\.\d{3,}", lambda m: _rounded(m.group(), decimals), value)
    value = re.sub(r"font-family:[^;]+;?", "", value)
    return re.sub(r"(?<=[;:]) | (?=$)", "", re.sub(r"\s+", " ", value))


def _rounded(text: str, decimals: int) -> str:
    short = f"{float(text):.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short


def _prune(parent: Element) -> None:
    """Remove what draws nothing; put the children of idle groups in their place."""
    children: list[Element] = []
    for child in parent:
        _prune(child)
        child.tail = None
        if child.tag == "g":
            child.text = None
        if child.tag == "g" and not child.attrib:
            children.extend(child)
        elif not _draws_nothing(child):
            children.append(child)
    parent[:] = children
    if children:
        parent.text = None


def _draws_nothing(element: Element) -> bool:
    if element.tag in ("metadata", "style", "title"):
        return True
    if element.tag in ("g", "defs"):
        return len(element) == 0
    bare = element.get("style") == "fill:none" and "stroke" not in element.attrib
    return element.tag == "path" and (bare or element.get("d", "").strip() in NOTHING)


def _join_lines(parent: Element) -> None:
    """Make one path of neighbouring lines that look the same: ticks, a grid."""
    joined: list[Element] = []
    for child in parent:
        path = _path(child)
        last = joined[-1] if joined else None
        if path is None:
            joined.append(child)
        elif last is not None and last.tag == "path" and _look(last) == _look(path):
            last.set("d", f"{last.get('d')} {path.get('d')}")
        else:
            joined.append(path)
    parent[:] = joined


def _path(line: Element) -> Element | None:
    """A line that starts at its own origin as a path, None for any other element."""
    origin = re.fullmatch(r"translate\(([^)]*)\)", line.get("transform", ""))
    if line.tag != "line" or not origin or {"x1", "y1"} & set(line.attrib):
        return None
    rest = {k: v for k, v in line.attrib.items() if k not in ("transform", "x2", "y2")}
    end = f"l{line.get('x2', '0')},{line.get('y2', '0')}"
    return Element("path", {**rest, "d": f"M{origin.group(1)}{end}"})


def _look(element: Element) -> dict[str, str]:
    return {key: value for key, value in element.attrib.items() if key != "d"}
