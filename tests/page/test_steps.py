"""A step figure: what it refuses, what it stores, and that a row lives its time."""

import json
import random
import re
from typing import Any

import pytest

from llmserve_lab.page.alone import IMAGE
from llmserve_lab.page.live.registry import steps as found_steps
from llmserve_lab.page.palette import MEANINGS
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.html import packed, step_data
from llmserve_lab.page.step.marks import Cells, SceneAxis
from llmserve_lab.page.step.pictures import (
    around,
    graph,
    lanes,
    lifetimes,
    matrix,
    places,
    slot_grid,
)
from tests.formula.javascript import evaluate
from tests.page.steps import LENGTHS, SLOTS, played, ringed, steps

TWO = (Frame("One."), Frame("Two."))


def only(tables: dict[str, Any], **parts: Any) -> StepFigure:
    """A figure of two frames without counters."""
    logs = {"log": StepLog(TWO, tables)}
    stills = (("log", 0), ("log", 1), ("log", 1))
    return StepFigure(
        name="two", title="Two", **{"logs": logs, "stills": stills, **parts}
    )


@pytest.fixture(scope="module")
def figure() -> StepFigure:
    return steps()


def drawn(figure: StepFigure, log: str, frame: int) -> list[dict[str, Any]]:
    """Rows of the cells that the chart's own filter lets through at a frame."""
    layer = figure.spec(log, frame)["layer"][0]
    known = {k: v for k, v in figure.values(log, frame).items()}
    valid = "const isValid = (v) => v !== null && v !== undefined;"
    test = layer["transform"][0]["filter"]
    source = f"(() => {{ {valid} return rows.filter((datum) => {test}); }})()"
    found: list[dict[str, Any]] = evaluate(
        source, rows=figure.rows[layer["data"]["name"]], **known
    )
    return found


def test_what_grows_is_drawn_as_far_as_now(figure: StepFigure) -> None:
    for log in figure.logs:
        for frame in range(len(figure.logs[log].frames)):
            rows = figure.logs[log].tables["cells"]
            want = [row for row in rows if row["start"] < frame]
            seen = drawn(figure, log, frame)
            assert [{k: v for k, v in r.items() if k != "log"} for r in seen] == want


def test_the_logs_of_both_schedulers_do_the_same_work() -> None:
    for continuous in (False, True):
        cells = played(continuous=continuous).tables["cells"]
        ran = [row["ink"] for row in cells if row["ink"] != "idle"]
        assert {name: ran.count(name) for name in LENGTHS} == LENGTHS
        assert len(cells) % len(SLOTS) == 0


def test_every_row_lives_from_since_until_until() -> None:
    draw = random.Random(4)
    snapshots = [
        {key: {"ink": draw.choice("AB")} for key in range(6) if draw.random() < 0.7}
        for _ in range(9)
    ]
    rows = lifetimes(snapshots)
    for frame, there in enumerate(snapshots):
        alive = [
            row["ink"]
            for row in rows
            if row["since"] <= frame < row.get("until", len(snapshots))
        ]
        assert sorted(alive) == sorted(row["ink"] for row in there.values())
    still = lifetimes([{0: {"ink": "A"}}] * 5)
    assert still == [{"ink": "A", "since": 0}]


def test_rows_come_back_from_their_short_form(figure: StepFigure) -> None:
    rows = [*figure.rows["cells"], {"slot": "slot 1", "since": 2}]
    found = evaluate("window.llmserveStep.unpacked(table)", table=packed(rows))
    assert found == rows


def test_now_follows_the_frame_and_its_log() -> None:
    slow = StepLog((Frame("a"), Frame("b", at=12.5)), {})
    fast = StepLog((Frame("a"), Frame("b"), Frame("c", at=3.0)), {})
    stills = (("slow", 0), ("slow", 1), ("fast", 2))
    scene = lanes(("A",), 20)
    figure = only({}, logs={"slow": slow, "fast": fast}, stills=stills, scene=scene)
    for log, frame, now in (("slow", 1, 12.5), ("fast", 1, 1.0), ("fast", 2, 3.0)):
        frames, logs, nows = figure.params(log, frame)
        known = {"frame": frames["value"], "log": logs["value"]}
        assert evaluate(nows["expr"], **known) == now
        assert figure.values(log, frame)["now"] == now


def test_the_output_is_the_same_every_time_and_small(figure: StepFigure) -> None:
    html = figure._repr_mimebundle_()["text/html"]
    assert html == steps()._repr_mimebundle_()["text/html"]
    assert len(IMAGE.sub("", html).encode()) < 30_000
    assert repr(figure).startswith(f"{figure.title}. Iteration 4 ran for B.")


def test_three_stills_stand_in_the_output_with_their_sentences(
    figure: StepFigure,
) -> None:
    html = figure._repr_mimebundle_()["text/html"]
    stills = html.split('class="step-stills"')[1].split("<script")[0]
    assert stills.count("<svg") == 3
    for place in figure.stills:
        assert f"<p>{figure.frame(*place).sentence}</p>" in stills
    assert "static: step 5 of 13" in stills


