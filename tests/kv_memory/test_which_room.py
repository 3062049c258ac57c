"""Every room of one H100 is the number that its page computes in its own way."""

import pytest

from llmserve_lab.disaggregation import formulas as split
from llmserve_lab.disaggregation.worked_example import usual
from llmserve_lab.kv_memory import machine, which_room
from llmserve_lab.quantization import speed
from llmserve_lab.roofline.machine import most_that_fit
from llmserve_lab.running_example import cost
from llmserve_lab.speculative import machine as drafts

EACH = which_room.FULL


def test_rooms_are_those_of_the_pages() -> None:
    found = which_room.found
    assert found("Fewer").requests == speed.fits(cost(), context=which_room.MEAN)
    assert found("Prefill").requests == round(usual(split.ROOM_BATCH))
    assert found("few slots").requests == machine.served(EACH)
    assert found("Continuous").requests == machine.slots_at_full_length(EACH)
    assert found("Speculative").requests == drafts.fits(drafts.LOOKUP)
    assert found("slots to set").requests == machine.slots_at_full_length(
        EACH, machine.SHARE_NOW, machine.GRAPHS
    )
    assert which_room.unpaged(1.0, which_room.MEAN) == most_that_fit()


def test_room_for_all_defaults_counted_in_mebibytes() -> None:
    left = 0.92 * 81_091 - 15_317 - 1_024 - (39 * 1_024 * 128_256 / 2**20 + 133)
    assert which_room.found("defaults").requests == left // 150  # MiB of a request


def test_less_room_with_more_taken_off() -> None:
    same = [each for each in which_room.rooms() if (each.share, each.tokens) ==
            (0.9, EACH)]  # fmt: skip
    counts = [each.requests for each in same]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == len(counts)


def test_unknown_page_has_no_room() -> None:
    with pytest.raises(LookupError, match="where must be a place"):
        which_room.found("nowhere")
