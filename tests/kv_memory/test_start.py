"""What a server says at its start, and what its limit on requests takes."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS, H100_TOTAL, START_LOGS
from llmserve_lab.kv_memory import machine
from llmserve_lab.kv_memory.page import tables
from llmserve_lab.kv_memory.page.controls import DEVICES, LAYERS, cache_bytes
from llmserve_lab.running_example import model
from llmserve_lab.validation.cache_blocks import reserve


def test_the_lines_of_a_start_log_add_up() -> None:
    for log in START_LOGS:
        parts = (log.weights, log.peak, log.other, log.cache)
        asked = float(MEMORY_SHARE) * float(H100_TOTAL)
        assert sum(map(float, parts)) == pytest.approx(asked, rel=5e-4)


def test_the_peak_of_a_trial_follows_slots_and_vocabulary() -> None:
    found = [tables.per_entry(log) for log in START_LOGS]
    assert 38 <= min(found) <= max(found) < 40


def test_with_its_own_peak_a_published_start_is_met() -> None:
    log = machine.log_of(model().name)
    printed = machine.printed_blocks()
    assert machine.with_kept(machine.kept(log)) == pytest.approx(printed, rel=2e-3)
    assert machine.num_blocks() / printed == pytest.approx(1.07, abs=0.01)


def test_a_slot_takes_the_room_of_a_few_dozen_tokens() -> None:
    """So a request of the running example costs far more than a slot left unused."""
    default = machine.beside_at(1_024)
    assert default == pytest.approx(machine.kept(machine.log_of(model().name)))
    assert machine.beside_at(128) < machine.beside_at(376) < default
    each = machine.beside_at(377) - machine.beside_at(376)
    assert each == pytest.approx(machine.slot_bytes())
    assert 30 < machine.slot_bytes() / model().kv_bytes_per_token() < 50


def test_a_model_whose_longest_request_does_not_fit_is_refused() -> None:
    """Llama-3.1-70B in 16 bits leaves two H100s some cache, and too little for one."""
    left = cache_bytes(LAYERS[1], DEVICES[0], 2, "bf16")
    assert left is not None
    assert LAYERS[1].shape is not None
    longest = LAYERS[1].shape.max_context
    assert longest == 131_072
    assert 0 < left // LAYERS[1].naive_token_bytes() < longest


def test_the_law_of_slots_is_broken_by_the_card_with_256() -> None:
    """It asks for more than that server set aside in all, so it is no law there."""
    card = BLOCK_COUNTS[-1]
    assert card.seqs == 256
    law = min(map(tables.per_entry, START_LOGS)) * card.seqs * card.model.vocab
    assert law > reserve(card)


def test_slots_and_requests_at_full_length_are_found_together() -> None:
    """One slot more would take room from a request: at 376 slots 376 do not fit."""
    slots = machine.slots_at_full_length(1_200)
    fits = [machine.with_kept(machine.beside_at(n)) // 75 for n in (slots, slots + 1)]
    assert fits[0] >= slots
    assert fits[1] < slots + 1
    assert slots < machine.num_blocks() // 75


def test_the_spread_of_the_working_space_is_small_on_large_gpus_alone() -> None:
    *large, card = (
        float(each.blocks) * machine.BLOCK * each.model.kv_bytes_per_token() / each.tp
        for each in BLOCK_COUNTS
    )
    spread = max(machine.reserves()) - min(machine.reserves())
    assert spread / min(large) < 0.03
    assert spread / card > 0.2


def test_the_three_servers_of_the_table_are_the_ones_that_the_page_names() -> None:
    nine, log, today = tables.servers().rows
    assert nine[4] == f"{machine.num_blocks():,}"
    assert log[4] == f"{machine.printed_blocks():,}"
    left = 0.92 * float(machine.room()["usable_bytes"]) - model().weight_bytes()
    left -= machine.kept(machine.log_of(model().name))
    assert today[4] == f"{int(left // (machine.BLOCK * 128 * 1024)):,}"
    for row in (nine, log, today):
        assert int(str(row[5])) == int(str(row[4]).replace(",", "")) // 75
