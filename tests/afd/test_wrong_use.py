"""What cannot be is refused by the name of what is wrong, or warned of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import Study, study
from llmserve_lab.afd.simulation.bundle import Bundle, ascend, bundle
from llmserve_lab.afd.simulation.empirical_lengths import JointLengths
from llmserve_lab.afd.simulation.length_distributions import Geometric, SlotLaw, Uniform
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.afd.theory import corrected_model, finite_run
from llmserve_lab.afd.theory.calibration import fit
from llmserve_lab.afd.theory.paper_recipe import recipe

FLAT = SlotLaw(steps=501, theta=600, variance=1e-12, third=0)
BUNDLE, STILL = paper_setup.made(1), paper_setup.served(start="stationary")
NO_NUMBER: Any = math.nan
HALVES: Any = 8.5
TRIPLES: Any = [(1, 2, 3), (4, 5, 6)]


def trace(prompts: Any, decodes: Any) -> JointLengths:
    return JointLengths(prompts, decodes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Geometric(-1, least=0), "mean must be finite and at least 0, got -1"),
        (lambda: Geometric.stopping(0, least=0), r"p_stop must be in \(0, 1\], got 0"),
        (
            lambda: Geometric.stopping(1.5, least=0),
            r"p_stop must be in \(0, 1\], got 1.5",
        ),
        (lambda: Uniform(5, 3), r"low must be in \[0, 3\], got 5"),
        (
            lambda: trace(np.array([]), np.array([])),
            "at least one request, got 0 and 0",
        ),
        (lambda: trace(np.array([1]), np.array([1, 2])), "got 1 and 2"),
        (
            lambda: trace([-5, 3], [2, 4]),
            "prompts must be whole .*, got -5",
        ),
        (lambda: trace([5, 3], [2, 4.5]), "decodes must be whole .*, got 4.5"),
        (lambda: trace([5, np.nan], [2, 4]), "prompts must be whole .*, got nan"),
        (lambda: trace(np.ones((3, 2)), np.ones(3)), "prompts must be one row"),
        (
            lambda: paper_setup.law().slot("each"),
            "steps must be one of end token, one",
        ),
    ],
)
def test_a_law_that_cannot_be_says_so(wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("n_gpus", "message"),
    [
        (-1, "n_gpus must be at least 9, got -1"),
        (deployment.NODE, "n_gpus must be at least 9, got 8"),
        (NO_NUMBER, "n_gpus must be a whole number, got nan"),
        (10**9, "n_gpus must be at most 4,096"),
        (16, "n_gpus must have room for the experts, got 16 h100-sxm"),
    ],
)
def test_gpus_that_cannot_be_split_are_refused(n_gpus: int, message: str) -> None:
    for ask in (deployment.splits, lambda *of: deployment.best_split(*of, 0.05)):
        with pytest.raises(ValueError, match=message):
            ask("h100-sxm", n_gpus)


@pytest.mark.parametrize("name", ["attn_factor", "ffn_factor", "context", "spread"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_split_is_stretched_by_numbers_that_mean_something(
    name: str, value: float
) -> None:
    known: Any = {name: value}
    with pytest.raises(ValueError, match=f"{name} must be .*, got {value:g}"):
        deployment.Split(gpu="h100-sxm", n_attn=80, n_ffn=16, **known)


@pytest.mark.parametrize("off", [(0.0, 1.0), (1.0, -1.0), (math.nan, 1.0)])
def test_times_are_stretched_by_positive_numbers(off: coupled.Off) -> None:
    with pytest.raises(ValueError, match=r"off must be (positive|finite)"):
        coupled.group("h100-sxm", 96, off=off)


@pytest.mark.parametrize("tpot_s", [-0.05, 0.0, math.nan, math.inf])
def test_a_target_is_a_time(tpot_s: float) -> None:
    """Nothing keeps such a target, and no rate of zero hides it."""
    split = deployment.Split(gpu="h100-sxm", n_attn=80, n_ffn=16)
    for ask in (
        split.batch_at,
        split.gpu_tokens_per_s,
        lambda target: coupled.together("h100-sxm", 96, target),
    ):
        with pytest.raises(ValueError, match="tpot_s must be "):
            ask(tpot_s)


def curve(most: int, made: Bundle = BUNDLE) -> Study:
    return study(made, paper_setup.law(), most=most, n_requests=9, seeds=(0,))


def counted(n_requests: int) -> object:
    known = paper_setup.known() | {"n_requests": n_requests, "measured_share": 0.8}
    return f.COUNTED_SHARE.at(known, n_batches=2)


def with_coefficient(name: str, value: float) -> Callable[[], object]:
    return lambda: bundle(ascend() | {name: value}, batch=8)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (with_coefficient("a_attn", 0.0), "slope of attn must be positive, got 0"),
        (
            with_coefficient("b_ffn", -1.0),
            "intercept of ffn must be positive, got -1",
        ),
        (
            lambda: paper_setup.made(0),
            "n_attn must be at least 1, got 0",
        ),
        (
            lambda: paper_setup.made(1, comm="both"),
            "comm must be one of loop, hidden, got",
        ),
        (lambda: paper_setup.made(NO_NUMBER), "n_attn must be a whole number.*got nan"),
        (lambda: paper_setup.made(1, batch=HALVES), "batch must be a whole .*got 8.5"),
        (
            lambda: paper_setup.served(n_requests=0),
            "n_requests must be at least 1 request, got 0",
        ),
        (
            lambda: corrected_model.best_ratio(paper_setup.made(1), FLAT, most=0),
            "most must be .*got 0",
        ),
        (
            lambda: corrected_model.best_ratio(paper_setup.made(1), FLAT, most=10**7),
            "most must be .*at most 10000, got 10000000",
        ),
        (lambda: curve(2, paper_setup.made(2, n_ffn=2)), "n_ffn must be 1, .*got 2"),
        (
            lambda: recipe(paper_setup.known() | {"p_stop": 1.5}),
            "p_stop must be positive",
        ),
        (lambda: counted(300), "counted_share must be at least 0 and at most 1, got -"),
        (
            lambda: finite_run.period_s(BUNDLE, STILL),
            "load must start fresh and have geometric",
        ),
        (lambda: fit(TRIPLES, name="F"), r"pairs .*, got \(2, 3\)"),
        (lambda: fit([(-1, 1), (2, 2), (3, 3)], name="F"), "loads of F .*, got -1"),
        (lambda: paper_setup.served(stop="soon"), "stop must be one of total, each"),
        (
            lambda: corrected_model.period_s(paper_setup.made(1), FLAT, 0),
            "af_ratio must be positive",
        ),
        (lambda: curve(0), "most must be at least 1 instance, got 0"),
        (
            lambda: replace(FLAT, variance=-4.0),
            "variance must be finite and at least 0, got -4",
        ),
        (
            lambda: recipe(paper_setup.known() | {"a_ffn": -1.0}),
            "a_ffn must be positive",
        ),
        (lambda: f.MEAN_DECODE(p_stop=1.5), "p_stop must be positive and at most 1"),
        (lambda: fit([(1, 2), (2, 3)], name="FFN"), "rows of FFN must be at least 3"),
        (lambda: fit([(5, 2)] * 4, name="FFN"), "two loads or more, got 5 in all"),
        (lambda: fit([(1, 3), (2, 2), (3, 1)], name="FFN"), "slope of FFN must be pos"),
        (
            lambda: fit([(1, 3), (2, np.nan), (3, 1)], name="F"),
            "rows of F must be fini",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    wrong: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()


def test_too_few_requests_are_a_warning_with_the_reason() -> None:
    with pytest.warns(UserWarning, match=r"0.1 for each of the 512 slots.*got 9"):
        curve(1)
    with pytest.warns(
        UserWarning, match=r"at least 5 for each of the 512 slots.*got 99"
    ):
        simulate(paper_setup.made(1), paper_setup.served(n_requests=99), seed=1)
