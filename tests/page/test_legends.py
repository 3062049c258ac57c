"""What a legend calls a line is what its sentence, or the run, says of the line.

Two names in a legend can change places, and the picture looks as before. Each fact
here is of one line, found by its name, and not true of the others.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest

from llmserve_lab.deepseek.page import evidence
from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from llmserve_lab.page.still import StaticFigure
from tests.page import drawn
from tests.page.seen import alive, notes
from tests.page.stills import STILLS

DIFFERENCE = re.compile(r"^([\w ]+): ([\w ]+) − ([\w ]+)$")  # of rows in a legend
IN_SOURCE = re.compile(r": [\w ]+ − [\w ]+\"")
LAST = 0.005  # half of the last digit of a number in a cell
Points = list[tuple[float, float]]
Named = dict[str, Points]


def named(make: Callable[[], StaticFigure]) -> list[Named]:
    """Of each panel the lines that its legend names."""
    return [
        {
            str(line.get_label()): [(float(x), float(y)) for x, y in line.get_xydata()]
            for line in panel.lines
            if not str(line.get_label()).startswith("_")
        }
        for panel in drawn.panels(make)
    ]


def heights(points: Points) -> list[float]:
    return [y for _, y in points]


def targets(lines: Named, said: str) -> None:
    """No more keep both than either; the title says which target gives in first."""
    both = heights(lines["both"])
    for name in set(lines) - {"both"}:
        for one, two in zip(heights(lines[name]), both, strict=True):
            assert two <= one
    first = re.findall(r"here (TTFT|TPOT)\.", said)[0]
    least = min(set(lines) - {"both"}, key=lambda name: heights(lines[name])[-1])
    assert least.startswith({"TTFT": "first token", "TPOT": "TPOT"}[first])


def kept(lines: Named, said: str) -> None:
    for name, points in lines.items():
        (error,) = (y for x, y in points if x == 0.25)
        assert f" {name} {error:.0%}" in said, name


def gauges(lines: Named, said: str) -> None:
    most = {name: max(heights(points)) for name, points in lines.items()}
    assert f"at most {most['running']:.0f} requests run" in said
    assert f"and {most['waiting']:.0f} wait" in said
    assert most["running"] != most["waiting"]


def staircases(lines: Named, said: str) -> None:
    """How many steps each has risen by the moment of the sentence."""
    moment = float(re.findall(r"After (\d+) s", said)[0])
    risen = {
        name: max(y for x, y in points if x <= moment) for name, points in lines.items()
    }
    assert f"{risen['arrived']:.0f} requests have arrived" in said
    assert f"{risen['admitted to the batch']:.0f} have been admitted" in said


def trade(lines: Named, said: str) -> None:
    """The bound lies left of what took longer; the sentence has the server's ends."""
    bound, timed, server = (
        next(each for line, each in lines.items() if line.startswith(words))
        for words in ("bound", "GPU alone", "server")
    )
    least, most = (f"{round(y, -2):,.0f}" for y in (server[0][1], server[-1][1]))
    assert f"from {least} to {most} tokens a second" in said
    for slower in (timed, server):
        for (limit_x, limit_y), (x, y) in zip(bound, slower, strict=True):
            assert limit_x < x and limit_y > y


def doublings(lines: Named, said: str) -> None:
    """Each doubling gains less than the one before, on average."""
    steps = {name: points for name, points in lines.items() if "→" in name}
    order = sorted(steps, key=lambda name: int(name.split()[0]))
    means = [np.mean([x for x, _ in steps[name]]) for name in order]
    assert len(means) == 3 and all(one > two for one, two in pairwise(means))
    (same,) = (points for name, points in lines.items() if "=" in name)
    assert all(x == y for x, y in same)


def peak(lines: Named, said: str) -> None:
    stands, load = heights(lines["for the peak"]), heights(lines["arrivals"])
    assert len(set(stands)) == 1 and len(set(load)) > 2
    assert max(load) <= stands[0]


