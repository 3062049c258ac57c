"""Layers counted in kernels: the facts, and what follows from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.data.trial_models import (
    GLM_47_FLASH,
    QWEN_35,
    QWEN_CODER_NEXT,
)
from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.kernel_form import (
    KernelConstants,
    KernelPredictor,
    kernels_of,
    state_s,
)
from llmserve_lab.validation.latent_rows import latent_runs
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.third_rows import third_rows
from llmserve_lab.validation.third_trial import COLUMNS

ONE = KernelConstants(kernel_s=5e-6, products=4.0)


@pytest.mark.parametrize("shape", [GLM_47_FLASH, QWEN_35, QWEN_CODER_NEXT])
def test_parameters_add_up_to_what_the_card_prints(shape: ModelShape) -> None:
    published = shape.published
    for name, tolerance in (("params_total", 0.01), ("params_active", 0.25)):
        counted = getattr(shape, name)
        assert counted == pytest.approx(float(published[name]), rel=tolerance)


def test_a_hybrid_keeps_a_cache_in_each_fourth_layer_alone() -> None:
    for shape in (QWEN_35, QWEN_CODER_NEXT):
        every = shape.n_layers * shape.attention.kv_elements
        assert shape.kv_elements_per_token * shape.full_every == every
        assert shape.full_layers + shape.delta_layers == shape.n_layers
    with pytest.raises(ValueError, match="n_layers must be a multiple"):
        replace(QWEN_35, n_layers=61)


def of_qwen(precision: str, tp: str = "8") -> MeasuredRow:
    """A run of Qwen3.5."""
    text = "Qwen/Qwen3.5-397B-A17B,b200_sxm,sglang,{},{},1,1024,1024,4,x,99,9,mean,"
    cells = text.format(precision, tp).split(",")
    return third_rows([dict(zip(COLUMNS, cells, strict=True))]).rows[0]


def test_matrices_are_read_and_written_once_a_token() -> None:
    row, reached = of_qwen("bf16"), achieved()
    layers, heads, width, bytes_each = 45, 64, 128, 4
    moved = 2 * layers * heads * width**2 * bytes_each / 8
    assert state_s(row, reached) == pytest.approx(moved / (8e12 * reached.memory))
    assert state_s(of_qwen("fp4"), reached) * 2 == pytest.approx(state_s(row, reached))
    assert state_s(stored_runs()[0], reached) == 0


def test_kernels_are_counted_by_what_a_layer_is_made_of() -> None:
    found = {
        (row.shape.key, row.precision, row.tp > 1): kernels_of(row)
        for row in (*stored_runs(), *latent_runs())
    }
    plain = found["gpt-oss-120b", "fp4", False]
    assert found["gpt-oss-120b", "fp4", True] == plain + 2
    assert found["minimax-m2.5", "fp8", True] == found["minimax-m2.5", "fp4", True] + 4
    assert found["kimi-k2.5", "fp4", True] == found["minimax-m2.5", "fp4", True] + 6
    assert found["glm-5", "fp4", True] == found["kimi-k2.5", "int4", True] + 9
    assert kernels_of(of_qwen("bf16")) == plain + 2 + 2.5


def test_a_kernel_costs_its_time_in_each_iteration() -> None:
    rows = [stored_runs()[0], latent_runs()[0], of_qwen("fp8")]
    predictor = KernelPredictor(rows)
    slow = replace(ONE, kernel_s=2 * ONE.kernel_s)
    twice, once = (predictor.timed(achieved(), each).tpot for each in (slow, ONE))
    iterations = np.array([each.tpot.iterations for each in predictor.exposures])
    expected = iterations * predictor.kernels * ONE.kernel_s
    assert twice - once == pytest.approx(expected)
    with pytest.raises(ValueError, match="kernel_s must be finite and at least 0"):
        replace(ONE, kernel_s=-1.0)
