"""Map of first measurements: symptom, what to measure, and the cause at each leaf."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.page.html import ON_WHITE, escape, number_of_figure, tag
from llmserve_lab.page.palette import BLUE, GREY
from llmserve_lab.symptoms.case import Cause, Symptom
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.dashboard import METRICS
from llmserve_lab.symptoms.page.tables import bound

# The section that explains a symptom. Preemptions first: they bring other symptoms.
SECTIONS = {
    "preemption-storm": "a-preemption-storm-iteration-by-iteration",
    "pauses": "one-symptom-two-causes-answers-that-pause",
    "first-token": "before-the-first-token",
    "short-answers": "before-the-first-token",
    "percentiles": "between-tokens-throughput-up-percentiles-down",
    "idle-arithmetic": "arithmetic-that-lies-idle-in-decode",
    "prefix-cache": "reuse-that-does-not-pay",
    "speculation": "reuse-that-does-not-pay",
    "more-gpus": "many-gpus",
    "hot-expert": "many-gpus",
    "pools": "many-gpus",
}
COLUMNS = "columns:13.5rem 2;column-gap:1.2rem;font-size:.85rem;line-height:1.4"
LIST = f"list-style:none;margin:0 0 0 .6rem;padding:0;border-left:2px solid {GREY.css}"
LEAF = "margin:0;padding-left:.7rem;text-indent:0"
QUESTION = f"margin:.1rem 0 .2rem .6rem;color:{BLUE.css}"


@dataclass(frozen=True)
class CauseTree:
    """Symptoms, each with its question, and a leaf for each cause with its signs."""

    title: str
    name: str
    cases: tuple[Symptom, ...]

    def __repr__(self) -> str:
        lines = []
        for of in self.cases:
            lines += [of.title, f"  {of.question}"]
            lines += [f"    {signs(each)}: {each.name}" for each in of.causes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = number_of_figure(self.name) + escape(self.title)
        branches = "".join(_branch(each) for each in self.cases)
        columns = tag("div", branches, style=COLUMNS)
        title = tag("p", head, class_="live-title")
        inside = f"{title}\n{columns}"
        return tag("figure", inside, class_="static words", style=ON_WHITE)


def signs(cause: Cause) -> str:
    """Intervals of metrics in which only this cause lies."""
    return ", ".join(f"{METRICS[s.metric].words} {bound(s)}" for s in cause.signs)


def _branch(of: Symptom) -> str:
    leaves = "".join(_leaf(of, each) for each in of.causes)
    return tag(
        "div",
        tag("strong", escape(of.title))
        + tag("p", escape(of.question), style=QUESTION)
        + tag("ul", leaves, style=LIST),
        style="break-inside:avoid;padding-bottom:.9rem;text-align:left",
    )


def _leaf(of: Symptom, cause: Cause) -> str:
    link = tag("a", escape(cause.name), href=f"#{SECTIONS[of.key]}")
    return tag("li", f"{escape(signs(cause))} → {link}", style=LEAF)


def first_measurement() -> CauseTree:
    """All symptoms of the page: what to measure, and where each answer leads."""
    ordered = tuple(case(key) for key in SECTIONS)
    assert len(ordered) == len(CASES), "every symptom has a section"
    return CauseTree(
        "From a symptom to a measurement to its cause", "symptoms.map", ordered
    )
