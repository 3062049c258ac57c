"""What the experiments in the engine show beside the sentences that are kept."""

from __future__ import annotations

import pytest

from llmserve_lab import running_example
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory import machine, serving
from llmserve_lab.kv_memory.page import stills
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, wasted


@pytest.mark.long
def test_a_flooded_replica_writes_slowly_or_makes_a_queue() -> None:
    """What overloads the hot replica slows all in the batch, or waits outside it."""
    load = {"rate": serving.HOT_RATE, "hot": serving.HOT}
    assert serving.hot_reads() > float(running_example.device().hbm_bw)
    spent = {name: serving.hot_tokens(name) for name in serving.ROUTINGS}
    assert spent["affinity by assistant"] > 4 * spent["prefix-aware"]
    assert spent["affinity by assistant"] > 2 * spent["least loaded"]
    wide = serving.routed("affinity by assistant", **load, max_batch=serving.WIDE_BATCH)
    narrow = serving.routed("affinity by assistant", **load)
    assert wide.ttft_p95_s < narrow.ttft_p95_s / 30
    queue = serving.hot_tokens("affinity by assistant", max_batch=serving.MAX_BATCH)
    assert spent["prefix-aware"] < queue < spent["affinity by assistant"]


def test_more_requests_in_a_step_write_more_tokens_and_wait_longer() -> None:
    """The requests that paging makes room for share the reading of the weights."""
    chat = wasted(SERVICES[0])
    few = machine.served(LIMIT)
    many = machine.slots_that_fit(chat.paged[16])
    slow, fast = (serving.step_s(each, chat.used) for each in (few, many))
    assert slow < fast < many / few * slow
    assert many / fast == pytest.approx(3 * few / slow, rel=0.1)


def test_a_preempted_answer_pauses_for_seconds_however_it_returns() -> None:
    found = stills.returns()
    paused = [each.pause_s for each in found.values() if each.preemptions]
    steady = [each.pause_s for each in found.values() if not each.preemptions]
    assert len(paused) == 4 and min(paused) > 30 * max(steady)
    even = float(f.SWAP_BW.at(machine.room()))
    level = serving.preempted(even)
    assert level.end_s == pytest.approx(serving.preempted(None).end_s, rel=0.01)


@pytest.mark.long
def test_caches_are_warm_before_one_assistant_is_popular() -> None:
    """No request is counted twice, none too early, and no name is used twice."""
    hot = serving.trace(rate=serving.HOT_RATE, hot=serving.HOT, after=serving.WARM)
    assert [each.id for each in hot] == list(range(2_400))
    arrivals = [each.arrival_s for each in hot]
    assert arrivals == sorted(arrivals)
    before = {(each.prefix or (-1,))[0] for each in hot[: serving.WARM]}
    assert len(before) == serving.ASSISTANTS
    own = [name for each in hot for name in each.prefix or () if int(str(name)) < 0]
    assert len(own) == len(set(own))
    spent = arrivals[-1] - arrivals[serving.WARM - 1]
    assert spent == pytest.approx(serving.NUM_REQUESTS / serving.HOT_RATE, rel=0.1)
    for name in serving.ROUTINGS:
        cold = serving.routed(
            name, rate=serving.HOT_RATE, hot=serving.HOT, max_batch=serving.WIDE_BATCH
        )
        assert serving.hot_hits(name) > cold.hit_share
