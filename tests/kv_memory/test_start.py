"""What a server says at its start, and what its limit on requests takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS, H100_TOTAL, START_LOGS
from llmserve_lab.kv_memory import limits, machine
from llmserve_lab.kv_memory.page import tables
from llmserve_lab.kv_memory.page.controls import DEVICES, LAYERS, cache_bytes
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, lives
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
    kept = machine.kept(machine.log_of(model().name))
    assert default == pytest.approx(kept, rel=5e-3)
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


def test_the_rule_asks_the_card_with_256_slots_for_more_than_it_needed() -> None:
    """Below the slots of the five logs it is no law: here it errs by a few tenths."""
    card = BLOCK_COUNTS[-1]
    assert card.seqs == 256
    sampling = machine.slot_bytes() * card.seqs
    assert f"{sampling / 1e9:.2f}" == f"{39 * 256 * 128_256 / 1e9:.2f}"
    assert 1.05 * reserve(card) < machine.beside_at(card.seqs) < 1.2 * reserve(card)


def test_the_bytes_of_a_slot_that_the_page_prints_are_those_of_its_rule() -> None:
    entry = machine.slot_bytes() / model().vocab
    assert f"{entry:.0f}" == "39"
    found = [tables.per_entry(log) for log in START_LOGS]
    assert min(found) < entry < max(found)


def test_the_working_space_is_the_measured_mean_until_slots_make_the_peak() -> None:
    """At the few slots of the nine servers sampling alone would ask for too little."""
    turn, mean = machine.sampling_from(), float(machine.beside_bytes())
    assert machine.working_bytes(128) == mean > machine.beside_at(128)
    assert machine.working_bytes(turn - 1) == mean < machine.working_bytes(turn)
    assert 128 < turn < machine.slots_at_full_length(1_200)


def test_room_for_376_is_for_fewer_slots_than_376() -> None:
    """A slot for each request of the room takes room from about five of them."""
    room = machine.num_blocks() // 75
    assert machine.with_kept(machine.working_bytes(room)) // 75 < room
    for row in tables.servers().rows:
        slots, fits, runs = (int(str(row[i]).replace(",", "")) for i in (2, 5, 6))
        assert runs == min(slots, fits)


def fits(slots: int, tokens: int, share: Cited, graphs: float) -> bool:
    """Whether a server with so many slots has blocks for as many whole requests."""
    blocks = machine.with_kept(machine.working_bytes(slots) + graphs, share)
    return blocks // -(-tokens // machine.BLOCK) >= slots


@pytest.mark.parametrize("share", [MEMORY_SHARE, machine.SHARE_NOW])
@pytest.mark.parametrize("graphs", [0, machine.GRAPHS])
@pytest.mark.parametrize("tokens", [1_200, 2_048, 2_064, 8_192, LIMIT])
def test_the_smaller_of_two_quotients_is_the_last_limit_that_fits(
    share: Cited, graphs: int, tokens: int
) -> None:
    """Found one slot after the other, by what the box takes off for each."""
    slots = 1
    while fits(slots + 1, tokens, share, graphs):
        slots += 1
    assert machine.slots_at_full_length(tokens, share, graphs) == slots


def test_with_the_slots_of_the_command_each_request_fits_at_full_length() -> None:
    """A GiB for CUDA graphs taken off, too."""
    slots = machine.slots_at_full_length(1_200, machine.SHARE_NOW, machine.GRAPHS)
    beside = machine.working_bytes(slots) + 2**30
    assert machine.with_kept(beside, machine.SHARE_NOW) >= 75 * slots
    assert machine.with_kept(beside, machine.SHARE_NOW) < 75 * (slots + 1)


def test_no_server_with_an_h100_has_less_cache_than_the_page_says() -> None:
    """Of the eight: one has less than 37 GiB on each GPU, and all have 36."""
    caches = [
        float(each.blocks) * machine.BLOCK * each.model.kv_bytes_per_token() / each.tp
        for each in BLOCK_COUNTS
        if each.usable_bytes is None
    ]
    assert len(caches) == 8
    assert 36 * 2**30 <= min(caches) < 37 * 2**30


def test_eight_of_the_nine_servers_had_128_slots() -> None:
    assert sorted(each.seqs for each in BLOCK_COUNTS) == [128] * 8 + [256]


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


def test_all_servers_of_the_table_stand_on_one_base() -> None:
    """Each from memory, weights and working space of the page, by hand once more."""
    usable = float(machine.room()["usable_bytes"])
    for row in tables.servers().rows:
        if "measured" in str(row[0]):
            continue
        share = float(str(row[1]).rstrip("%")) / 100
        slots = int(str(row[2]).replace(",", ""))
        graphs = 2**30 if "[2]" in str(row[0]) else 0
        left = share * usable - model().weight_bytes() - graphs
        left -= machine.working_bytes(slots)
        assert row[4] == f"{int(left // (machine.BLOCK * 128 * 1024)):,}"
        assert int(str(row[5])) == int(str(row[4]).replace(",", "")) // 75


def test_the_rule_meets_the_log_that_it_is_taken_from() -> None:
    """Its blocks are those of the log's own line, to a tenth of a percent."""
    by_rule = machine.with_kept(machine.working_bytes(1_024))
    assert by_rule == pytest.approx(machine.printed_blocks(), rel=1.5e-3)


