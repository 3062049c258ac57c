"""Cut by heads and packed by requests at once: same logits, same calls."""

import numpy as np
import pytest

from llmserve_lab.catalog import ModelShape
from llmserve_lab.collectives import ClusterError
from llmserve_lab.transformer import (
    Transformer,
    masked_attention,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from llmserve_lab.varlen.ranks import forward_on_ranks
from tests.varlen.batches import model, prompts, shape

BATCHES = [(0, 12), (0, 5, 12), (0, 1, 2, 3, 4, 12)]


@pytest.mark.parametrize("num_ranks", [1, 2])
@pytest.mark.parametrize("cu_seqlens", BATCHES)
def test_ranks_give_the_logits_of_one_device(
    num_ranks: int, cu_seqlens: tuple[int, ...]
) -> None:
    tokens = prompts([12])
    whole = model().forward_packed(tokens, cu_seqlens)
    done = forward_on_ranks(model(), tokens, cu_seqlens, num_ranks=num_ranks)
    for logits in done.results:
        np.testing.assert_allclose(logits, whole, rtol=0, atol=1e-10)


def test_the_masked_kernel_runs_on_ranks_too() -> None:
    tokens, bounds = prompts([12]), BATCHES[1]
    done = forward_on_ranks(
        model(), tokens, bounds, num_ranks=2, kernel=masked_attention
    )
    whole = model().forward_packed(tokens, bounds)
    np.testing.assert_allclose(done.results[1], whole, rtol=0, atol=1e-10)


def test_the_exchange_is_the_same_however_the_rows_are_divided() -> None:
    tokens = prompts([12])
    pages = [
        forward_on_ranks(model(), tokens, cu, num_ranks=2).ledger.records
        for cu in BATCHES
    ]
    assert pages[0] == pages[1] == pages[2]
    calls = [(record.call, record.shape) for record in pages[0][0]]
    assert calls == [("all_reduce", (12, 16))] * 2 * shape().n_layers


@pytest.mark.parametrize(
    "shape",
    [
        tiny_shape(n_kv_heads=1),
        tiny_shape(attention=tiny_latent()),
        tiny_shape(ffn=tiny_moe()),
    ],
    ids=["one KV head", "latent", "experts"],
)
def test_every_kind_of_model_can_be_dealt_out(shape: ModelShape) -> None:
    other, tokens, bounds = Transformer(shape), prompts([12]), BATCHES[1]
    whole = other.forward_packed(tokens, bounds)
    for logits in forward_on_ranks(other, tokens, bounds, num_ranks=4).results:
        np.testing.assert_allclose(logits, whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("cu_seqlens", "num_ranks", "said"),
    [
        ((0, 2), 3, "n_heads must be a multiple of tp, 3, got 4"),
        ((0, 2, 2), 2, "cu_seqlens must increase"),
    ],
)
def test_what_cannot_be_dealt_out_is_refused(
    cu_seqlens: tuple[int, ...], num_ranks: int, said: str
) -> None:
    with pytest.raises(ClusterError, match=said):
        forward_on_ranks(model(), [1, 2], cu_seqlens, num_ranks=num_ranks)
