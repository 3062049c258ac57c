"""What the figures show is what was stored, and nothing of it is impossible."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from llmserve_lab.capacity import runs, triangle
from llmserve_lab.capacity.page import (
    charts,
    figures,
    minutes,
    playground,
    stills,
)
from llmserve_lab.capacity.trace import azure_hour, mean_lengths, per_bin
from llmserve_lab.disaggregation.goodput import ENOUGH
from llmserve_lab.page.live.controls import Choice
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.workloads import azure
from tests.each import numbers
from tests.page import drawn, seen


@cache
def opening() -> tuple[StaticFigure, Any, Any]:
    """The bench as it opens: its picture, what is drawn in it, and the run."""
    ran, runs_, made = playground.run, list[Any](), list[StaticFigure]()

    def run(**knobs: Any) -> Any:
        runs_.append(ran(**knobs))
        return runs_[-1]

    def make() -> StaticFigure:
        made.append(playground.opening())
        return made[-1]

    with mock.patch.object(playground, "run", run):
        (panel,) = drawn.panels(make)
    return made[0], panel, runs_[0]


def test_the_hour_is_the_published_one() -> None:
    requests = azure_hour()
    assert len(requests) == 19_366 and requests[0].arrival_s == 0
    assert (requests[0].prompt_len, requests[0].output_len) == (374, 44)
    assert per_bin(requests).sum() == len(requests)
    assert mean_lengths(requests) == pytest.approx((1154.7, 211.1), abs=0.05)


def test_the_hour_begins_as_the_published_file_does() -> None:
    place = Path(__file__).parents[1] / "data/traces/azure_conversation_first_200.csv"
    for ours, theirs in zip(azure_hour(), azure(place), strict=False):
        assert ours.arrival_s == pytest.approx(theirs.arrival_s, abs=6e-4)
        assert (ours.prompt_len, ours.output_len) == (
            theirs.prompt_len,
            theirs.output_len,
        )


def test_the_figure_opens_with_the_goodput_of_the_page() -> None:
    values = figures.cost_latency().values()
    found = triangle.goodput(triangle.points(), 0.5, 0.02)
    assert values["replica_rate"] == float(f"{found:.3g}")  # as it is printed
    assert values["price"] == 3.99


def test_a_step_log_sums_to_the_stored_run() -> None:
    figure = figures.burst_by_minute()
    for name, which in minutes.SHOWN.items():
        run, log = runs.scaled_run(*which), figure.logs[name]
        assert len(log.frames) == minutes.LAST
        late = sum(run.missed[: minutes.LAST])
        assert log.frames[-1].counters[3] == f"{late:,}"
        total = sum(row["x2"] - row["x"] for row in log.tables["runs"])
        last = run.ready[minutes.LAST - 1] + run.starting[minutes.LAST - 1]
        assert total == pytest.approx(60 * run.gpu_h - last, abs=0.3)
        starts = [row for row in log.tables["runs"] if row["ink"] == "idle"]
        assert len(starts) == run.starts
        for row in starts:  # nothing is ordered before the ramp begins
            assert row["x"] > runs.UP_MIN and row["x2"] - row["x"] <= which[1] / 60


@pytest.mark.parametrize(
    "made",
    [
        stills.kept,
        stills.hour,
        stills.signals,
        playground.opening,
        lambda: stills.whole_day(13),
    ],
)
def test_every_picture_can_be_drawn(made: Callable[[], StaticFigure]) -> None:
    assert "<svg" in made().html()


@pytest.mark.parametrize("load", triangle.LOADS, ids=str)
@pytest.mark.parametrize(("first", "each"), [(1, 1), (1, 2), (2, 1)])
def test_a_point_has_the_ink_of_the_target_that_more_requests_miss(
    load: triangle.MeanLengths, first: int, each: int
) -> None:
    figure = figures.cost_latency()
    menus = {c.name: c.options for c in figure.controls if isinstance(c, Choice)}
    at = {"ttft": menus["ttft"][first], "tpot": menus["tpot"][each]}
    dots = drawn.marks(figure, "symbol", load=str(load), **at)
    names = {ink.name: name for name, ink in charts.INKS.items()}
    found = triangle.points(demand=load)
    lasting = [p for p in found if p.ttft_s <= triangle.LASTS_S]
    assert len(dots) == len(lasting)
    for dot, point in zip(dots, lasting, strict=True):
        missed = {
            "TTFT missed": 1 - point.soon[first],
            "TPOT missed": 1 - point.steady[each],
        }
        name = names[dot["ink"]]
        if point.kept[first][each] >= ENOUGH:
            assert name == charts.KEPT
        else:
            assert missed[name] == max(missed.values())


def test_a_bar_has_the_ink_of_its_cold_start() -> None:
    """That of the words "180 s" and "30 s" in the picture, run by run."""
    (panel,) = drawn.panels(stills.signals)
    inks = drawn.inks(panel)
    names = [label.get_text() for label in panel.get_yticklabels()]
    for words, cold_s in (("cold start 180 s", 180.0), ("cold start 30 s", 30.0)):
        found = {
            names[round(bar.get_y() + bar.get_height() / 2)]: bar.get_width()
            for bar in panel.patches
            if seen._name(bar.get_facecolor()) == inks[words]
        }
        assert len(found) >= len(names) - 1
        for name, late in found.items():
            run = runs.scaled_run(name, cold_s)
            assert late == pytest.approx(1 - run.kept)


def test_no_two_pictures_share_a_name() -> None:
    """The bench's own picture is not that of the half hour."""
    opens, *_ = opening()
    assert opens.name not in {stills.signals().name, stills.hour().name}
    assert "ten minutes" in opens.title


