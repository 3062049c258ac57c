"""What is drawn beside the runs is as long as it is called."""

import itertools
import re

import numpy as np
import pytest

from llmserve_lab.continuous_batching import lanes
from llmserve_lab.continuous_batching.page import (
    blocks,
    charts,
    figures,
    slots,
    stills,
)
from llmserve_lab.continuous_batching.page.controls import LIMITS, TARGETS
from llmserve_lab.continuous_batching.workloads import LETTERS, four
from llmserve_lab.formula.text import si
from llmserve_lab.page.still import StaticFigure
from tests.page import drawn

BAR = 6  # pixels that the stroke of the target is high
BESIDE = "the longest gap that the target allows"


@pytest.mark.parametrize("limit", [LIMITS[0], LIMITS[-1]])
@pytest.mark.parametrize("target_s", [TARGETS[0], TARGETS[-1]])
def test_the_bar_of_the_target_is_as_long_as_the_target_whatever_the_run(
    limit: str, target_s: float
) -> None:
    """It begins at zero; what lies left of it is a known part of a second."""
    figure, known = figures.lanes(), {"limit": limit, "tbt_target": target_s}
    rules = drawn.marks(figure, "rule", **known)
    (bar,) = (each for each in rules if each.get("strokeWidth") == BAR)
    pixels_per_s = bar["x"] / -charts.FROM_S
    assert (bar["x2"] - bar["x"]) / pixels_per_s == pytest.approx(target_s)
    words = drawn.marks(figure, "text", **known)
    (named,) = (each for each in words if each.get("text") == BESIDE)
    assert named["x"] == pytest.approx(bar["x2"]) and named["y"] == bar["y"]


def test_the_counter_of_rows_counts_a_prompt_row_by_row() -> None:
    """The rows that an iteration runs, as the engine charges for them."""
    (log,) = blocks.blocks_run_out().logs.values()
    run = blocks.watched()
    for frame in log.frames:
        assert frame.at is not None
        moment = run[round(frame.at) - 1]
        rows = sum(part.rows for part in moment.running)
        assert float(frame.counters[3]) == rows
        assert float(frame.counters[1]) == moment.kv_blocks - moment.used_blocks
        assert float(frame.counters[2]) == len(moment.waiting)
    counted = [float(frame.counters[3]) for frame in log.frames]
    assert max(counted) > 3  # a prompt is more than one row of each request


def test_a_request_has_as_many_tokens_as_it_asked_for() -> None:
    """Under either scheduler, wherever a sentence says that it "has its" tokens."""
    asked = {LETTERS[each.id]: each.output_len for each in four()}
    for log in slots.slots_by_iteration().logs.values():
        told = " ".join(frame.sentence for frame in log.frames)
        found = re.findall(r"\b([A-D]) has its ([\d,]+) tokens", told)
        assert found
        for letter, tokens in found:
            assert int(tokens.replace(",", "")) == asked[letter]


def test_each_lane_of_the_tokens_has_its_letter_and_the_legend_its_inks() -> None:
    """From the top in the order of the alphabet; below them the one that is read."""
    figure = figures.lanes()
    texts = {t["text"]: t for t in drawn.marks(figure, "text") if t.get("text")}
    rects = drawn.marks(figure, "rect")
    names = ("A", "B", "C", "D", "E", "F")
    assert sorted(names, key=lambda name: texts[name]["y"]) == list(names)
    heights = [texts[name]["y"] for name in names]
    assert all(b - a > 10 for a, b in itertools.pairwise(heights))
    read = max(
        (r for r in rects if r["y"] < heights[-1] < r["y"] + r["height"]),
        key=lambda rect: rect["width"],
    )
    keys = {}
    for words in ("token", "chunk of F's prompt"):
        at = texts[words]
        (key,) = (
            r
            for r in rects
            if 0 < at["x"] - r["x"] < 25 and r["y"] < at["y"] < r["y"] + r["height"]
        )
        keys[words] = key["ink"]
    assert keys["chunk of F's prompt"] == read["ink"]
    strokes = {each["ink"] for each in drawn.marks(figure, "line")}
    assert strokes == {keys["token"]} != {read["ink"]}


def test_each_bar_of_the_heartbeat_is_an_iteration_with_a_prompt_or_without() -> None:
    """One in which the long prompt is read whole; in its sentence and in its ink."""
    run = lanes.whole()
    made: list[StaticFigure] = []

    def make() -> StaticFigure:
        made.append(stills.heartbeat.__wrapped__(run, "one piece"))
        return made[-1]

    (panel,) = drawn.panels(make)
    most = {
        str(stairs.get_label()): max(stairs.get_data().values)
        for stairs in panel.patches
    }
    assert run.log is not None
    kinds = {"prompts": True, "decodes": False}
    for name, riding in kinds.items():
        took = [s.seconds for s in run.log if bool(s.prefill_rows) is riding]
        assert most[name] == pytest.approx(max(took))
    ttft = np.median(run.ttft_s)
    gap = si(float(run.gaps.longest_s), "s")
    assert f"two tokens is {gap}, the median" in made[0].sentence
    assert f"first token {si(float(ttft), 's')}." in made[0].sentence
