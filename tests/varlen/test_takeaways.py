"""What a reader should take away from the chapter, each sentence a test."""

import numpy as np
import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS, machine, workload
from llmserve_lab.transformer import Meter, Transformer, Weights
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of
from llmserve_lab.varlen.ranks import forward_on_ranks
from llmserve_lab.varlen.rowwise import same_alone, steps
from llmserve_lab.varlen.strategies import WAYS
from tests.varlen.batches import carried_out, model, prompts

ARTICLE, H100 = MODELS["tiny-512"], ACCELERATORS["h100-sxm"]


def test_padding_masking_and_varlen_give_the_same_logits() -> None:
    found = [carried_out(way, [3, 8, 1, 5]).logits for way in WAYS]
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def test_only_attention_can_tell_whose_row_it_is() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 16))
    blind = []
    for name, step in steps(model()):
        if same_alone(step, rows) == len(rows):
            blind.append(name)
        rows = step(rows)
    assert len(blind) == 9 and "attention" not in blind


def test_varlen_computes_the_sum_of_squares_and_masking_the_square_of_the_sum() -> None:
    for lengths in ([10, 30], [1] * 9, [4, 4, 4], [2, 3, 5, 7]):
        assert carried_out("varlen", lengths).pairs == sum(s * s for s in lengths)
        assert carried_out("masked", lengths).pairs == sum(lengths) ** 2


def test_masking_costs_as_many_times_more_as_there_are_equal_requests() -> None:
    for requests in (1, 2, 5, 8):
        masked, varlen = (carried_out(w, [4] * requests) for w in ("masked", "varlen"))
        assert masked.pairs == requests * varlen.pairs


def test_boundaries_change_no_call_between_ranks() -> None:
    tokens = prompts([12])
    one, many = (
        forward_on_ranks(model(), tokens, cu, num_ranks=2).ledger.records
        for cu in ((0, 12), (0, 2, 5, 12))
    )
    assert one == many


def test_at_a_thousand_tokens_attention_is_far_from_dominating() -> None:
    """Counted in a pass of the articles' model, the whole square of attention taken."""
    meter = Meter()
    zeros = {x.name: np.zeros((x.copies, *x.shape)) for x in ARTICLE.tensors()}
    one = Transformer(ARTICLE, weights=Weights(ARTICLE, zeros))  # enough to count
    one.forward(np.arange(20), run=meter.on())
    per_pair = meter.attn_flops / 20**2
    attention, linear = per_pair * 1000**2, meter.linear_flops * 50
    assert 0.2 < attention / (attention + linear) < 0.3


@pytest.mark.parametrize("key", [m for m in MODELS if m != "tiny-512"])
def test_real_models_are_overtaken_by_attention_beyond_twenty_thousand_tokens(
    key: str,
) -> None:
    assert f.OVERTAKE_PROMPT.at(workload(MODELS[key], absorbed=False)) > 20_000


def test_a_few_short_requests_make_a_packed_prefill_compute_bound() -> None:
    """Ten requests of 100 tokens, the batch that the article calls bandwidth-bound."""
    batch, known = batch_of([100] * 10), workload(ARTICLE, absorbed=False)
    ridge = float(H100.peak("bf16")) / float(H100.hbm_bw)
    done = f.PACKED_INTENSITY.at(batch, known)
    assert done > 2 * ridge
    rows = f.PACKED_RIDGE_ROWS.at(known, machine(H100), row_prompt=100.0)
    assert rows < 1000 / 2
