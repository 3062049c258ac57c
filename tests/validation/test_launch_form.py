"""Launches of prompts and an unfused router: the facts, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.fourth_trial import extra, fourth_record
from llmserve_lab.validation.kernel_form import KernelConstants, KernelPredictor
from llmserve_lab.validation.launch_fit import (
    LAUNCHES,
    REPEATED,
    seen_rows,
    source_of,
)
from llmserve_lab.validation.launch_form import (
    ROUTER,
    UNFUSED,
    LaunchConstants,
    LaunchPredictor,
    router_kernels,
)
from llmserve_lab.validation.second_trial import EACH
from llmserve_lab.validation.third_rows import COOKBOOK, CookbookRow, third_runs

ONE = LaunchConstants(kernel_s=5e-6, products=4.0, launched=10.0)


@cache
def few() -> LaunchPredictor:
    """Runs of each engine and source, short ones."""
    rows = [row for row in seen_rows() if row.output_len <= 1024][::45]
    cookbook = [row for row in third_runs() if isinstance(row, CookbookRow)][::14]
    return LaunchPredictor([*rows, *cookbook])


def test_without_launches_it_is_the_form_that_counts_kernels() -> None:
    predictor = few()
    plain = KernelPredictor(predictor.rows, predictor.exposures)
    fused = np.array([router_kernels(row) == 0 for row in predictor.rows])
    ours = predictor.launching(achieved(), replace(ONE, launched=0.0))
    before = KernelConstants(kernel_s=ONE.kernel_s, products=ONE.products)
    theirs = plain.timed(achieved(), before)
    for kind in ("ttft", "tpot"):
        a, b = (getattr(each, kind) for each in (ours, theirs))
        assert a[fused] == pytest.approx(b[fused])
        assert np.all(a[~fused] > b[~fused])
    assert 0 < fused.sum() < len(fused)


def test_an_iteration_with_a_prompt_waits_with_sglang_alone() -> None:
    predictor = few()
    twice = replace(ONE, launched=2 * ONE.launched)
    slow, quick = (predictor.launching(achieved(), each) for each in (twice, ONE))
    prompts = np.array([each.tpot.prompts for each in predictor.exposures])
    sglang = predictor.label("engine") == "sglang"
    expected = sglang * prompts * ONE.launched * predictor.kernels * ONE.kernel_s
    assert slow.tpot - quick.tpot == pytest.approx(expected)
    assert 0 < sglang.sum() < len(sglang)


def test_a_router_of_single_operations_counts_in_each_layer() -> None:
    predictor = few()
    plain = KernelPredictor(predictor.rows, predictor.exposures).kernels
    more = (predictor.kernels - plain) / [row.shape.n_layers for row in predictor.rows]
    told = [
        isinstance(row, CookbookRow) and (row.model, row.system) in UNFUSED
        for row in predictor.rows
    ]
    assert np.array_equal(more, ROUTER * np.array(told))
    biased = [row.shape.ffn for row in third_runs() if router_kernels(row)]
    assert all(getattr(ffn, "router_bias", False) for ffn in biased) and biased
    with pytest.raises(ValueError, match="launched must be finite and at least 0"):
        replace(ONE, launched=-1.0)


def test_one_page_repeats_the_figures_of_another_model() -> None:
    """Eight settings, 16 figures, equal to the last digit: left out of the fit."""
    rows = [row for row in third_runs() if isinstance(row, CookbookRow)]
    by_setting = {
        (row.model, row.prompt_len, row.output_len, row.clients): row for row in rows
    }
    again = [row for row in rows if row.model == REPEATED]
    for row in again:
        first = by_setting[
            "moonshotai/Kimi-K2.5", row.prompt_len, row.output_len, row.clients
        ]
        assert (row.tpot_s, row.ttft_s) == (first.tpot_s, first.ttft_s)
    assert len(again) == 8
    assert len(seen_rows()) == len(blind_rows()) - 8
    times = [row.tpot_s for row in rows if row.model != REPEATED]
    assert len(set(times)) > 0.9 * len(times)  # no others are alike


def test_sources_are_told_apart() -> None:
    source = source_of(few())
    assert {*source} == {COOKBOOK, "first", "second", "third"}
    assert np.array_equal(
        source == COOKBOOK, [isinstance(row, CookbookRow) for row in few().rows]
    )


def test_left_out_errors_are_smaller_than_those_of_the_form_before() -> None:
    known = fourth_record()["launches"]
    for by in ("model", "source"):
        now, before = known[f"{by} left out"], known[f"{by} left out, before"]
        assert now[EACH]["n"] == before[EACH]["n"] == len(seen_rows())
        for name in (EACH, COOKBOOK, "vllm", "trtllm", "sglang"):
            assert now[name]["mean"] < before[name]["mean"]
        models = [name for name in now if "/" in name]
        worse = [n for n in models if now[n]["mean"] > before[n]["mean"] + 0.01]
        assert not worse and len(models) == 10


def test_no_one_model_or_source_decides_a_constant() -> None:
    """Leaving one out moves no constant by a quarter; but launches, by one model."""
    sets, all_of_them = fourth_record()["launches"]["constants"], extra()
    moved = {
        name: max(abs(each[name] / getattr(all_of_them, name) - 1) for each in others)
        for name in ("kernel_s", "products", "launched")
        for others in [[each for key, each in sets.items() if key != "zai-org/GLM-4.6"]]
    }
    assert max(moved.values()) < 0.25
    assert sets["zai-org/GLM-4.6"]["launched"] > 1.5 * all_of_them.launched


def test_the_three_constants_are_where_the_loss_is_least() -> None:
    predictor = few()
    fitted = LAUNCHES.fit(predictor)
    for name in ("kernel_s", "products", "launched"):
        for factor in (0.95, 1.05):
            moved = replace(fitted, **{name: factor * getattr(fitted, name)})
            assert LAUNCHES.loss(predictor, moved) > LAUNCHES.loss(predictor, fitted)