def kinds(lines: Named, said: str) -> None:
    """A run is in a group of so many GPUs, of its own kind, or blind."""
    for name, points in lines.items():
        runs = [run for run in evidence.runs() if run.mark == name]
        assert sorted(x for x, _ in points) == sorted(run.n_gpus for run in runs), name
    blind, fitted = (
        [abs(run.error) for run in evidence.runs() if run.status == status]
        for status in ("blind", "calibrated")
    )
    near = sum(error <= 0.2 for error in blind)
    assert said.startswith(f"{near} of {len(blind)} blind runs are predicted within a")
    assert fmean(blind) > 2 * fmean(fitted) and max(blind) > max(fitted)
    (prefill,) = (points for name, points in lines.items() if name == "prefill")
    told = [run for run in evidence.runs() if "prefill" in run.name.lower()]
    assert {round(y, 6) for _, y in prefill} == {round(100 * r.error, 6) for r in told}


def spoilt(lines: Named, said: str) -> None:
    """Outliers make the error of every size of group larger, and by as much as said."""
    (clean,), (bad,) = (
        [points for name, points in lines.items() if name.endswith(words)]
        for words in ("no outliers", "four outlier columns")
    )
    assert all(one < two for one, two in zip(heights(clean), heights(bad), strict=True))
    for words, points in (("Without outliers", clean), ("with four", bad)):
        first, *_, last = heights(points)
        assert re.search(rf"{words}[^%]*from {first:.0%} to {last:.0%}", said), words


FACTS: dict[str, Callable[[Named, str], None]] = {
    "capacity.stills.kept": targets,
    "capacity.stills.whole_day": peak,
    "deepseek.evidence.predicted_and_measured": kinds,
    "quantization.stills.forgotten": kept,
    "quantization.stills.groups": spoilt,
    "roofline.measured_roof.trade": trade,
    "symptoms.boards.bench_picture": gauges,
    "symptoms.figures.arrivals": staircases,
    "tensor_parallel.stills.gains": doublings,
}
# Their legends are read where their points are counted, by a test of the chapter.
ELSEWHERE = {"how_wrong.playground.picture", "roofline.one_gpu.reached"}


@pytest.mark.parametrize("name", FACTS)
def test_a_line_is_what_its_legend_calls_it(name: str) -> None:
    made: list[StaticFigure] = []

    def make() -> StaticFigure:
        made.append(STILLS[name]())
        return made[-1]

    (lines,) = (panel for panel in named(make) if len(panel) > 1)
    FACTS[name](lines, f"{made[0].title}. {made[0].sentence}")


def test_every_legend_of_two_lines_was_read() -> None:
    """By the notes of all pictures, which say what a legend names."""
    legends = {
        name
        for chapter in {each.split(".")[0] for each in STILLS}
        for name, note in notes(chapter).items()
        for panel in note.get("panels", ())
        if sum(
            kind.split()[0] in ("line", "points") for kind in panel["names"].values()
        )
        > 1
    }
    assert legends - ELSEWHERE <= set(FACTS)
    assert legends >= ELSEWHERE


def row_of(figure: StepFigure, log: StepLog, called: str) -> dict[float, float]:
    """Numbers of the row of that name in the last frame, by their place from left."""
    tables = {**log.tables, **(figure.scene.fixed or {})}
    seen = [
        row
        for rows in tables.values()
        for row in rows
        if alive(row, len(log.frames) - 1)
    ]
    (y,) = (row["y"] for row in seen if row.get("text") == called)
    return {
        row["x"]: float(row["text"].replace("−", "-"))
        for row in seen
        if "x2" in row and row["y"] <= y < row["y"] + 1
    }


def test_a_row_is_the_difference_that_its_legend_says() -> None:
    """With its sign, by the numbers as they are printed in the two rows it names."""
    found = set()
    for name in drawn.steps_of(IN_SOURCE):
        figure = registry.steps()[name]()
        for said in filter(None, map(DIFFERENCE.match, figure.legend.values())):
            for log in figure.logs.values():
                what, one, other = (row_of(figure, log, text) for text in said.groups())
                assert len(what) > 1 and what.keys() == one.keys() == other.keys()
                for x, number in what.items():
                    want = one[x] - other[x]
                    assert number == pytest.approx(want, abs=3 * LAST + 1e-9), (name, x)
                assert max(map(abs, what.values())) > 4 * LAST  # a sign would be seen
                found.add(name)
    assert found == {"quantization.group_quantized"}
