"""The five sentences that a reader keeps, each held in every state that is shown.

Beside them what the folds say: three ways and one answer, ranks that see no boundary.
"""

from itertools import product

import numpy as np
import pytest

from llmserve_lab import running_example
from llmserve_lab.catalog import ACCELERATORS, MODELS, machine, workload
from llmserve_lab.catalog.evidence.packing import UNPADDED
from llmserve_lab.transformer import Meter, Transformer, Weights
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of, prompt_work
from llmserve_lab.varlen.lengths import SERVICES, SIZES, padding_share
from llmserve_lab.varlen.lengths import prompts as service_prompts
from llmserve_lab.varlen.page import charts, figures
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


def test_positions_attention_and_last_rows_need_a_boundary() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 16))
    blind = []
    for name, step in steps(model()):
        if same_alone(step, rows) == len(rows):
            blind.append(name)
        rows = step(rows)
    every = [name for name, _ in steps(model())]
    assert len(blind) == 9 and len(every) == 11
    assert set(every) - set(blind) == {"attention", "rotary positions"}


def test_a_request_may_be_shifted_but_not_torn() -> None:
    """Only distances of positions count, within each request."""
    tokens, cu = prompts([4, 5]), (0, 4, 9)
    right = model().forward_packed(tokens, cu)
    moved = model().forward_packed(tokens, cu, positions=np.arange(9))
    torn = model().forward_packed(tokens, cu, positions=[0, 1, 2, 3, 7, 7, 7, 7, 7])
    np.testing.assert_allclose(moved, right, rtol=0, atol=1e-9)
    assert np.abs(torn[5:] - right[5:]).max() > 1e-3


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


@pytest.mark.parametrize("service", SERVICES)
def test_more_than_half_of_a_padded_batch_is_padding(service: str) -> None:
    """Remember 1: drawn again with another seed, padded by hand, at each size."""
    rng = np.random.default_rng(77)
    for size in (s for s in SIZES if s >= 8):
        drawn = service_prompts(service).draw(rng, size * 500).reshape(500, size)
        padded = sum(size * max(batch) for batch in drawn.tolist())
        share = 1 - drawn.sum() / padded
        assert share > 0.58
        assert padding_share(service, size) == pytest.approx(share, abs=0.02)


def test_no_lengths_in_the_figure_make_varlen_compute_more() -> None:
    """Remember 2, in every state of the squares: block for block, never more."""
    figure = figures.attention_square()
    stops = figures.STOPS[::3]
    for lengths in product(stops, repeat=4):
        known = figure.values(**dict(zip(charts.LENGTHS, lengths, strict=True)))
        blocks = sum(length**2 for length in lengths)
        assert known["varlen_pairs"] == pytest.approx(blocks)
        least = min(known["masked_pairs"], known["padded_pairs"])
        assert known["varlen_pairs"] <= least * (1 + 1e-9)
        assert known["masked_pairs"] <= len(lengths) * blocks * (1 + 1e-9)
        assert 0.5 < known["useful_pairs"] / known["varlen_pairs"] < 0.52
    same = figure.values(**dict.fromkeys(charts.LENGTHS, 500.0))
    assert same["masked_pairs"] == pytest.approx(4 * same["varlen_pairs"])


def test_the_running_example_is_far_below_where_attention_overtakes() -> None:
    """Remember 4: rows decide at usual lengths, of the trace's prompts, too."""
    shape = running_example.model()
    linear = 2 * (shape.params_active - shape.vocab * shape.d_model)
    for length in (running_example.PROMPT, 14_050):
        attention = shape.attn_flops_per_pair() * (length + 1) / 2
        assert attention < 0.3 * linear
    met, length = 0.0, 0
    while met <= linear * length:
        length += 500
        met = shape.attn_flops_per_pair() * length * (length + 1) / 2
    assert length == pytest.approx(
        float(f.OVERTAKE_PROMPT.at(prompt_work(shape))), abs=500
    )


def test_removing_padding_pays_with_many_rows_and_not_with_few() -> None:
    """Remember 5: the printed times themselves."""
    by_rows = sorted(UNPADDED, key=lambda row: row.batch * row.stretched)
    few, many = by_rows[:3], by_rows[-1]
    assert all(float(row.packed_s) >= float(row.padded_s) for row in few)
    assert float(many.padded_s) / float(many.packed_s) == pytest.approx(1.9, abs=0.01)
