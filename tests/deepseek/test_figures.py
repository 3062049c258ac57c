"""The figures show what the twin computes."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.page import evidence, figures, group, latent
from llmserve_lab.deepseek.page.controls import DEVICES
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


@pytest.mark.parametrize(
    ("device", "n_gpus", "model"),
    [
        ("H100 SXM", 72, "DeepSeek-V3"),
        ("GB200 NVL72", 48, "Kimi K2"),
        ("B200 SXM", 8, "DeepSeek-V3"),
        ("H800 SXM", 144, "Kimi K2"),
    ],
)
def test_the_frontier_is_the_twins(device: str, n_gpus: int, model: str) -> None:
    asked = {"device": device, "ep": float(n_gpus), "model": model}
    known = figures.frontier().values(**asked, balancedness=0.7)
    keys = {each.name: each.key for each in DEVICES}
    key = {"DeepSeek-V3": "deepseek-v3", "Kimi K2": "kimi-k2"}[model]
    held: Setup = setup(keys[device], n_gpus, model=key)
    size: dict[str, Any] = {"batch": 256, "context": 2000}
    ways: dict[str, Overlap] = {"halves": "halves", "turn": "none"}
    for name, overlap in ways.items():
        place = twin(held, overlap=overlap, balancedness=0.7)
        rate = float(place.gpu_tokens_per_s(**size, in_memory=False))
        assert known[f"{name}_gpu_tokens_per_s"] == pytest.approx(rate, rel=1e-9)
        assert known[f"{name}_user_tokens_per_s"] == pytest.approx(rate / 256, rel=1e-9)
    fits = float(place.batch_fits(2000)) >= 256
    assert known["room"] == float(fits)


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
            drawn = [row for row in cells if row["since"] == at and row["x"] > 30]
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
