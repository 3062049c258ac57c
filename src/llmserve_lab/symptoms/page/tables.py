"""The chapter's tables, all of them read off the runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from math import inf

from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.symptoms.case import (
    HELPS,
    Cause,
    RemedyTrial,
    Sign,
    Symptom,
    trials,
    watched,
)
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.dashboard import METRICS

HELPED, NOT = "yes", "no"


@dataclass(frozen=True, repr=False)
class Remedies(Table):
    """Table that a narrow page shows as a card for each row, its cells labelled."""

    def _repr_html_(self) -> str:
        """The table's HTML, each cell with the words of its column."""
        labels = [escape(each) for each in self.columns[1:]]
        html = super()._repr_html_().replace('"catalog"', '"catalog remedies"', 1)
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


def bound(sign: Sign) -> str:
    """An interval in words: at least, at most, or none at all."""
    if sign.most == 0:
        return "0"
    parts = [
        f"{word} {number(sign.metric, value)}"
        for word, value in (("≥", sign.least), ("≤", sign.most))
        if abs(value) != inf
    ]
    return " and ".join(parts)


def signs(of: Symptom, cause: Cause) -> str:
    """What the signs of a cause showed, metric by metric."""
    seen = watched(of, cause.name)
    return ", ".join(
        f"{METRICS[each].words} {number(each, seen[each])}"
        for each in dict.fromkeys(sign.metric for sign in cause.signs)
    )


def tried_on(key: str) -> Table:
    """Every remedy of a case, in the same run before and after.

    Raises:
        ValueError: there is no such case.
    """
    of = case(key)
    rows = [_row(trial) for trial in trials(of)]
    goals = dict.fromkeys(METRICS[of.goal_of(cause)].words for cause in of.causes)
    judged = ", or ".join(f"{goal}{' [2]' * bool(at)}" for at, goal in enumerate(goals))
    columns = ("remedy [cause]", "helps?", judged, "tokens/s", "TTFT, median")
    notes = [f"{each.name}: {each.load}; {signs(of, each)}." for each in of.causes]
    calm = watched(of)[of.alarm.metric]
    notes.append(
        f"A healthy run: {of.healthy_load}; {METRICS[of.alarm.metric].words} "
        f"{number(of.alarm.metric, calm)}. All simulated: no error was measured."
    )
    caption = f"{of.title}: before → after ({of.machine})"
    return Remedies(caption, columns, rows, notes=notes)


def _row(trial: RemedyTrial) -> tuple[str, ...]:
    """Cause, remedy, the goal and the tokens per second, before and after."""
    of = trial.case
    return (
        f"{trial.remedy.words} [{1 + of.causes.index(trial.cause)}]",
        HELPED if trial.helped else NOT,
        _both(trial, of.goal_of(trial.cause)),
        _both(trial, "tokens_per_s"),
        _both(trial, "ttft_p50"),
    )


def _both(trial: RemedyTrial, metric: str) -> str:
    """A metric before and after, or a dash where the run has none."""
    if metric not in trial.before.values:
        return "–"
    before, after = (number(metric, each[metric]) for each in trial.pair)
    return f"{before} → {after}"


def all_rows() -> Table:
    """Symptom, cause, its signs as intervals, and what helps in vLLM; a row a cause."""
    rows = []
    for of in CASES:
        for cause in of.causes:
            asked = "; ".join(
                f"{METRICS[each.metric].words} {bound(each)}" for each in cause.signs
            )
            rows.append((of.title, cause.name, asked, option(cause)))
    columns = ("symptom", "cause", "signs", "helps, in vLLM")
    return Table("Symptoms, causes and signs: every row is a run", columns, rows)


def option(cause: Cause) -> str:
    """Name in vLLM of the first remedy that helps, or a dash."""
    good, *_ = (each for each in cause.remedies if each.helps)
    return good.option or "–"


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


def causes(key: str) -> Table:
    """The alarm and the signs of every cause of a case, side by side.

    Raises:
        ValueError: there is no such case.
    """
    of = case(key)
    asked = list(dict.fromkeys(s.metric for c in of.causes for s in c.signs))
    rows = []
    for cause in of.causes:
        seen = watched(of, cause.name)
        cells = (number(each, seen[each]) for each in (of.alarm.metric, *asked))
        rows.append((cause.name, *cells))
    columns = ("cause", *(METRICS[each].words for each in (of.alarm.metric, *asked)))
    return Table(f"{of.title}: the same alarm, other signs", columns, rows)


def threshold() -> str:
    """From which factor on a remedy counts as a help."""
    return f"{100 * (HELPS - 1):.0f}%"