def test_printed_constants_give_the_printed_row_and_the_log_has_its_own() -> None:
    """By hand from the box, and from the bytes that the log itself says are left."""
    rows = {str(row[0]).split(" [")[0]: row for row in tables.servers().rows}
    block = 16 * 128 * 1024
    working = 39 * 1_024 * 128_256 + 0.14e9
    left = 0.9 * 81_091 * 2**20 - 15_317 * 2**20 - working
    by_box, measured = rows["settings of a log, by the box"], rows["that log, measured"]
    for row, blocks in ((by_box, left // block), (measured, 51.38 * 2**30 // block)):
        assert row[4] == f"{blocks:,.0f}"
        assert row[5] == f"{blocks // 75:.0f}"
    assert by_box[4] != measured[4]


def test_with_the_default_slots_a_70b_model_has_as_little_as_the_page_says() -> None:
    """Of two H100s, term by term: at the default share, not at that of the page."""
    large = machine.log_of("Llama-3.3-70B, FP8")
    shape = LAYERS[1].shape
    assert shape is not None
    each = 0.92 * 81_091 * 2**20 - 39 * 1_024 * 128_256 - 563 * 2**20
    assert round(float(large.other) / 2**20) == 563
    assert 39 * 1_024 * large.vocab == pytest.approx(float(large.peak), rel=0.02)
    left = 2 * each - 2 * shape.params_total
    few = cache_bytes(LAYERS[1], DEVICES[0], 2, "bf16")
    assert few is not None
    page = Path("chapters/kv_memory.ipynb").read_text("utf8")
    assert f"[{left / 2**30:.2f} GiB](#num-on_two_own)" in page
    assert left < few / 2


def test_slots_at_full_length_are_few_where_the_limit_is_long() -> None:
    """The cautious rule brings the reservation back: see the share that is used."""
    slots = machine.slots_at_full_length(LIMIT, machine.SHARE_NOW, machine.GRAPHS)
    assert slots == int((0.92 * 81_091 - 15_317 - 1_217 - 1_024) / (LIMIT / 8)) == 27
    assert slots < 0.1 * limits.at_mean()


def test_a_margin_below_what_fits_at_the_mean_length_avoids_preemption() -> None:
    """And every request is complete: more slots than fit at the mean preempt some."""
    stopped = [
        limits.backlog(slots)[0] for slots in (limits.with_margin(), limits.at_mean())
    ]
    assert stopped[0] == 0 < stopped[1] < 0.02 * len(lives(SERVICES[0]))
    assert stopped[1] < limits.backlog(limits.at_mean() + 40)[0]
    assert limits.with_margin() == 297 and limits.at_mean() == 331
