"""The figures show what the twin computes."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from llmserve_lab.deepseek.page import controls, evidence, figures, group, latent, ways
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


def test_every_context_on_a_slider_can_be_read_by_both_models() -> None:
    limits = [shape.max_context or 0 for shape in controls.SHAPES]
    assert 0 < max(controls.STOPS["context"]) <= min(limits)
    assert 2 * max(controls.STOPS["context"]) > min(limits)


@pytest.mark.parametrize("device", ways.DEVICES)
@pytest.mark.parametrize("context", ways.CONTEXTS)
@pytest.mark.parametrize("ep_at", ways.GROUPS)
def test_both_schedules_are_the_twins(device: str, context: str, ep_at: str) -> None:
    place = setup(ways.DEVICES[device], ways.GROUPS[ep_at])
    known = {"device": device, "context": context, "ep_at": ep_at}
    figure = ways.halves_pay()
    for requests, n in ways.REQUESTS.items():
        size: dict[str, Any] = {"batch": n, "context": ways.CONTEXTS[context]}
        if float(twin(place).batch_fits(size["context"])) < n:
            with pytest.raises(ValueError, match="no value for this choice"):
                figure.values(**known, requests=requests)
            continue
        shown = figure.values(**known, requests=requests)
        overlaps: dict[str, Overlap] = {"two_halves": "halves", "one_batch": "none"}
        for name, overlap in overlaps.items():
            made = float(twin(place, overlap=overlap).gpu_tokens_per_s(**size))
            assert shown[f"{name}_gpu_tokens_per_s"] == pytest.approx(made, abs=0.06)


def test_two_halves_pay_from_where_the_page_says() -> None:
    """Walked down from many requests; in the figure, the first stop above it."""
    n = worked.MANY
    while worked.step_ms(n - 1, "halves") < worked.step_ms(n - 1, "none"):
        n -= 1
    assert n == ways.fewest()
    figure = ways.halves_pay()
    assert figure.goal is not None
    met = [r for r in ways.REQUESTS if figure.goal.met(figure.values(requests=r))]
    assert met == [next(r for r, count in ways.REQUESTS.items() if count >= n)]


def test_inside_a_rack_two_halves_never_pay() -> None:
    """So the figure's title holds wherever its menus stand."""
    for context in ways.CONTEXTS:
        for ep_at in ("32", "72"):
            for requests in ways.REQUESTS:
                made = ways.rates("GB200 NVL72", context, ep_at, requests)
                assert made is None or made[0] < made[1]


def test_the_chart_draws_what_the_menus_say() -> None:
    head, *lines = ways.csv_lines()
    assert head == "d,c,e,b,h,t"
    menus = [list(menu) for menu in (ways.DEVICES, ways.CONTEXTS, ways.GROUPS)]
    for line in lines:
        *index, n, halves, turn = map(int, line.split(","))
        names = [menu[at] for menu, at in zip(menus, index, strict=True)]
        made = ways.rates(names[0], names[1], names[2], f"{n}")
        assert made is not None and [halves, turn] == [round(each) for each in made]


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