def test_ids_of_two_figures_do_not_clash_and_each_is_there() -> None:
    both = "".join(f._repr_mimebundle_()["text/html"] for f in (steps(), ringed()))
    ids = re.findall(r'\bid="([^"]+)"', both)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", both)) <= set(ids)
    assert set(re.findall(r'(?:for|aria-labelledby)="([^"]+)"', both)) <= set(ids)


def test_markup_in_a_log_never_becomes_html() -> None:
    evil = "<img src=x onerror=alert(1)></script>"
    frames = (Frame(evil, (evil,)), Frame("b", ("c",)))
    logs = {evil: StepLog(frames, {"cells": []})}
    figure = steps(
        title=evil,
        logs=logs,
        stills=((evil, 0),) * 3,
        counters=(Counter(evil),),
        legend={"A": evil},
    )
    html = figure._repr_mimebundle_()["text/html"]
    html = IMAGE.sub("", html)
    assert "<img" not in html and html.count("</script>") == html.count("<script")


def test_the_version_changes_with_the_frames(figure: StepFigure) -> None:
    shorter = played(continuous=True)
    less = StepLog(shorter.frames[:-1], shorter.tables)
    other = steps(logs={**figure.logs, "continuous": less})
    versions = [step_data(f)["version"] for f in (figure, steps(), other)]
    assert versions[0] == versions[1] != versions[2]
    assert re.fullmatch("[0-9a-f]{4}", versions[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Two logs"}, "name must be of a-z, 0-9 and -, got 'Two logs'"),
        ({"stills": (("static", 1),)}, "stills must be 3, got 1"),
        ({"stills": (("static", 99),) * 3}, "must exist, got 99 of 'static'"),
        ({"stills": (("gone", 0),) * 3}, "must exist, got 0 of 'gone'"),
        ({"start": 99}, "must exist, got 99 of 'static'"),
        ({"counters": (Counter("one"),)}, "frame 0 of 'static' must have 1 counters"),
        ({"legend": {"red": "?"}}, r"inks of .* must be of weights, .*, got \['red'\]"),
    ],
)
def test_what_cannot_be_played_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        steps(**changes)


def test_an_unknown_ink_in_a_row_is_refused() -> None:
    rows = [{"slot": "slot 1", "start": 0, "end": 1, "ink": "pink"}]
    with pytest.raises(ValueError, match=r"got \['pink'\]"):
        only({"cells": rows}, scene=slot_grid(SLOTS, 4))


def test_short_logs_and_empty_axes_are_refused() -> None:
    with pytest.raises(ValueError, match="frames must be at least 2, got 1"):
        StepLog((Frame("alone"),), {})
    for domain in ((), (3, 3)):
        with pytest.raises(ValueError, match="domain must have an extent"):
            SceneAxis(domain)


def test_blocks_and_nodes_have_their_places() -> None:
    assert places(5, 2)[3:] == [{"column": 1, "row": 1}, {"column": 0, "row": 2}]
    where = around(("top", "right", "bottom", "left"))
    assert where["top"] == pytest.approx((0.5, 0.95))
    assert where["right"] == pytest.approx((0.95, 0.5))


@pytest.mark.parametrize(
    ("scene", "tables"),
    [
        (
            matrix(2, 3),
            {
                "cells": [{"column": 2, "row": 1, "ink": "new", "text": "7"}],
                "words": [{"x": 1.5, "y": 1, "text": "A"}],
            },
        ),
        (
            lanes(("A", "B"), 2.0),
            {
                "spans": [{"lane": "A", "start": 0, "end": 1, "ink": "idle"}],
                "tokens": [{"lane": "B", "at": 0.5, "ink": "B"}],
            },
        ),
        (
            graph({"nodes": [{"x": 0, "y": 1, "text": "GPU", "ink": "weights"}]}),
            {"words": [{"x": 0.5, "y": 0.5, "text": "said"}]},
        ),
    ],
    ids=["matrix", "lanes", "graph"],
)
def test_each_scene_draws_its_rows(scene: Any, tables: dict[str, Any]) -> None:
    figure = only(tables, scene=scene)
    svg = figure.picture("log", 1)
    texts = [
        row["text"] for rows in figure.rows.values() for row in rows if "text" in row
    ]
    assert all(f">{text}<" in svg for text in texts)
    assert all(MEANINGS[name].css in svg for name in figure.inks)


def test_a_mark_may_have_one_ink_for_all_rows() -> None:
    layer = Cells(table="t", ink="weights").layers(
        SceneAxis((0, 1)), SceneAxis((0, 1)), ()
    )[0]
    assert "--fig-blue" in json.dumps(layer["encoding"]["fill"])


@pytest.mark.parametrize("name", found_steps())
def test_every_step_figure_of_the_book_can_be_made(name: str) -> None:
    figure = found_steps()[name]()
    html = figure._repr_mimebundle_()["text/html"]
    assert len(IMAGE.sub("", html).encode()) < 64_000
    if figure.goal:
        assert figure.goal.met(figure.values(**figure.goal.example))
