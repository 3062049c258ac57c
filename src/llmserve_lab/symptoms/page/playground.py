"""The chapter's bench: a cause, a remedy, and the dashboard before and after."""

from __future__ import annotations

from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.symptoms.case import tried
from llmserve_lab.symptoms.cases import CASES
from llmserve_lab.symptoms.dashboard import METRICS
from llmserve_lab.symptoms.page.boards import bench_picture
from llmserve_lab.symptoms.page.tables import number

CAUSES = {f"{c.key}: {each.name}": (c, each) for c in CASES for each in c.causes}
REMEDIES = tuple(dict.fromkeys(r.name for _, c in CAUSES.values() for r in c.remedies))
CAUSE, REMEDY = "pauses: long prompts in one piece", "smaller chunks"
MOST_SEEDS = 9


def bench() -> Bench:
    """Cause, remedy and seed open; its picture is the first cause's dashboard."""
    knobs: dict[str, Knob] = {
        "cause": Choose("symptom: cause", tuple(CAUSES), CAUSE),
        "remedy": Choose("remedy", REMEDIES, REMEDY),
        "seed": Turn("seed of the load", 0, MOST_SEEDS, 0),
    }
    picture: StaticFigure = bench_picture()
    return Bench("Bench: try a remedy on a cause", knobs, show, picture)


def show(*, cause: str, remedy: str, seed: int) -> str:
    """Every metric before and after the remedy, as a table.

    Raises:
        ValueError: the remedy was not made for this cause.
    """
    of, found = CAUSES[cause]
    trial = tried(of, found.name, remedy, seed)
    rows = [
        (METRICS[name].words, number(name, value), number(name, trial.after[name]))
        for name, value in trial.before.values.items()
        if name in trial.after.values
    ]
    judged = METRICS[of.goal].words
    title = f"{found.name}, {remedy}: judged by {judged}"
    return Table(title, ("metric", "before", "after"), rows)._repr_html_()
