"""Chunks executed, parts packed, tiles counted: the pieces that the chapter runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.chunks import (
    pieces,
    prefill,
)
from llmserve_lab.continuous_batching.on_transformer import (
    ANSWERS,
    POLICIES,
    PROMPTS,
    agreement,
    driven,
)
from llmserve_lab.continuous_batching.piggyback import (
    Part,
    bits_alike,
    boundaries,
    packing,
    together,
)
from llmserve_lab.continuous_batching.toy import model, prompt
from llmserve_lab.transformer import ORDERED, causal_mask, generate, tile_reads


@settings(max_examples=12, deadline=None)
@given(length=some.integers(1, 14), chunk=some.integers(1, 16))
def test_the_masks_of_the_chunks_stacked_are_the_mask_of_the_prompt(
    length: int, chunk: int
) -> None:
    done = prefill(model(), prompt(length), chunk=chunk)
    seen = np.zeros((length, length), dtype=bool)
    start = 0
    for mask in done.masks:
        seen[start : start + len(mask), : mask.shape[1]] = mask
        start += len(mask)
    assert np.array_equal(seen, causal_mask(length, length))
    assert len(done.masks) == f.NUM_CHUNKS(prompt_len=length, chunk=chunk)
    assert done.reread_tokens == f.REREAD_TOKENS(prompt_len=length, chunk=chunk)


def test_half_the_chunk_is_a_little_more_than_twice_the_traffic() -> None:
    """Smooth: chunks that do not divide the prompt are not rounded up."""
    often = [float(f.REREADS(prompt_len=100, chunk=chunk)) for chunk in (48, 24, 12)]
    ratios = [more / less for less, more in pairwise(often)]
    assert ratios == pytest.approx([38 / 13, 44 / 19], rel=1e-12)
    assert 2 < ratios[1] < ratios[0] < 3


@pytest.mark.parametrize("chunk", [1, 5, 8, 23])
def test_cutting_a_prompt_changes_no_logit_and_no_flop(chunk: int) -> None:
    whole, cut = (
        prefill(model(), prompt(23), chunk=c, run=ORDERED) for c in (23, chunk)
    )
    assert np.array_equal(whole.logits, cut.logits)
    assert whole.meter.linear_flops == cut.meter.linear_flops
    assert whole.useful_pairs == cut.useful_pairs == 23 * 24 // 2
    assert whole.block_pairs >= cut.block_pairs


def test_decode_is_a_chunk_of_one() -> None:
    """An answer, read back as a prompt in chunks of one row, predicts itself again."""
    text = prompt(6)
    answer = generate(model(), text, 8, run=ORDERED)
    read = np.concatenate([text, answer[:-1]])
    again = prefill(model(), read, chunk=1, run=ORDERED)
    assert np.array_equal(again.logits[5:].argmax(axis=1), answer)
    assert all(mask.shape[0] == 1 and mask.all() for mask in again.masks)


def test_every_scheduler_gives_the_same_tokens() -> None:
    """Those of each request alone, too."""
    alone = {
        number: tuple(generate(model(), prompt(length, seed=number), answer).tolist())
        for number, (length, answer) in enumerate(zip(PROMPTS, ANSWERS, strict=True))
    }
    for policy in POLICIES.values():
        assert dict(driven(policy).tokens) == alone
    assert len(agreement().rows) == len(POLICIES)


def test_pieces_are_full_but_the_last() -> None:
    assert [len(piece) for piece in pieces(np.arange(10), 4)] == [4, 4, 2]
    assert [piece[0] for piece in pieces(np.arange(10), 4)] == [0, 4, 8]
    with pytest.raises(ValueError, match="chunk must be at least 1 token, got 0"):
        pieces(np.arange(3), 0)


@pytest.mark.parametrize(("length", "tile"), [(64, 8), (60, 8), (7, 8)])
def test_a_cut_between_two_tiles_fetches_no_key_more(length: int, tile: int) -> None:
    def fetched(chunk: int) -> int:
        """Key by key: every tile fetches what its last row may see."""
        keys = 0
        for prefix in range(0, length, chunk):
            end = min(prefix + chunk, length)
            for start in range(prefix, end, tile):
                last = min(start + tile, end) - 1
                keys += len([key for key in range(length) if key <= last])
        return keys

    for chunk in (tile, 2 * tile, length, 3):
        found = tile_reads(prompt_len=length, chunk=chunk, tile=tile)
        assert found == fetched(chunk)
        if chunk % tile == 0:
            assert found == fetched(length)
    with pytest.raises(ValueError, match="tile must be at least 1 token, got 0"):
        tile_reads(prompt_len=length, chunk=1, tile=0)


PARTS = [
    Part(name="E", rows=4, context=6),
    Part(name="A", context=5),
    Part(name="D", rows=3),
]


def test_company_changes_no_bit() -> None:
    assert bits_alike(model(), PARTS) == [True, True, True]
    assert [len(logits) for logits in together(model(), PARTS)] == [4, 1, 3]
    other = together(model(), PARTS, seed=1)[0]
    assert not np.array_equal(other, together(model(), PARTS)[0])


def test_the_table_of_an_iteration_has_the_kernels_boundaries() -> None:
    stack = packing(PARTS)
    assert [part.kind for part in PARTS] == ["chunk", "decode", "prefill"]
    rows, keys = zip(*stack.slices(), strict=True)
    assert [(own.start, own.stop) for own in rows] == [(0, 4), (4, 5), (5, 8)]
    assert [own.stop - own.start for own in keys] == [10, 6, 3]
    assert stack.n_rows == 8 and len(boundaries(PARTS).rows) == len(PARTS)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rows": 0}, "rows must be at least 1 token, got 0"),
        ({"context": -1}, "context must be at least 0 tokens, got -1"),
    ],
)
def test_a_part_of_nothing_is_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Part(name="A", **sizes)
