"""The chapter's tables, all of them read off the runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.symptoms.case import (
    HELPS,
    Cause,
    RemedyTrial,
    Symptom,
    trials,
    tried,
    watched,
)
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.dashboard import METRICS

HELPED, NOT = "yes", "no"
CAPTION = "Nine symptoms: a row is a cause, and a run (simulated: no measured error)"


@dataclass(frozen=True, repr=False)
class Remedies(Table):
    """Table that a narrow page shows as a card for each row, its cells labelled."""

    def _repr_html_(self) -> str:
        """The table's HTML, each cell with the words of its column."""
        labels = [escape(each) for each in self.columns[1:]]
        html = super()._repr_html_().replace('"catalog"', '"catalog remedies"', 1)
        html = html.replace("<ol ", "<ul ").replace("</ol>", "</ul>")
        html = re.sub(r"(?<=\d) (?=(?:ms|s)\b)", "&nbsp;", html)
        head, _, body = html.partition("<tbody>")
        rows = body.split("<tr>")
        return head + "<tbody>" + "<tr>".join(_labelled(row, labels) for row in rows)


def _labelled(row: str, labels: list[str]) -> str:
    left = iter(labels)
    return re.sub("<td", lambda _: f'<td data-label="{next(left)}"', row)


def number(metric: str, value: float) -> str:
    """A metric's value with its unit, as short as it can be read."""
    unit = METRICS[metric].unit
    if unit == "s":
        return si(value, "s", 3 if value < 1 else 2)
    if unit == "share":
        return f"{100 * value:.1f}%" if value < 0.1 else f"{value:.0%}"
    if unit == "×":
        return f"{value:.2f} ×"
    return f"{value:.2f}" if unit == "preemption" else f"{value:,.0f}"


def signs(of: Symptom, cause: Cause) -> str:
    """What the signs of a cause showed, metric by metric."""
    seen = watched(of, cause.name)
    return ", ".join(
        f"{METRICS[each].words} {number(each, seen[each])}"
        for each in dict.fromkeys(sign.metric for sign in cause.signs)
    )


WRITTEN = (
    "tokens/s: written in the second half of the time in which requests arrive, so "
    "that start and end do not count; a server with a queue also works off "
    "what came before"
)


def tried_on(key: str) -> Table:
    """Every remedy of a case, in the same run before and after.

    Raises:
        ValueError: there is no such case.
    """
    of = case(key)
    done = trials(of)
    goals = dict.fromkeys(of.goal_of(cause) for cause in of.causes)
    shown = {each: METRICS[each].words for each in goals}
    for metric, words in (("tokens_per_s", "tokens/s"), ("ttft_p50", "TTFT, median")):
        if any(metric in each.before.values for each in done):
            shown.setdefault(metric, words)
    rows = [
        (
            f"{each.cause.name}: {each.remedy.words}",
            HELPED if each.helped else NOT,
            *(_both(each, metric) for metric in shown),
        )
        for each in done
    ]
    columns = ("cause: remedy", "helps?", *shown.values())
    notes = [f"{each.name}: {each.load}; {signs(of, each)}." for each in of.causes]
    calm = watched(of)[of.alarm.metric]
    notes.append(
        f"A healthy run: {of.healthy_load}; {METRICS[of.alarm.metric].words} "
        f"{number(of.alarm.metric, calm)}. All simulated: no error was measured."
    )
    if key in ("preemption-storm", "short-answers"):  # the first, and the oddest
        notes.append(f"{WRITTEN}.")
    caption = f"{of.title}: before → after ({of.machine})"
    return Remedies(caption, columns, rows, notes=notes)


def _both(trial: RemedyTrial, metric: str) -> str:
    """A metric before and after, or a dash where the run has none."""
    if metric not in trial.before.values:
        return "–"
    before, after = (number(metric, each[metric]) for each in trial.pair)
    return f"{before} → {after}"


OTHERS = tuple(each for each in CASES if each.key not in ("pauses", "preemption-storm"))


@dataclass(frozen=True, repr=False)
class LookAlikes(Remedies):
    """A symptom's first cell spans the rows of its causes."""

    def _repr_html_(self) -> str:
        """The table's HTML."""
        html = super()._repr_html_().replace("catalog remedies", "catalog alike", 1)
        empty, spans = '<th scope="row"></th>', [1]
        for symptom, *_ in self.rows[1:]:
            if symptom:
                spans.append(1)
            else:
                spans[-1] += 1
        html = html.replace(empty, "")
        left = iter(spans)
        return re.sub(
            '<th scope="row">',
            lambda _: f'<th scope="rowgroup" rowspan="{next(left)}">',
            html,
        )


def look_alikes() -> Table:
    """The later symptoms: what separates their causes, what helps, what is in vain."""
    rows = []
    for of in OTHERS:
        asked = list(dict.fromkeys(s.metric for c in of.causes for s in c.signs))
        goals = dict.fromkeys(of.goal_of(cause) for cause in of.causes)
        words, judged = (
            "; ".join(METRICS[each].words for each in names) for names in (asked, goals)
        )
        for at, cause in enumerate(of.causes):
            seen = watched(of, cause.name)
            done = [tried(of, cause.name, each.name) for each in cause.remedies]
            read = "; ".join(number(each, seen[each]) for each in asked)
            rows.append(
                (
                    "" if at else f"{of.title}. Read: {words}. Goal: {judged}",
                    f"{cause.name}: {read}",
                    _changes(done, helps=True),
                    _changes(done, helps=False),
                )
            )
    columns = (
        "symptom, what to read, and the goal",
        "cause: what was read",
        "helps: goal before → after",
        "in vain: goal before → after",
    )
    return LookAlikes(CAPTION, columns, rows)


def _changes(done: list[RemedyTrial], *, helps: bool) -> str:
    """Remedies of one verdict with what they did to the metric that judges them."""
    return "; ".join(
        f"{each.remedy.words}: {_both(each, each.case.goal_of(each.cause))}"
        for each in done
        if each.remedy.helps is helps
    )


def markdown_rows() -> str:
    """Every cause with all its remedies, each a link to the chapter that explains it.

    Markdown, for the notebook's text: there a link leads to another page, and a test
    compares what stands there.
    """
    lines = []
    for of in CASES:
        lines.append(f"- **{of.title}**")
        for cause in of.causes:
            good, vain = (
                ", ".join(
                    f"[{each.name}]({each.chapter}.ipynb)"
                    for each in cause.remedies
                    if each.helps is helps
                )
                for helps in (True, False)
            )
            lines.append(f"  - *{cause.name}*: {good}; in vain: {vain}")
    return "\n".join(lines)


def threshold() -> str:
    """From which factor on a remedy counts as a help."""
    return f"{100 * (HELPS - 1):.0f}%"
