"""The figures show what the twin computes."""

import numpy as np
import pytest

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.group_size import WAYS
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from llmserve_lab.deepseek.page import controls, evidence, figures, group, latent
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


def test_every_context_on_a_slider_can_be_read_by_both_models() -> None:
    limits = [shape.max_context or 0 for shape in controls.SHAPES]
    assert 0 < max(controls.STOPS["context"]) <= min(limits)
    assert 2 * max(controls.STOPS["context"]) > min(limits)


def test_two_halves_pay_from_where_the_page_says() -> None:
    """Walked down from many requests."""
    n = worked.MANY
    while worked.step_ms(n - 1, "halves") < worked.step_ms(n - 1, "none"):
        n -= 1
    assert n == worked.fewest()


@pytest.mark.parametrize("context", [1000.0, 2000.0, 4000.0])
@pytest.mark.parametrize("ep", [32, 72])
def test_inside_a_rack_two_halves_never_pay(ep: int, context: float) -> None:
    rack = setup("gb200-nvl72", ep)
    for batch in (8.0, 16.0, 32.0, 64.0, 96.0, 128.0, 192.0, 256.0):
        size = {"batch": batch, "context": context}
        halves, turn = (twin(rack, overlap=way) for way in WAYS)
        if float(turn.batch_fits(context)) >= batch:
            assert halves.step_s(**size) > turn.step_s(**size)


def test_the_bars_of_a_step_are_the_twins_blocks() -> None:
    known = figures.waterfall().values(
        balancedness=1.0, gpu_requests=128.0, context=4000.0
    )
    alone = twin(H100, overlap="none", balancedness=1.0)
    blocks = alone.blocks(batch=128, context=4000)
    for name in set(blocks) - {"host_s"}:
        seconds = blocks[name]
        assert known[name] == pytest.approx(float(seconds), rel=1e-9)
    assert known["turn_s"] == pytest.approx(sum(map(float, blocks.values())))
    assert known["room"] == 1.0
    assert figures.waterfall().values(ep=8.0)["room"] == 0.0


def test_a_form_is_drawn_as_it_ran() -> None:
    """Every rectangle is a vector of the executed pass, to scale."""
    figure = latent.two_forms()
    for form, name in latent.NAMES.items():
        cells = figure.logs[name].tables["cells"]
        for at, step in enumerate(
            [s for s in latent.shapes(form) if s.name in latent.PLACES], 1
        ):
            drawn = [
                row
                for row in cells
                if row["since"] == at
                and row["ink"] not in ("cache", "weights", "other")
            ]
            area = sum(row["x2"] - row["x"] for row in drawn)
            assert area == pytest.approx(np.prod(step.shape))
    plain, absorbed = (
        [float(each) for each in log.frames[-1].counters]
        for log in figure.logs.values()
    )
    assert plain[0] > 0 == absorbed[0]
    assert plain[1] > absorbed[1]


def test_runs_are_those_of_the_tables() -> None:
    found = evidence.runs()
    assert evidence.within() + len(evidence.missed()) == len(found)
    assert evidence.missed()[0].name.startswith("DeepSeek, prefill")
    errors = {run.name: run.error for run in found}
    for point in points(book_assumptions()):
        assert errors[point.name] == pytest.approx(point.error)


def test_the_goal_of_the_groups_is_a_group_that_memory_limits() -> None:
    figure = group.group_size()
    assert figure.goal is not None
    met = {
        ep: figure.goal.met(figure.values(ep_at=ep)) for ep in group.GROUPS if ep != "8"
    }
    assert [ep for ep, reached in met.items() if reached] == ["16"]
