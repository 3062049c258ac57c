"""What a plan says of memory: its parts, and what it cannot say where it is full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab.capacity.plan_text import record, sentence, text
from llmserve_lab.validation.room import library_bytes, slot_bytes
from tests.capacity.test_plan import QWEN, USUAL, of


def test_no_wait_is_said_where_requests_wait_for_room_in_memory() -> None:
    """TP1 is full at 30 requests; what a prompt waits for is then not all."""
    found = of(replace(USUAL, tpot_s=0.05, rate=10.0), QWEN)
    full, free = found.groups[:2]
    assert (full.limit, free.limit) == ("memory", "TPOT") and full.planned is not None
    assert full.queued is None and free.queued == free.planned
    waits = next(x for x in text(found).splitlines() if x.startswith("mean wait"))
    assert waits.split()[2] == "-" and "ms" in waits.split()
    first, second, *_ = record(found)["sizes"]
    assert first["at_the_rate"]["wait_s"] is first["at_the_rate"]["ttft_s"] is None
    assert first["at_the_rate"]["rate"] == pytest.approx(10 / 3)
    assert free.planned and second["at_the_rate"]["wait_s"] == free.planned.wait_s
    assert found.choice is full and "Requests wait for room" in sentence(found)
    assert "Requests wait for room" not in sentence(of())


def test_weights_working_space_and_cache_fill_the_engine_s_share() -> None:
    """Of eight GPUs each keeps the scores of all slots that fit: a seventh of all."""
    for each in of(USUAL, QWEN).groups:
        parts = each.weight_bytes + each.working_bytes + each.room_bytes
        assert parts == pytest.approx(0.9 * each.cost.hbm_bytes)
        slots_bytes = each.tp * each.fits * slot_bytes(each.vocab)
        assert each.working_bytes >= slots_bytes + each.tp * library_bytes(each.tp) - 1
    assert each.tp == 8 and 70e9 < each.working_bytes < 80e9
