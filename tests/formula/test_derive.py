"""What SymPy derives is compared with what NumPy finds at the far ends."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import notation as q
from llmserve_lab.formula import derive
from llmserve_lab.formula.derive import at, leading, limit, maximum, minimum, solve
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe.formulas import ROW_COPIES
from llmserve_lab.roofline import formulas as f
from llmserve_lab.speculative.formulas import ACCEPTED_FALLING
from tests.formula.example import make

FALLS = {"accept_rate": 0.8, "accept_fall": 0.9}
scale = st.floats(0.1, 10)
MODEL = {
    "params_total": 7e9,
    "params_read": 7e9,
    "params_active": 7e9,
    "bytes_weight": 2.0,
    "kv_bytes_per_token": 5e5,
    "attn_flops_per_pair": 5e5,
}
MACHINE = {"peak_flops": 1e15, "hbm_bw": 3e12, "hbm_bytes": 8e10, "eff_compute": 0.8,
           "eff_mem": 0.9}  # fmt: skip


def value(formula: Formula, **known: float) -> float:
    """``formula`` at those of the model, the machine and ``known`` that it takes."""
    return float(formula.at(MODEL | MACHINE | known))


@given(chunk=scale, batch=st.floats(1, 10), kv=st.floats(1, 10))
def test_the_long_intensity_is_what_a_trillion_tokens_give(
    chunk: float, batch: float, kv: float
) -> None:
    known = {"chunk": chunk, "batch": batch, "kv_bytes_per_token": kv * 5e5}
    far = value(f.LINEAR_INTENSITY, **known, context=1e12)
    assert value(f.LONG_INTENSITY, **known, context=1e12) == pytest.approx(
        far, rel=1e-6
    )


@given(chunk=scale, batch=scale)
def test_the_limit_with_attention_is_what_ever_longer_contexts_come_to(
    chunk: float, batch: float
) -> None:
    ends = value(f.ATTN_INTENSITY, chunk=chunk)
    gaps = [
        abs(value(f.INTENSITY, chunk=chunk, batch=batch, context=10.0**k) / ends - 1)
        for k in (9, 11, 13)
    ]
    assert gaps[2] < 1e-6
    assert sorted(gaps, reverse=True) == gaps


@given(chunk=scale, batch=scale)
def test_with_the_kv_term_off_an_empty_cache_gives_the_same(
    chunk: float, batch: float
) -> None:
    size = {"chunk": chunk, "batch": batch}
    empty = value(f.LINEAR_INTENSITY, **size, context=0.0)
    assert value(f.SHORT_INTENSITY, **size) == pytest.approx(empty, rel=1e-12)


@given(chunk=st.floats(1, 1e4), share=st.floats(0.01, 0.99))
def test_solutions_put_back_give_the_ridge(chunk: float, share: float) -> None:
    ridge = value(f.RIDGE)
    context = share * value(f.RIDGE_CONTEXT, chunk=chunk)
    batch = value(f.RIDGE_BATCH, chunk=chunk, context=context)
    size = {"chunk": chunk, "context": context, "batch": batch}
    assert value(f.LINEAR_INTENSITY, **size) == pytest.approx(ridge, rel=1e-9)
    rows = value(f.RIDGE_ROWS)
    found = value(f.LINEAR_INTENSITY, chunk=rows, batch=1.0, context=0.0)
    assert found == pytest.approx(ridge, rel=1e-12)


@given(above=st.floats(1.01, 50))
def test_the_reach_of_a_prefill_chunk_put_back_gives_the_ridge(above: float) -> None:
    chunk = above * value(f.RIDGE_ROWS)
    reach = value(f.PREFILL_REACH, chunk=chunk)
    found = value(f.LINEAR_INTENSITY, chunk=chunk, batch=1.0, context=reach)
    assert found == pytest.approx(value(f.RIDGE), rel=1e-9)


@given(batch=scale, context=st.floats(1, 1e6))
def test_at_the_crossover_cache_and_weights_weigh_the_same(
    batch: float, context: float
) -> None:
    crossover = value(f.CROSSOVER_CONTEXT, batch=batch)
    cache = value(f.KV_READ_BYTES, batch=batch, context=crossover)
    assert cache == pytest.approx(value(f.WEIGHT_BYTES), rel=1e-12)
    assert value(f.CROSSOVER_TOKENS) == pytest.approx(crossover * batch, rel=1e-12)


@given(batch=scale)
def test_what_fits_fills_memory_to_the_last_byte(batch: float) -> None:
    context = value(f.CONTEXT_FITS, batch=batch)
    used = value(f.ITERATION_BYTES, batch=batch, context=context)
    assert used == pytest.approx(MACHINE["hbm_bytes"], rel=1e-12)
    assert value(f.BATCH_FITS, context=context) == pytest.approx(batch, rel=1e-12)


def test_several_solutions_are_refused() -> None:
    square = make(q.batch_fits, lambda batch, one_request: batch**2 / one_request)
    with pytest.raises(ValueError, match="one solution for batch, got 2"):
        solve(square, q.ridge, q.batch)


def test_no_solution_is_refused() -> None:
    with pytest.raises(ValueError, match="one solution for context, got 0"):
        solve(f.N_ROWS, q.ridge, q.context)


def test_a_negative_solution_is_a_solution() -> None:
    less = make(q.batch_fits, lambda batch, one_request: batch + one_request)
    assert solve(less, 0, q.batch) == -q.one_request.sympy


def test_the_leading_term_needs_no_more_than_a_fall() -> None:
    share = make(q.eff_mem, lambda batch, chunk: 3 * chunk / (batch + chunk))
    assert leading(share, q.batch) == 3 * q.chunk.sympy / q.batch.sympy
    assert limit(share, q.batch, "oo") == 0
    assert limit(share, q.batch, 0) == 3


def test_a_quantity_is_replaced_by_number_quantity_or_coefficient() -> None:
    assert at(f.N_ROWS, batch=5) == 5 * q.chunk.sympy
    assert at(f.N_ROWS, batch=q.one_request) == q.chunk.sympy * q.one_request.sympy
    kept = at(f.KV_WRITE_BYTES, keep=(q.n_rows,), kv_bytes_per_token=2)
    assert kept == 2 * q.n_rows.sympy


def test_extremes_are_those_of_their_arguments() -> None:
    top = make(q.iteration_s, lambda kv_s, weights_s: maximum(kv_s, weights_s))
    low = make(q.iteration_s, lambda kv_s, weights_s: minimum(kv_s, weights_s))
    a, b = np.array([1.0, 5.0]), np.array([3.0, 2.0])
    assert top(kv_s=a, weights_s=b).tolist() == [3, 5]
    assert low(kv_s=a, weights_s=b).tolist() == [1, 2]


def test_a_sum_over_drafts_is_the_same_for_numbers_and_arrays() -> None:
    last = np.array([0.0, 1.0, 2.5, 4.0, 16.0])
    alone = [ACCEPTED_FALLING(**FALLS, n_draft=each) for each in last]
    assert ACCEPTED_FALLING(**FALLS, n_draft=last) == pytest.approx(alone, rel=1e-15)


def test_no_draws_at_all_are_an_empty_array() -> None:
    assert ROW_COPIES(n_experts=8.0, ep=2.0, top_k=[]).size == 0


def test_a_sum_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="n_draft must be at most 16 tokens, got 17"):
        ACCEPTED_FALLING(**FALLS, n_draft=17)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: derive.symbolic(None), "item"),
        (lambda: derive.symbolic(True), "item"),
        (lambda: derive.limit("x +", q.batch, 1), "formula"),
        (lambda: derive.limit(q.batch, q.batch, {}), "to"),  # type: ignore[arg-type]
        (lambda: derive.solve(q.batch, None, q.batch), "right"),
        (lambda: derive.at(q.batch, batch=[]), "batch"),
        (lambda: derive.falling_sum(1, object(), 2), "falls"),
        (lambda: derive.none_drawn(8, 2, []), "draws"),
    ],
)
def test_what_is_no_expression_is_refused_by_name(
    call: Callable[[], object], name: str
) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be a formula, a quantity, a nu"):
        call()
