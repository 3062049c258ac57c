"""Both forms of latent attention, executed: equal outputs, and the FLOPs decide."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.executed.mla import TINY, compare, execute

specs = st.builds(
    LatentAttention,
    n_heads=st.integers(1, 3),
    d_head=st.integers(1, 4),
    d_v=st.integers(1, 4),
    d_latent=st.integers(2, 6),
    d_rope=st.sampled_from([2, 4]),
    d_q=st.none() | st.integers(1, 5),
)


@settings(max_examples=40, deadline=None)
@given(
    spec=specs,
    n_rows=st.integers(1, 6),
    context=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_both_forms_give_the_same(
    spec: LatentAttention, n_rows: int, context: int, seed: int
) -> None:
    size = {"n_rows": n_rows, "context": context, "seed": seed, "d_model": 8}
    one, other = (execute(form, spec=spec, **size) for form in ("vanilla", "absorbed"))
    np.testing.assert_allclose(one.output, other.output, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("context", [0, 1, 17, 64])
def test_absorbed_every_parameter_meets_a_row_once(context: int) -> None:
    params = sum(
        int(np.prod(shape)) for _, shape in TINY.weights(48) if len(shape) == 2
    )
    meter = execute("absorbed", n_rows=3, context=context).meter
    assert meter.linear_flops == 2 * params * 3


def test_decode_should_absorb_and_prefill_should_not() -> None:
    for (rows, context), better in (((1, 256), "absorbed"), ((256, 0), "vanilla")):
        cost = {
            form: execute(form, n_rows=rows, context=context).flops
            for form in ("vanilla", "absorbed")
        }
        assert min(cost, key=lambda form: cost[form]) == better


def test_the_change_comes_where_the_formula_says() -> None:
    """Both forms on a long cache, row by row, until vanilla is cheaper."""
    context, known = 4000, TINY
    up = known.d_latent * known.n_heads * (known.d_head + known.d_v)
    rows = f.ABSORB_ROWS(
        up_params=up,
        attn_flops_per_pair=known.flops_per_pair(absorbed=True),
        vanilla_pair_flops=known.flops_per_pair(absorbed=False),
    )
    for count, better in (
        (int(rows * 0.9), "absorbed"),
        (int(rows * 1.1) + 1, "vanilla"),
    ):
        cost = {
            form: execute(form, n_rows=count, context=context).flops
            for form in ("vanilla", "absorbed")
        }
        assert min(cost, key=lambda form: cost[form]) == better


def test_the_closed_form_for_deepseek_is_the_catalogs() -> None:
    model = MODELS["deepseek-v3"]
    spec = model.attention
    assert isinstance(spec, LatentAttention)
    found = f.VANILLA_PAIR_FLOPS(
        n_layers=model.n_layers,
        n_heads=spec.n_heads,
        d_head=spec.d_head,
        d_rope=spec.d_rope,
    )
    assert found == model.attn_flops_per_pair(absorbed=False)


def test_what_is_compared_says_that_outputs_are_equal() -> None:
    decode, prefill = compare((1, 64), (64, 0))
    assert decode.equal and prefill.equal
    assert decode.vanilla_flops > decode.absorbed_flops
    assert prefill.vanilla_flops < prefill.absorbed_flops


def test_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="melted"):
        execute("melted", n_rows=1, context=0)
