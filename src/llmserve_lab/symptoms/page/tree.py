"""The decision tree drawn: a trunk of questions, and a branch to the right for yes."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.page.html import ON_WHITE, escape, number_of_figure, tag
from llmserve_lab.page.palette import BLUE, GREEN, GREY
from llmserve_lab.symptoms.triage import TREE, Branch, Leaf

ROW = "display:flex;flex-wrap:wrap;align-items:center;gap:.35rem .6rem;text-align:left"
ASKED = (
    f"flex:1 1 14rem;border:1px solid {BLUE.css};border-radius:.4rem;"
    "padding:.1rem .6rem"
)
FOUND = (
    f"flex:1 1 13rem;border-left:4px solid {GREEN.css};padding:.2rem .6rem;"
    "text-align:left"
)
SMALL = f"display:block;font-size:.88em;color:{GREY.css};overflow-wrap:anywhere"
DOWN = (
    "margin:0 0 0 1.2rem;line-height:1.1;padding:0 .5rem;"
    f"border-left:2px solid {GREY.css}"
)
NESTED = f"margin:.2rem 0 .2rem 2.2rem;padding:0 .6rem;border-left:4px solid {BLUE.css}"
YES = tag("span", "yes →")
WHOLE = "font-size:.82rem;line-height:1.2;text-align:left"


@dataclass(frozen=True)
class DecisionTree:
    """Questions in order; the first that is answered with yes leads to the cause."""

    title: str
    name: str
    root: Branch

    def __repr__(self) -> str:
        return "\n".join([self.title, *_lines(self.root, "")])

    def _repr_html_(self) -> str:
        head = number_of_figure(self.name) + escape(self.title)
        title = tag("p", head, class_="live-title")
        inside = f"{title}\n{tag('div', _drawn(self.root), style=WHOLE)}"
        return tag("figure", inside, class_="static words", style=ON_WHITE)


def _lines(of: Branch | Leaf, indent: str) -> list[str]:
    if isinstance(of, Leaf):
        return [f"{indent}→ {of.cause}: {of.remedy}"]
    yes = _lines(of.yes, f"{indent}    ")
    return [f"{indent}{of.words} ({of.metric})", *yes, *_lines(of.no, indent)]


def _drawn(of: Branch | Leaf) -> str:
    """A question; what yes leads to beside or below it, what no leads to under it."""
    if isinstance(of, Leaf):
        return _leaf(of)
    asked = tag("div", _question(of), style=ASKED)
    if isinstance(of.yes, Leaf):
        row = tag("div", f"{asked}{YES}{_leaf(of.yes)}", style=ROW)
    else:
        inside = tag("div", f"{YES}{_drawn(of.yes)}", style=NESTED)
        row = tag("div", asked, style=ROW) + inside
    return f"{row}{tag('div', 'no ↓', style=DOWN)}{_drawn(of.no)}"


def _question(of: Branch) -> str:
    return escape(of.words) + tag("span", escape(of.metric), style=SMALL)


def _leaf(of: Leaf) -> str:
    name = escape(of.cause)
    linked = tag("a", name, href=f"#{of.section}") if of.section else name
    return tag("div", f"<strong>{linked}</strong>: {escape(of.remedy)}", style=FOUND)


def first_measurement() -> DecisionTree:
    """The tree of this page: what to measure first, and where each answer leads."""
    return DecisionTree(
        "Each question leads on, until a green line names a cause",
        "symptoms.map",
        TREE,
    )
