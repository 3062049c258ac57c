"""What fits beside weights, tables and buffers, added up again."""

import pytest

from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.group_size import (
    HALF,
    buffer_bytes,
    fits_beside_buffers,
    rows_sent,
)
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import group
from tests.deepseek.twins import twin


def test_the_opening_s_requests_are_those_that_fit() -> None:
    """Weights, tables in two bytes, buffers and caches, added up again."""
    for ep, least in ((32, 230), (72, 256), (144, 256)):
        place = setup("h100-sxm", ep)
        made = twin(place)
        tables = 2 * 129_280 * 7168
        # every row of a half for each of 288 experts, sent and received, all twice
        buffers = 288 * HALF * 4 * (2 * 7168 + 16)
        assert buffers == buffer_bytes(made)
        held = made.resident_bytes() + tables + buffers
        held += 288 * 4 * (2 * 7168 + 16) * max(0, least // 2 - HALF)
        assert held + least * 2000 * 70_272 <= made.room_bytes()
        fits = fits_beside_buffers(made, 2000.0)
        assert group.fixed_batch(ep)[1] == least == min(256, fits)


def test_every_row_of_what_fits_has_a_place_in_the_buffers() -> None:
    """All that a GPU holds, added up again: what fits does, one request more does not.

    In halves a dispatch carries half of the rows, in one batch all of them.
    """
    tables, fitting = 2 * 129_280 * 7168, {}
    for way, share in (("halves", 2), ("none", 1)):
        made = twin(worked.PLACE, overlap=way)
        fitting[way] = fits_beside_buffers(made, 2000.0)
        held = []
        for requests in (fitting[way], fitting[way] + 1):
            rows = max(HALF, -(-requests // share))
            assert rows_sent(made, requests) <= rows
            places = 288 * rows * 4 * (2 * 7168 + 16)
            assert buffer_bytes(made, rows) == places
            held.append(made.resident_bytes() + tables + places)
            held[-1] += requests * 2000 * 70_272
        assert held[0] <= made.room_bytes() < held[1]
    assert fitting["none"] < fitting["halves"] < made.batch_fits(2000.0)


def test_buffers_for_fewer_rows_leave_room_for_more_requests() -> None:
    """Small groups send few rows; a row that is kept in vain costs 16.5 MB."""
    for made in decisions.twins(16):
        fits = [fits_beside_buffers(made, 4000.0, least_rows=n) for n in (1, 64, HALF)]
        assert fits == sorted(fits, reverse=True) and fits[0] > fits[-1]
        rows = rows_sent(made, fits[0])
        assert fits_beside_buffers(made, 4000.0, least_rows=rows) == fits[0]
        spare = (HALF - rows) * 288 * 4 * (2 * 7168 + 16) / (4000 * 70_272)
        assert fits[0] - fits[-1] == pytest.approx(spare, abs=1)
    with pytest.raises(ValueError, match="least_rows must be at least 1, got 0"):
        fits_beside_buffers(made, 4000.0, least_rows=0)
