"""One rule for the room: found slot by slot, and the same number on every page."""

from __future__ import annotations

from itertools import product

import pytest

from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.evidence.serving import START_LOGS
from llmserve_lab.kv_memory import machine
from llmserve_lab.moe import layer_time
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.quantization import speed
from llmserve_lab.running_example import cost, device, model
from llmserve_lab.speculative import machine as drafts
from llmserve_lab.validation import room

VOCABS = (32_000, 128_256, 262_144)


@pytest.mark.parametrize(("vocab", "n_gpus"), [*product(VOCABS, (1, 2, 8))])
def test_one_slot_after_the_other_until_the_next_does_not_fit(
    vocab: int, n_gpus: int
) -> None:
    for left, each in product((3e9, 17e9, 60e9), (7e6, 150e6, 2.1e9)):
        slots = 0
        while True:
            beside = room.working_bytes(slots + 1, vocab=vocab, n_gpus=n_gpus)
            if beside + (slots + 1) * each > left:
                break
            slots += 1
        found = room.requests_that_fit(
            left, request_bytes=each, vocab=vocab, n_gpus=n_gpus
        )
        assert found == slots


def test_what_the_weights_fill_holds_no_request() -> None:
    for left in (-5e9, 0.0, 1e9):
        assert room.requests_that_fit(left, request_bytes=1e6, vocab=32_000) == 0


def test_the_libraries_are_those_of_logs_of_one_and_of_two_gpus() -> None:
    one, two = (float(log.other) for log in START_LOGS[:2])
    assert room.library_bytes() == one < two == room.library_bytes(2)
    assert room.library_bytes(8) == two
    with pytest.raises(ValueError, match="n_gpus must be at least 1"):
        room.library_bytes(0)


def test_pages_with_one_question_have_one_answer() -> None:
    """Share, weights and lengths alike: memory, drafts and formats agree."""
    tokens = 1_200
    found = machine.slots_at_full_length(tokens)
    assert drafts.fits(drafts.LOOKUP) == found
    now = machine.slots_at_full_length(tokens, machine.SHARE_NOW)
    assert speed.fits(cost(), context=tokens) == now > found
    # A dense model asked as the mixture of experts is.
    left = float(MEMORY_SHARE) * float(device().usable_bytes) - model().weight_bytes()
    each = tokens * model().kv_bytes_per_token()
    vocab = model().vocab
    assert room.requests_that_fit(left, request_bytes=each, vocab=vocab) == found


def test_on_two_nodes_the_room_is_the_memory_less_three_terms() -> None:
    """On paper: 128 slots or fewer, so the tokens of a batch set the working space."""
    left = layer_time.left_bytes(16.0) - room.working_bytes(1, vocab=DEEPSEEK.vocab)
    assert layer_time.cache_room(16.0, 4_096) == left // (4_096 * 61 * 576 * 2)
