"""What the mask and a fixed order of summation keep the same, to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.transformer import ORDERED, Execution, Transformer
from llmserve_lab.transformer.arithmetic import (
    PLAIN,
    Integers,
    blas_product,
    ordered_product,
    ordered_sum,
)
from tests.transformer.shapes import articles_model, few, models, prompt, seeds

dense = st.builds(GeluFfn, d_ff=few)


def check_the_mask(
    model: Transformer, tokens: Integers, place: int, run: Execution
) -> None:
    """Change one token: all rows before it stay, to the bit, and its own does not."""
    changed = tokens.copy()
    changed[place] = (changed[place] + 1) % model.shape.vocab
    before, after = (
        model.hidden(each, [0, len(each)], run=run) for each in (tokens, changed)
    )
    assert np.array_equal(before[:place], after[:place])
    assert not np.array_equal(before[place], after[place])


@given(model=models(ffn=dense), n=st.integers(2, 8), seed=seeds, data=st.data())
def test_a_changed_future_changes_no_bit_of_the_past(
    model: Transformer, n: int, seed: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, n - 1))
    check_the_mask(model, prompt(model, n, seed), place, PLAIN)


@given(model=models(), n=st.integers(2, 8), seed=seeds, data=st.data())
def test_with_experts_the_order_must_be_fixed_for_that(
    model: Transformer, n: int, seed: int, data: st.DataObject
) -> None:
    """An expert's product has a row for each token that chose it, later ones too."""
    place = data.draw(st.integers(1, n - 1))
    check_the_mask(model, prompt(model, n, seed), place, ORDERED)


@given(model=models(), n=st.integers(2, 12), seed=seeds)
def test_an_old_row_keeps_its_bits_as_the_sequence_grows(
    model: Transformer, n: int, seed: int
) -> None:
    tokens = prompt(model, n, seed)
    grown = model.hidden(tokens, [0, n], run=ORDERED)
    for length in range(1, n):
        short = model.hidden(tokens[:length], [0, length], run=ORDERED)
        assert np.array_equal(short, grown[:length])


def test_so_it_does_in_the_articles_model() -> None:
    model = articles_model()
    tokens = prompt(model, 9, seed=1)
    grown = model.hidden(tokens, [0, 9], run=ORDERED)
    short = model.hidden(tokens[:6], [0, 6], run=ORDERED)
    assert np.array_equal(short, grown[:6])


@given(sizes=st.tuples(*[st.integers(1, 40)] * 4), seed=seeds)
def test_the_ordered_product_is_the_product_row_by_row(
    sizes: tuple[int, ...], seed: int
) -> None:
    stack, n, m, k = sizes
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(stack, n, m)), rng.normal(size=(stack, m, k))
    found = ordered_product(left, right)
    np.testing.assert_allclose(found, blas_product(left, right), rtol=1e-9, atol=1e-12)
    alone = [ordered_product(left[:, i : i + 1], right) for i in range(n)]
    assert np.array_equal(found, np.concatenate(alone, axis=1))


@given(n=st.integers(1, 300), zeros=st.integers(0, 300), seed=seeds)
def test_zeros_behind_the_end_change_no_bit_of_a_sum(
    n: int, zeros: int, seed: int
) -> None:
    values = np.random.default_rng(seed).normal(size=(3, n))
    longer = np.pad(values, ((0, 0), (0, zeros)))
    assert np.array_equal(ordered_sum(values), ordered_sum(longer))
    right = np.random.default_rng(seed).normal(size=(n + zeros, 2))
    assert np.array_equal(
        ordered_product(values, right[:n]), ordered_product(longer, right)
    )
