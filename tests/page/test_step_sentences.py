"""A share or a decimal in the sentence of a step stands in what is drawn in that step.

Counts in whole numbers are often counted up from what is drawn; those with decimals and
percentages are read off it, and a reader looks for them in the picture.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.content import Frame
from llmserve_lab.page.step.figure import StepFigure, StepLog
from tests.page.seen import alive

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
READ_OFF = re.compile(r"(?<![\w.])(?:\d[\d,]*\.\d+|\d+(?=%| times in a hundred))")
PERCENT = 100
# Their sentences also say times, means or quotients that only the axis tells.
BEYOND = {
    "capacity.burst_by_minute",
    "deepseek.two_batches",
    "disaggregation.pools_by_layer",
    "disaggregation.routes_by_rule",
    "end_to_end.way",
    "flash_attention.split_decoding",
    "front.request_life",
    "how_wrong.leave_one_group_out",
    "parallelism.pipeline",
    "parallelism.pipeline_steps",
    "quantization.forgetting",
    "quantization.group_quantized",
    "roofline.reuse",
    "roofline.tile_reuse",
    "speculative.one_round",
    "speculative.round_steps",
}
HELD = [name for name in registry.steps() if name not in BEYOND]


def numbers(text: str) -> set[float]:
    """All numbers of a text, without their signs."""
    return {float(each.replace(",", "")) for each in NUMBER.findall(text)}


def shown(figure: StepFigure, log: StepLog, at: int) -> set[float]:
    """Numbers that are written into the picture of a frame, or counted below it."""
    tables = (*log.tables.values(), *(figure.scene.fixed or {}).values())
    rows = (row for table in tables for row in table)
    drawn = [str(row.get("text", "")) for row in rows if alive(row, at)]
    counted = map(str, log.frames[at].counters)
    return numbers(" ".join([*drawn, *counted, figure.title]))


def unseen(figure: StepFigure) -> Iterator[tuple[str, int, float]]:
    """Numbers of a sentence that its picture does not show: log, frame, number."""
    for name, log in figure.logs.items():
        for at, frame in enumerate(log.frames):
            there = shown(figure, log, at)
            there |= {round(PERCENT * each, 9) for each in there}
            for text in READ_OFF.findall(frame.sentence):
                if (number := float(text.replace(",", ""))) not in there:
                    yield name, at, number


@pytest.mark.parametrize("name", HELD)
def test_a_share_or_a_decimal_of_a_sentence_is_drawn(name: str) -> None:
    assert list(unseen(registry.steps()[name]())) == []


def test_a_share_of_another_picture_is_found() -> None:
    """What is said before the cut is not what is drawn after it."""
    figure = registry.steps()["end_to_end.heat"]()
    before, after = figure.logs.values()
    frames = [
        Frame(one.sentence, two.counters)
        for one, two in zip(before.frames, after.frames, strict=True)
    ]
    wrong = replace(after, frames=tuple(frames))
    assert list(unseen(replace(figure, logs={**figure.logs, "top-p 0.9": wrong})))


def test_every_figure_that_goes_beyond_its_picture_is_there() -> None:
    assert set(registry.steps()) >= BEYOND
