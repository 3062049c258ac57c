"""A word in a picture and the line in its ink say the same thing."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import Study, study
from llmserve_lab.afd.page import panels
from llmserve_lab.page.step.figure import StepFigure
from tests.page import drawn
from tests.page.test_chart_numbers import shown

MOST = 12


@cache
def small() -> Study:
    law, made = paper_setup.law(), paper_setup.made(1)
    return study(made, law, most=MOST, n_requests=60, seeds=range(2))


def on(draw: Callable[[Any, Study], None]) -> Any:
    """A panel with what ``draw`` draws of the study."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    draw(axes, small())
    plt.close(figure)
    return axes


def heights(points: drawn.Points, ratios: Any) -> list[float]:
    """Mean height at each ratio: of a curve its own, of a stroke its middle."""
    at = np.array([point for point in points if np.isfinite(point[1])])
    return [float(at[at[:, 0] == ratio, 1].mean()) for ratio in ratios]


@pytest.mark.parametrize(
    ("draw", "word", "found"),
    [
        (panels.rates, "paper", lambda one: one.paper / 1e3),
        (panels.rates, "our rule", lambda one: one.ours / 1e3),
        (panels.rates, "simulated", lambda one: one.mean("tokens_per_s") / 1e3),
        (panels.waits, "Attention waits", lambda one: one.mean("idle_attn")),
        (panels.waits, "FFN waits", lambda one: one.mean("idle_ffn")),
    ],
)
def test_the_line_in_the_ink_of_a_word_has_the_numbers_of_the_word(
    draw: Any, word: str, found: Callable[[Study], Any]
) -> None:
    panel, one = on(draw), small()
    (points,) = drawn.lines(panel)[drawn.inks(panel)[word]]
    assert heights(points, one.ratios) == pytest.approx(list(found(one)), rel=1e-6)


def test_the_legend_calls_a_wait_late_only_where_another_machine_works() -> None:
    """A wait is called late where another Attention machine works, and idle else."""
    from llmserve_lab.afd.page import going_round

    figure: StepFigure = going_round.going_round()
    named = {words: ink for ink, words in figure.legend.items()}
    (late,) = (ink for words, ink in named.items() if "is late" in words)
    (empty,) = (ink for words, ink in named.items() if "no batch" in words)
    for m in going_round.FLIGHTS:
        rows, length = going_round.bars(m), going_round.window(m)[1]
        waits = [
            (lane, 0.5 * (begin + end), ink)
            for lane, ink, begin, end in going_round._merged(
                going_round.gaps(rows, length)
            )
        ]
        for lane, at, ink in waits:
            machines = range(going_round.ATTENTION)
            work = {n for n, _, s, e in rows if n in machines and s <= at < e}
            is_late = lane in machines and 0 < len(work) < len(machines)
            assert ink == (late if is_late else empty), (m, lane, at)


STANDS = {  # what a word beside an upright line stands for, by figure
    "afd.throughput": {"best r, paper": "ratio_best", "best r, loop": "ratio_pipeline"},
}


@pytest.mark.parametrize(
    "changes", [{}, {"n_batches": 3.0}, {"wire": "10 times slower"}]
)
@pytest.mark.parametrize("name", STANDS)
def test_an_upright_line_stands_at_the_ratio_that_its_word_is_the_name_of(
    name: str, changes: dict[str, Any]
) -> None:
    seen = shown(name, changes)
    words = {text: x for text, x, _ in seen.words if text in STANDS[name]}
    assert set(words) == set(STANDS[name])
    rules = {mark["x"] for mark in drawn.marks(seen.figure, "rule", **changes)}
    for text, signal in STANDS[name].items():
        beside = min(rules, key=lambda x: abs(x - words[text]))
        ratio = seen.at("x", beside, log=True)
        assert ratio == pytest.approx(seen.known[signal], rel=0.02), text
