"""Calling a formula: what it asks for, what it refuses, and how far down it goes."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from llmserve_lab import notation as q
from llmserve_lab.catalog import Cited
from llmserve_lab.collectives.formulas import TOUCHED_EXPERTS
from llmserve_lab.formula.evaluate import BLOCK
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe.formulas import MOE_READ_BYTES
from llmserve_lab.moe.models import DEFAULT
from llmserve_lab.roofline import formulas as f
from tests.formula.example import make

KNOWN = {"params_read": 6.7e9, "params_active": 6.7e9, "bytes_weight": 2.0,
         "kv_bytes_per_token": 524288.0, "attn_flops_per_pair": 524288.0}  # fmt: skip
SIZE = {"batch": 32.0, "context": 1024.0, "chunk": 1.0}


def test_a_missing_name_is_named() -> None:
    with pytest.raises(TypeError, match="ridge needs eff_mem, which was not given"):
        f.RIDGE(peak_flops=1e15, eff_compute=1, hbm_bw=3e12)
    with pytest.raises(TypeError, match="needs chunk, context, which were not given"):
        f.INTENSITY(**KNOWN, batch=1)


def test_an_unknown_name_is_named_with_those_that_it_takes() -> None:
    with pytest.raises(
        TypeError, match="n_rows does not take c; it takes batch, chunk"
    ):
        f.N_ROWS(batch=1, chunk=2, c=3)


def test_arguments_have_no_positions() -> None:
    with pytest.raises(TypeError, match="positional"):
        f.N_ROWS(1, 2)  # type: ignore[call-arg]


def test_a_bad_argument_is_named() -> None:
    with pytest.raises(ValueError, match="batch must be positive, got 0"):
        f.N_ROWS(batch=0, chunk=1)
    with pytest.raises(TypeError, match="chunk must be a real number, got 'one'"):
        f.N_ROWS(batch=1, chunk="one")


def test_shapes_that_do_not_broadcast_are_listed() -> None:
    message = (
        r"arguments of n_rows must broadcast to one shape, got batch \(3,\), chunk"
    )
    with pytest.raises(ValueError, match=message + r" \(2,\)$"):
        f.N_ROWS(batch=np.ones(3), chunk=np.ones(2))


@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=4))
def test_arguments_broadcast_as_in_numpy(found: Any) -> None:
    names = ("batch", "chunk", "context")
    shapes = dict(zip(names, found.input_shapes, strict=True))
    arrays = {
        name: np.arange(1.0, np.prod(shape) + 1).reshape(shape)
        for name, shape in shapes.items()
    }
    pairs = f.ATTN_PAIRS(**arrays)
    assert pairs.shape == found.result_shape
    assert pairs.dtype == np.float64
    spread = [np.broadcast_to(array, found.result_shape) for array in arrays.values()]
    for index in itertools.islice(np.ndindex(found.result_shape), 8):
        one = {n: a[index] for n, a in zip(names, spread, strict=True)}
        assert pairs[index] == f.ATTN_PAIRS(**one)


def test_a_scalar_comes_back_as_a_float64_scalar() -> None:
    result = f.N_ROWS(batch=2, chunk=3)
    assert type(result) is np.float64
    assert f.N_ROWS(batch=[2], chunk=3).shape == (1,)
    assert f.N_ROWS(batch=[], chunk=3).shape == (0,)


def test_a_large_array_is_computed_like_many_small_ones() -> None:
    batch = np.linspace(1, 2, 2 * BLOCK + 7)
    whole = f.INTENSITY(**KNOWN | SIZE | {"batch": batch})
    for part in (slice(0, 9), slice(BLOCK - 4, BLOCK + 4), slice(-9, None)):
        assert (
            whole[part] == f.INTENSITY(**KNOWN | SIZE | {"batch": batch[part]})
        ).all()
    table = f.INTENSITY(**KNOWN | SIZE | {"batch": batch.reshape(-1, 1)})
    assert (table[:, 0] == whole).all()
    grid = f.N_ROWS(batch=batch, chunk=[[1.0], [2.0]])
    assert (grid[1] == 2 * grid[0]).all()


def test_integers_do_not_overflow() -> None:
    rows = f.N_ROWS(batch=np.array([2**40]), chunk=np.array([2**40]))
    assert rows.tolist() == [2.0**80]


def test_an_intermediate_result_ends_the_expansion_there() -> None:
    inner = {"iteration_bytes": 14e9}
    flops = f.ITERATION_FLOPS(**{a.name: (KNOWN | SIZE)[a.name]
                                 for a in f.ITERATION_FLOPS.arguments})  # fmt: skip
    assert f.INTENSITY(iteration_flops=flops, **inner) == flops / 14e9
    with pytest.raises(TypeError, match="does not take batch; it takes iteration_by"):
        f.INTENSITY(iteration_flops=flops, **inner, batch=1)


def test_giving_what_would_have_been_computed_changes_nothing() -> None:
    full = f.INTENSITY(**KNOWN, **SIZE)
    asked = {name for name in KNOWN if name not in ("params_read", "bytes_weight")}
    known = {name: KNOWN[name] for name in asked} | SIZE
    weights = f.WEIGHT_BYTES(params_read=6.7e9, bytes_weight=2)
    assert f.INTENSITY(**known, weight_bytes=weights) == pytest.approx(full, rel=1e-15)


def test_a_cited_record_is_read_in_its_own_unit() -> None:
    peak = Cited(989, "TFLOP/s", "datasheet", "somebody")
    at = {"hbm_bw": Cited(3350, "GB/s", "datasheet", "somebody"), "eff_mem": 1.0}
    ridge = f.RIDGE(peak_flops=peak, eff_compute=1.0, **at)
    assert ridge == pytest.approx(989e12 / 3.35e12)


def test_a_result_out_of_its_range_is_refused_with_what_the_formula_needs() -> None:
    at = {"peak_flops": 1e15, "hbm_bw": 3e12, "eff_compute": 1, "eff_mem": 1}
    known = {n: v for n, v in KNOWN.items() if n != "attn_flops_per_pair"}
    with pytest.raises(ValueError) as caught:
        f.RIDGE_BATCH(**known, **at, chunk=1, context=[1.0, 1e6])
    assert str(caught.value).startswith("ridge_batch must be positive, got -")
    assert str(caught.value).endswith(
        "; ridge_batch holds for: context below the ridge context "
        "ridge_context; beyond it no batch does"
    )


def test_what_lies_between_is_refused_out_of_its_range_too() -> None:
    """A square hides the sign of what was squared."""
    room = make(q.wasted_pairs, lambda varlen_pairs, useful_pairs: (
        varlen_pairs - useful_pairs
    ))  # fmt: skip
    square = make(q.batch_fits, lambda wasted_pairs, one_request: (
        one_request * wasted_pairs**2
    ), uses=(room,))  # fmt: skip
    assert not room.in_range and f.N_ROWS.in_range
    assert square(varlen_pairs=[7.0, 3.0], useful_pairs=1)[1] == 4
    with pytest.raises(ValueError, match="wasted_pairs must be at least 0, got -2"):
        square(varlen_pairs=[7.0, 3.0], useful_pairs=5)
    assert square(wasted_pairs=2) == 4


def test_terms_in_the_wrong_order_are_refused() -> None:
    """A row cannot choose more experts than there are; nor can one of several rows."""
    message = "top_k must be at most n_experts, got 9 with n_experts = 8$"
    with pytest.raises(ValueError, match=message):
        TOUCHED_EXPERTS(n_experts=[16.0, 8.0], top_k=9, n_rows=1)
    above = MOE_READ_BYTES.given(DEFAULT, n_rows=2) | {"top_k": 9, "n_experts": 8}
    with pytest.raises(ValueError, match=message):  # also below the formula asked
        MOE_READ_BYTES(**above)
    assert TOUCHED_EXPERTS(n_experts=8, top_k=8, n_rows=1) == 8


def test_an_overflow_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"n_rows must be finite, got inf, from batch=1e\+200, chunk=1e\+200; n",
    ):
        f.N_ROWS(batch=1e200, chunk=1e200)


def test_no_room_is_not_a_warning_but_an_error() -> None:
    with pytest.raises(ValueError, match="batch_fits must be finite"):
        f.BATCH_FITS(hbm_bytes=8e10, stored_bytes=1e10, kv_bytes_per_token=1, context=0)


def piecewise(batch: Any, own_row: Any, n_rows: Any) -> Any:
    import sympy

    few = n_rows < own_row * batch
    return sympy.Piecewise((n_rows / own_row, few), (batch, True))


def test_branches_are_chosen_element_by_element() -> None:
    formula = make(q.batch_fits, piecewise)
    assert formula(batch=4, n_rows=[1, 3, 4, 9]).tolist() == [1, 3, 4, 4]
    assert formula(batch=4, n_rows=3) == 3


@given(st.floats(0.1, 1e6), st.floats(0.1, 1e6))
def test_a_quantity_may_stand_in_for_a_coefficient(batch: float, two: float) -> None:
    flops = f.LINEAR_FLOPS(n_rows=batch, params_active=1.0, flops_per_param=two)
    assert flops == pytest.approx(batch * two)


def test_a_coefficient_may_be_given_like_any_other_number() -> None:
    known = {"batch": 4.0, "chunk": 2.0, "params_active": 5.0}
    assert f.LINEAR_FLOPS.at(known, flops_per_param=4) == 160
    assert "4" in f.LINEAR_FLOPS.worked(known, flops_per_param=4).latex
    with pytest.raises(ValueError, match="flops_per_param must be positive, got 0"):
        f.LINEAR_FLOPS.at(known, flops_per_param=0)


def test_infinity_does_not_hide_between_two_finite_numbers() -> None:
    """The weights' bytes overflow; what is divided by them would still be zero."""
    at = {n: v for n, v in KNOWN.items() if n != "params_read"} | SIZE
    with pytest.raises(ValueError, match=r"weight_bytes must be finite, got inf"):
        f.INTENSITY(**at, params_read=1e308)


def test_a_formula_says_what_it_is() -> None:
    assert repr(f.N_ROWS) == "n_rows = batch*chunk"
    assert repr(f.KV_BYTES_PER_TOKEN_MLA).startswith("kv_bytes_per_token (mla) = ")
    assert f.KV_BYTES_PER_TOKEN_MLA.link == (
        "[kv_bytes_per_token-mla](#eq-kv_bytes_per_token-mla)"
    )
    assert [leaf.name for leaf in f.N_ROWS.arguments] == ["batch", "chunk"]


def test_a_name_that_is_in_no_notation_is_refused() -> None:
    formula: Formula = make(q.batch, lambda requests: requests)
    with pytest.raises(
        KeyError, match="name must be in the notation table, got 'reque"
    ):
        _ = formula.terms
