"""The lines that are added up by hand close to the last digit, and mean the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab.continuous_batching import (
    clients,
    commands,
    formulas,
    lanes,
    machine,
    tuning,
)
from llmserve_lab.continuous_batching import (
    worked_example as worked,
)
from llmserve_lab.continuous_batching.machine import LONG, TARGET_S
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.page.questions import late_s
from llmserve_lab.continuous_batching.workloads import beside_a_book
from llmserve_lab.engine import Chunked, IterationLoad, Static
from llmserve_lab.running_example import PROMPT, cost, datasheet, ideal, setting
from llmserve_lab.running_example import band as example_band


def test_the_wait_in_the_static_batch_adds_up() -> None:
    hand = worked.static_wait()
    assert round(hand["prompts"] + hand["decodes"], 3) == hand["batch"]
    assert round(hand["batch"] - 2.0, 3) == hand["wait"]
    assert round(hand["wait"] + hand["prompts"], 3) == hand["ttft"]
    assert hand["ttft"] == pytest.approx(late_s(Static(2)), abs=1e-3)
    parts = ("rows", "launches", "unhidden", "rest")
    assert round(sum(hand[name] for name in parts), 5) == hand["first"]
    assert 999 * hand["each"] == pytest.approx(hand["decodes"], abs=1e-3)


def test_the_freeze_adds_up() -> None:
    hand = worked.freeze()
    total = hand["linear"] + hand["attention"] + hand["other"]
    assert (
        round(total, 3) == hand["sum"] == round(lanes.longest_gap_s(lanes.whole()), 3)
    )
    assert round(LONG * round(1e6 * cost().row_s, 2) / 1e6, 3) == hand["linear"]
    pairs_s = LONG**2 / 2 * round(1e9 * cost().pair_s, 4) / 1e9
    assert round(pairs_s, 3) == hand["attention"]
    assert 0 < hand["other"] < 0.02


@pytest.mark.parametrize("prefix", [0, LONG // 2, LONG])
def test_the_inequality_holds_for_the_chunk_and_for_no_row_more(prefix: int) -> None:
    parts = worked.chunk_parts(prefix)
    for rows, fits in ((parts["chunk"], True), (parts["chunk"] + 1, False)):
        takes = rows * parts["line"] + rows**2 * parts["pair"] / 2
        assert (takes <= parts["left"]) is fits


@pytest.mark.parametrize(("chunk", "waits"), [(163, True), (512, False)])
def test_the_bound_of_a_prefill_lies_below_the_sum_over_the_chunks(
    chunk: int, waits: bool
) -> None:
    """The longer of two sums is less than the sum of the longer of two.

    What is missing is where a chunk waits for memory although the whole does not.
    """
    loads = [
        IterationLoad.of(chunk=min(chunk, LONG - at), context=at)
        for at in range(0, LONG, chunk)
    ]
    of = datasheet()
    read_s = [of.memory_s(load) for load in loads]  # weights and caches
    computed_s = [of.compute_s(load) for load in loads]
    longer = sum(map(max, read_s, computed_s))
    missing_s = longer - max(sum(read_s), sum(computed_s))
    read = {"weight_bytes": machine.served()["weight_bytes"]}
    bound_s = formulas.PROMPT_S.at(ideal(), read, prompt_len=LONG, chunk=chunk)
    assert bool(missing_s > 0.05 * bound_s) is waits
    engine_s = sum(of.seconds(load) for load in loads)
    assert engine_s == pytest.approx(bound_s + missing_s, rel=1e-9)


def test_what_to_set_keeps_the_target_and_costs_throughput() -> None:
    rows = tuning.budget()
    assert rows <= tuning.bound()
    assert rows >= tuning.SEQS  # or vLLM refuses
    assert rows % tuning.TILE == 0
    assert tuning.saturated(rows) < tuning.saturated(8192)
    assert tuning.SEQS < tuning.DEFAULT_SEQS and rows < tuning.DEFAULT_SEQS  # refused
    lines = commands.server(rows).splitlines()
    assert f"  --max-num-batched-tokens {rows}" in lines
    assert rows <= machine.GRAPH_ROWS <= 2 * tuning.SEQS  # or less is replayed
    most = worked.chunk_parts(LONG)["chunk"]
    assert tuning.safe_chunk() < most


def test_the_budget_keeps_the_target_where_the_prediction_is_at_its_lowest() -> None:
    kept = 1 - tuning.share_below()
    for rows in (tuning.budget(), tuning.bound()):
        assert tuning.trade(rows).gap_s / kept <= TARGET_S
    more = lanes.served(beside_a_book(), Chunked(tuning.bound() + tuning.TILE))
    assert lanes.longest_gap_s(more) / kept > TARGET_S


@pytest.mark.parametrize("prompt_len", tuning.KEPT)
def test_the_bound_of_a_usual_prompt_is_the_largest(prompt_len: int) -> None:
    rows, calm = tuning.bound(prompt_len), IterationLoad(5, 5 * 1001, 5 * 1000, 5)
    for budget, fits in ((rows, True), (rows + tuning.TILE, False)):
        chunk = IterationLoad.of(chunk=budget - machine.DECODES, context=prompt_len)
        took_s = cost().seconds(calm.plus(chunk))
        assert (took_s <= tuning.safe_target_s()) is fits


@pytest.mark.parametrize("prompt_len", tuning.KEPT)
def test_the_largest_budget_keeps_the_target_in_the_engine(prompt_len: int) -> None:
    """No gap of a run breaks it, and a gap of the next larger budget does."""
    calm = [replace(r, arrival_s=0.0) for r in beside_a_book() if r.output_len > 1][:5]
    for more, fits in ((0, True), (tuning.TILE, False)):
        rows = tuning.largest(prompt_len) + more
        late = replace(calm[0], id=99, arrival_s=1.0, prompt_len=prompt_len)
        run = logged([*calm, late], Chunked(rows), machine.priced(rows))
        longest_s = float(run.gaps.longest_s)
        assert (longest_s <= tuning.safe_target_s()) is fits
    assert tuning.bound(prompt_len) <= tuning.largest(prompt_len)


@pytest.mark.parametrize("prompt_len", [0, 131_073, 2**63, 1.5])
def test_a_prompt_that_the_model_cannot_take_is_refused(prompt_len: int) -> None:
    with pytest.raises(ValueError, match="prompt_len must be "):
        tuning.largest(prompt_len)


def test_the_first_budget_keeps_the_target_beside_a_long_decode() -> None:
    """A prompt that has been read decodes too, and its cache is read every time."""
    held = IterationLoad.of(chunk=1, context=PROMPT).times(machine.DECODES)
    held = held.plus(IterationLoad.of(chunk=1, context=LONG))
    for rows, fits in ((tuning.budget(), True), (tuning.bound(), False)):
        chunk = IterationLoad.of(chunk=rows - held.rows, context=LONG)
        took_s = cost().seconds(held.plus(chunk))
        assert (took_s <= tuning.safe_target_s()) is fits
    less = tuning.safe_chunk() - tuning.safe_chunk(long_decodes=1)
    each_s = worked.chunk_parts(LONG)["line"]
    assert less * each_s == pytest.approx(LONG * cost().kv_token_s, rel=0.05)
    first, rival = tuning.trade(tuning.budget()), tuning.trade(tuning.bound())
    assert first.gap_s < rival.gap_s and first.ttft_s < rival.ttft_s  # as page 4 says
    bare, other = (tuning.trade(t.budget, machine.hidden()) for t in (first, rival))
    assert bare.ttft_s > other.ttft_s  # and if launches are hidden, the other way


def test_another_long_decode_costs_its_cache_and_what_its_row_sees() -> None:
    """It takes the place of a row that saw nothing."""
    held = IterationLoad.of(chunk=1, context=PROMPT).times(machine.DECODES)
    fresh = held.plus(IterationLoad.of(chunk=400))
    other = held.plus(IterationLoad.of(chunk=399))
    other = other.plus(IterationLoad.of(chunk=1, context=LONG))
    more_s = cost().seconds(other) - cost().seconds(fresh)
    assert more_s == pytest.approx(tuning.long_decode_s(), rel=0.01)


def test_hidden_launches_are_no_more_than_the_work_of_the_gpu() -> None:
    bare, calm = machine.hidden(), IterationLoad.of(chunk=1, context=PROMPT).times(5)
    load = calm.plus(IterationLoad.of(chunk=507))
    launches_s = cost().overhead_s + cost().prompt_s
    assert cost().seconds(load) - bare.seconds(load) == pytest.approx(launches_s)
    assert bare.seconds(load) > launches_s  # long enough to hide them
    two_s = worked.beside_two_rows_s(machine.replayed())
    assert two_s == pytest.approx(lanes.calm_s(), rel=0.01)
    assert two_s < 0.6 * worked.beside_two_rows_s()


def test_every_slot_taken_leaves_the_gap_no_longer() -> None:
    assert tuning.crowded_gap_s() < tuning.trade(tuning.budget()).gap_s


def test_the_freeze_at_less_of_the_peak_is_longer_by_attention_alone() -> None:
    hand = worked.freeze()
    reached = float(setting()["eff_compute"])
    assert worked.freeze_at(reached) == pytest.approx(hand["sum"], rel=1e-9)
    longer = worked.freeze_at(reached / 2) - hand["sum"]
    assert longer == pytest.approx(hand["attention"], rel=1e-9)
    assert 0.5 < worked.attention_share("llama-3-70b") / worked.attention_share() < 0.7
    assert 0 < worked.attention_share() < 0.2


def test_the_table_of_errors_is_that_of_the_bands() -> None:
    calm, first, none = worked.reliability_table().rows
    assert calm[2] == worked.span(example_band("tpot", clients=machine.DECODES))
    assert first[2] == worked.span(worked.prompt_band()) and "70b" in str(first[1])
    assert none[2] == "extrapolated" and worked.longest_measured() < LONG


def test_a_measured_gap_says_how_much_to_shrink_the_chunk() -> None:
    """Above what is there without a chunk, a gap is nearly in proportion to it."""
    parts, chunk = worked.chunk_parts(LONG), 1200
    rest_s = TARGET_S - parts["left"]
    gap_s = rest_s + chunk * parts["line"] + chunk**2 * parts["pair"] / 2
    found = chunk * (TARGET_S - rest_s) / (gap_s - rest_s)
    assert found == pytest.approx(parts["chunk"], rel=0.01)
    assert abs(chunk * TARGET_S / gap_s / parts["chunk"] - 1) > 0.03  # plain ratio


@pytest.mark.parametrize("rows", [tuning.budget(), tuning.bound()])
def test_the_margin_covers_both_doubts_together(rows: int) -> None:
    """An iteration once more, as a sum of its parts, with no margin added."""
    kept, slow = 1 - tuning.share_below(), worked.measured_attention()
    times = float(setting()["eff_compute"]) / slow
    chunk, each = rows - machine.DECODES, cost()
    prefix = (LONG // chunk - 1) * chunk  # before the last full one
    parts = worked.chunk_parts(prefix)
    pairs = chunk * (prefix + chunk / 2)
    took_s = parts["rest"] + chunk * each.row_s + times * pairs * each.pair_s
    found = tuning.errors_s(rows)
    assert found["both"] == pytest.approx(took_s, rel=0.01)
    assert found["predicted"] <= found["launches"] < found["both"]
    assert found["predicted"] < found["attention"] <= found["both"]
    assert found["both"] <= found["predicted"] / kept <= TARGET_S


def test_the_largest_budget_without_a_margin_keeps_the_target_and_no_larger_one() -> (
    None
):
    rows = tuning.bare_bound()
    assert tuning.budget() < tuning.bound() < rows
    assert rows == (worked.chunk_parts(LONG)["chunk"] + machine.DECODES) // 128 * 128
    held = machine.calm()
    for each, fits in ((rows, True), (rows + tuning.TILE, False)):
        chunk = IterationLoad.of(chunk=each - held.rows, context=LONG)
        assert (cost().seconds(held.plus(chunk)) <= TARGET_S) is fits


def test_the_first_budget_is_better_than_the_bound_unless_launches_are_hidden() -> None:
    first, rival = (
        clients.BudgetAndSlots(rows=r) for r in (tuning.budget(), clients.rival().rows)
    )
    runs = [each.served() for each in (first, rival)]
    for of in (clients.long_ttft_s, clients.short_ttft_s):
        assert of(runs[0]) < of(runs[1])
    assert runs[0].gaps.longest_s < runs[1].gaps.longest_s
    assert first.per_s() > rival.per_s()
    bare = machine.hidden()
    assert 1 < rival.per_s(bare) / first.per_s(bare) < 1.05


def test_the_margin_is_borrowed_from_runs_of_little_attention() -> None:
    """Both are shares of computing: of the linear layers and attention alone."""
    chunk = tuning.budget() - machine.DECODES
    pairs = chunk * (LONG - chunk / 2) + machine.DECODES * PROMPT
    attention_s, linear_s = pairs * cost().pair_s, tuning.budget() * cost().row_s
    share = attention_s / (attention_s + linear_s)
    assert tuning.attention_of_gap() == pytest.approx(share, rel=1e-3)
    assert worked.attention_share("llama-3-70b") < 0.1 < 0.5 < share


def test_the_rows_of_the_table_are_what_its_lines_give() -> None:
    parts = worked.chunk_parts(LONG)
    left_s = round(tuning.safe_target_s(), 4) - round(parts["rest"], 4)
    alone = int(left_s / parts["line"])
    assert 0 < alone - tuning.safe_chunk() < 0.01 * alone  # they see each other, too
    bare = int((TARGET_S - round(parts["rest"], 4)) / parts["line"])
    assert 0 < bare - int(parts["chunk"]) < 0.01 * bare
    fixed = machine.calm().kv_tokens * cost().kv_token_s
    fixed += machine.DECODES * cost().row_s
    assert fixed < 0.0005 < parts["rest"] - LONG * cost().kv_token_s
    even = 2 * cost().row_s / cost().pair_s  # tokens
    linear_s, attention_s = even * cost().row_s, even**2 / 2 * cost().pair_s
    assert linear_s == pytest.approx(attention_s)


def test_reading_again_is_what_the_later_chunks_read() -> None:
    chunk = tuning.budget() - machine.DECODES
    prefixes = range(0, LONG, chunk)
    weights_s = (len(prefixes) - 1) * (1 - cost().overlap) * cost().weights_s
    cache_s = sum(prefixes) * cost().kv_token_s
    assert tuning.again_s(tuning.budget()) == pytest.approx(
        weights_s + cache_s, rel=0.06
    )
