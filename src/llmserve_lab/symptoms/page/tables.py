"""The chapter's tables, all of them read off the runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.symptoms.case import Remedy, RemedyTrial, trials, watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import METRICS, Dashboard

HELPED, COSTS, NOT = "helps", "helps, at a price", "in vain"
BEFORE, AFTER = "as it is", "→ "
WORSE = "(worse)"


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
        body = body.replace(
            '<tr><th scope="row">→ ', '<tr><th scope="row" class="try">→ '
        )
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


WRITTEN = (
    "tokens/s: written in the second half of the time in which requests arrive, so "
    "that start and end do not count; a server with a queue also works off "
    "what came before"
)
SHORT = {"tokens_per_s": "tokens/s"}


def tried_on(key: str) -> Table:
    """Every cause of a case as it is, and below it each remedy in the same run.

    Raises:
        ValueError: there is no such case.
    """
    of = case(key)
    calm, done = watched(of), trials(of)
    known = {name for each in done for name in each.before.values}
    shown = [each for each in of.shown if each in known]
    rows = [("a healthy server", "", *(_cell(each, calm) for each in shown))]
    for cause in of.causes:
        seen = watched(of, cause.name)
        rows.append((cause.name, BEFORE, *(_cell(each, seen) for each in shown)))
        rows += [
            (
                f"{AFTER}{each.remedy.words}",
                verdict(each),
                *(_cell(name, each.after, each.price) for name in shown),
            )
            for each in done
            if each.cause is cause
        ]
    words = (SHORT.get(each, METRICS[each].words) for each in shown)
    columns = ("cause and remedies", "verdict", *words)
    loads = [f"{each.name}: {each.load}" for each in of.causes]
    notes = [f"Healthy: {of.healthy_load}. {'; '.join(loads)}."]
    if named := _options([each.remedy for each in done if each.remedy.option]):
        notes.append(f"In vLLM: {named}.")
    if key == "preemption-storm":  # the first table
        notes.append(f"{WRITTEN}.")
    caption = (
        f"{of.title}, judged by {METRICS[of.goal].words} "
        f"({of.machine}; simulated, not compared with a measured server)"
    )
    return Remedies(caption, columns, rows, notes=notes)


def _options(remedies: Sequence[Remedy]) -> str:
    """What is turned in vLLM for which remedies, every option once.

    A size that the row names is not said again.
    """
    found = dict[str, dict[str, None]]()
    for each in remedies:
        sized = each.words != each.name
        option = each.option.split()[0] if sized else each.option
        found.setdefault(option, {})[each.name] = None
    return "; ".join(f"{option}: {', '.join(of)}" for option, of in found.items())


def verdict(trial: RemedyTrial) -> str:
    """Whether the goal became better, and whether something else became worse."""
    if not trial.helped:
        return NOT
    return COSTS if trial.price else HELPED


def _cell(metric: str, seen: Dashboard, worse: Sequence[str] = ()) -> str:
    """A metric, marked where a remedy made it worse; a dash where there is none."""
    if metric not in seen.values:
        return "–"
    return number(metric, seen[metric]) + (f" {WORSE}" if metric in worse else "")
