"""The lines that are added up by hand close to the last digit, and mean the engine."""

from __future__ import annotations

import pytest

from llmserve_lab.continuous_batching import byhand, formulas, lanes, tuning
from llmserve_lab.continuous_batching.machine import LONG, TARGET_S
from llmserve_lab.continuous_batching.page.questions import late_s
from llmserve_lab.engine import IterationLoad, Static
from llmserve_lab.running_example import cost, datasheet, ideal


def test_the_wait_in_the_static_batch_adds_up() -> None:
    hand = byhand.static_wait()
    assert round(hand["prompts"] + hand["decodes"], 4) == hand["batch"]
    assert round(hand["batch"] - 2.0, 4) == hand["wait"]
    assert round(hand["wait"] + hand["prompts"], 4) == hand["ttft"]
    assert hand["ttft"] == pytest.approx(late_s(Static(2)), abs=2e-4)
    assert round(999 * round(hand["each"], 7), 4) == pytest.approx(
        hand["decodes"], abs=1e-3
    )


def test_the_freeze_adds_up() -> None:
    hand = byhand.freeze()
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
    parts = byhand.chunk_parts(prefix)
    for rows, fits in ((parts["chunk"], True), (parts["chunk"] + 1, False)):
        takes = rows * parts["line"] + rows**2 * parts["pair"] / 2
        assert (takes <= parts["left"]) is fits


def test_the_bound_of_a_prefill_lies_below_the_sum_over_the_chunks() -> None:
    """The longer of two sums is less than the sum of the longer of two."""
    for chunk, least, most in ((163, 0.06, 0.11), (512, 0.0, 0.001)):
        loads = [
            IterationLoad.of(chunk=min(chunk, LONG - at), context=at)
            for at in range(0, LONG, chunk)
        ]
        engine_s = sum(datasheet().seconds(load) for load in loads)
        bound_s = formulas.PROMPT_S.at(ideal(), prompt_len=LONG, chunk=chunk)
        assert least <= engine_s / bound_s - 1 < most


def test_what_to_set_keeps_the_target_and_costs_throughput() -> None:
    assert tuning.book_gap_s() <= TARGET_S
    assert tuning.BUDGET >= tuning.SEQS  # or vLLM refuses
    assert tuning.saturated(tuning.BUDGET) < tuning.saturated(8192)
    assert f"--max-num-batched-tokens {tuning.BUDGET} " in tuning.commands()
    most = byhand.chunk_parts(LONG)["chunk"] + 5
    assert most == tuning.BUDGET
