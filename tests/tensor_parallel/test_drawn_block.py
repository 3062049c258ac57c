"""Each line of the block, its slices and its counters are a step of the ranks' log."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel.page import block_steps
from tests.page.frames import Row, counted, made, rows

CALLED = {  # how a line is called, where the log's name of the step is another
    **{"Q, K, V": "QKV projection", "output": "o_proj"},
    **{"FFN up": "up_proj", "FFN down": "down_proj", "residual": "+ residual"},
}
BEGINS = {  # how a sentence begins, by the log's name of the step
    **{"input": "The token vectors enter", "norm": "Norm", "QKV": "Queries, keys"},
    **{"attention": "Attention", "o_proj": "Output projection", "up_proj": "FFN up"},
    **{"GeLU": "GeLU", "down_proj": "FFN down", "+ residual": "The residual"},
    **{"all-gather": "All-gather", "all-reduce": "All-reduce"},
}
SHAPES = re.compile(
    r"(?:weights \[(\d+)×(\d+)\], )?vectors \[4×(\d+)\] → \[4×(\d+)\]\."
)


@pytest.mark.parametrize("log", block_steps.LOGS)
def test_each_line_of_the_block_is_its_step(log: str) -> None:
    figure = made("tensor_parallel.block_on_two")
    steps = article.execute(block_steps.LOGS[log], 2, article.batch()).steps[0]
    names = rows(figure, log, 0, "names")
    assert len(names) == len(steps) == len(figure.logs[log].frames)
    sent = exchanges = 0.0
    for at, step in enumerate(steps):
        frame = figure.logs[log].frames[at]
        (name,) = (r["text"] for r in names if at < r["y"] < at + 1)
        assert CALLED.get(name, name) == step.name.partition(" (")[0]
        (mark,) = rows(figure, log, at, "here")
        assert mark["text"] == "▶" and at < mark["y"] < at + 1
        begins = [said for each, said in BEGINS.items() if step.name.startswith(each)]
        assert [frame.sentence.startswith(said) for said in begins] == [True]
        for words, cut in (
            ("column-parallel", "(columns)"),
            ("row-parallel", "(rows)"),
        ):
            assert (words in frame.sentence) == (cut in step.name)
        (shapes,) = SHAPES.findall(frame.sentence)
        of, to, taken, given = shapes
        assert (given, taken) == (str(step.given[1]), str(step.taken[1]))
        assert [of, to] == (["", ""] if step.weight is None else [taken, given])
        if step.name.startswith("all-"):
            exchanges += 1
            numbers = article.N_ROWS * step.given[1]  # a gather sends half of it, once
            sent += 2 * numbers * (0.5 if "gather" in step.name else 1)
        assert counted(figure, log, at) == {
            "exchanges": exchanges,
            "sent by each GPU": sent,
            "features held of each vector, GPU 0": step.given[1],
        }
        drawn = [r for r in rows(figure, log, at, "held") if r["y"] == at]
        halved = "(columns)" in step.name or step.name in ("attention", "GeLU")
        one, other = spans(figure, log, drawn)
        if halved:  # each its own half of every slice, the first that of GPU 0
            both = sorted(one + other)
            assert both[0][0] == 0 and both[::2] == one and both[1::2] == other
            assert all(a[1] == b[0] for a, b in pairwise(both))
        else:
            assert one == other and one[0][0] == 0 and len(one) == 1


def named(figure: StepFigure, log: str, gpu: int) -> list[float]:
    """Where the name of a GPU stands, from the left."""
    words = figure.logs[log].tables["words"]
    return [r["x"] for r in words if r["text"] == f"GPU {gpu}"]


def spans(
    figure: StepFigure, log: str, drawn: list[Row]
) -> list[list[tuple[float, float]]]:
    """From where to where each GPU holds a vector; its name stands over the first."""
    (one,), (other,) = (named(figure, log, gpu) for gpu in range(2))
    found: list[list[tuple[float, float]]] = [[], []]
    for r in sorted(drawn, key=lambda r: float(r["x"])):
        gpu = int(r["x"] >= other - article.SHAPE.d_model / 2)
        assert float(r["text"]) == r["x2"] - r["x"]
        found[gpu].append((r["x"] - gpu * (other - one), r["x2"] - gpu * (other - one)))
    return found