def test_the_hour_is_drawn_in_whole_minutes() -> None:
    """The recording ends within a minute; its few requests are no fall of the rate."""
    requests = azure_hour()
    whole = int(requests[-1].arrival_s // 60)
    (panel,) = drawn.panels(stills.hour)
    for line in panel.patches:
        assert len(line.get_data().values) == whole
    slow, fast = (line.get_data().values for line in panel.patches)
    assert fast.mean() / slow.mean() == pytest.approx(fast.max() / slow.max())
    (played,) = re.findall(r"\((\d+) s played faster\)", panel.get_xlabel())
    assert int(played) == pytest.approx(60 * slow.mean() / fast.mean(), abs=0.5)


def test_counters_of_replicas_are_the_bars_at_the_end_of_that_minute() -> None:
    """Solid ones serve and hatched ones start, as the legend says, in each frame."""
    figure = figures.burst_by_minute()
    inks = {words.split(":")[0]: ink for ink, words in figure.legend.items()}
    labels = [each.label for each in figure.counters]
    for log in figure.logs.values():
        for minute, frame in enumerate(log.frames):
            over = [
                row["ink"]
                for row in log.tables["runs"]
                if row["x"] <= minute + 1 < row["x2"] + (row["x2"] == minutes.LAST)
            ]
            known = dict(zip(labels, frame.counters, strict=True))
            for does in ("serve", "start"):
                bars = over.count(inks[f"replica that {does}s"])
                assert known[f"replicas that {does}"] == bars


def test_bars_of_the_bench_are_the_replicas_that_its_run_had() -> None:
    """What starts stands on what serves; the share and the hours are the run's, too."""
    picture, panel, of = opening()
    stairs = {p.get_label(): p.get_data() for p in panel.patches}
    assert list(stairs["serve"].values) == [each.ready for each in of.minutes]
    start = stairs["start"].values - stairs["start"].baseline
    assert list(start) == [each.starting for each in of.minutes]
    percent, hours = numbers(picture.sentence)
    assert percent == pytest.approx(100 * of.kept(triangle.LEVEL), abs=0.51)
    assert hours == pytest.approx(of.replica_s / 3600, abs=0.0051)
