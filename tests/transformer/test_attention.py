"""Attention is what loops say, what mpmath says, and PyTorch where there is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.transformer import ORDERED, PLAIN, Execution, attend, causal_mask
from llmserve_lab.transformer.arithmetic import Array, Mask
from tests.transformer.others import OTHERS, Attention
from tests.transformer.shapes import few, seeds

Case = tuple[Array, Array, Array, Mask]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random queries, keys, values and a mask that leaves every query a key."""
    rng = np.random.default_rng(draw(seeds))
    n, m, d_k, d_v = (draw(st.integers(1, 7)) for _ in range(4))
    n_kv, group = draw(few), draw(few)
    mask = rng.random((n, m)) < 0.5
    mask[np.arange(n), rng.integers(m, size=n)] = True
    return (
        rng.standard_normal((n, n_kv * group, d_k)),
        rng.standard_normal((m, n_kv, d_k)),
        rng.standard_normal((m, n_kv, d_v)),
        mask,
    )


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@given(case=cases(), run=st.sampled_from([PLAIN, ORDERED]))
def test_attention_is_what_others_say(
    other: Attention, case: Case, run: Execution
) -> None:
    found = attend(*case, run=run)
    np.testing.assert_allclose(found, other(*case), rtol=1e-12, atol=1e-13)


def test_there_always_are_others(
    record_property: Callable[[str, object], None],
) -> None:
    assert len(OTHERS) >= 2
    record_property("report", f"attention held against {', '.join(OTHERS)}")


@given(case=cases(), seed=seeds)
def test_what_is_masked_cannot_be_felt(case: Case, seed: int) -> None:
    query, key, value, mask = case
    hidden = ~mask[0]
    rng = np.random.default_rng(seed)
    other_key, other_value = (
        np.where(hidden[:, None, None], rng.normal(size=x.shape), x)
        for x in (key, value)
    )
    found = attend(query, other_key, other_value, mask)
    assert np.array_equal(attend(*case)[0], found[0])


@given(case=cases())
def test_the_scale_is_one_over_root_of_the_width(case: Case) -> None:
    scale = 1 / np.sqrt(case[0].shape[-1])
    assert np.allclose(attend(*case), attend(*case, scale=scale), rtol=1e-14)


def test_the_causal_mask_lets_a_row_see_itself_and_what_came_before() -> None:
    for n, m in ((1, 1), (1, 5), (3, 3), (3, 7)):
        mask = causal_mask(n, m)
        for query, key in np.ndindex(n, m):
            assert mask[query, key] == (key <= m - n + query)


Q, K, V = np.ones((2, 4, 3)), np.ones((5, 2, 3)), np.ones((5, 2, 6))
ALL = np.ones((2, 5), dtype=np.bool_)
BLIND = ALL & (np.arange(2) == 0)[:, None]


@pytest.mark.parametrize(
    ("query", "key", "value", "mask", "message"),
    [
        (Q, K[..., :2], V, ALL, "key must be 3 wide, as the query, got 2"),
        (Q, K, V[:4], ALL, r"value must have 5 rows and 2 heads.* got \(4, 2\)"),
        (Q[:, :3], K, V, ALL, "n_heads must be a multiple of n_kv_heads, got 3 and 2"),
        (Q, K, V, ALL.T, r"mask must be bool of shape \(2, 5\), got .*\(5, 2\)"),
        (Q, K, V, ALL + 0, "mask must be bool .* got int64"),
        (Q, K, V, BLIND, "query 1 sees none"),
    ],
)
def test_wrong_attention_is_refused(
    query: Array, key: Array, value: Array, mask: Mask, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        attend(query, key, value, mask)


def test_more_queries_than_keys_have_no_causal_mask() -> None:
    with pytest.raises(ValueError, match="n_queries must be at most n_keys = 2, got 3"):
        causal_mask(3, 2)
