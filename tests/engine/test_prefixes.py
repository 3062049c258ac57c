"""What begins alike is computed once; what must be sent is another question."""

import numpy as np
import pytest

from llmserve_lab.engine import (
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    PrefixCache,
    Report,
    Request,
    Static,
    simulate,
)
from tests.engine.test_policies import COST, ROOM

NAMES = tuple(range(8))
BYTES_PER_S = 1e10
STORE = PrefixCache(capacity_tokens=10_000)


def shared(
    *,
    streamed: bool = False,
    found: PrefixCache | None = STORE,
    there: PrefixCache | None = None,
    replicas: int = 1,
) -> Report:
    """Two prompts with seven blocks in common, far apart; a third like the second."""
    requests = [
        Request(
            arrival_s=9 * number,
            prompt_len=4_096,
            output_len=2,
            id=number,
            prefix=names,
        )
        for number, names in enumerate(((*NAMES[:7], 99), NAMES, NAMES))
    ]
    deployment = Disaggregated(
        prefill=Pool(COST, Continuous(), kv_blocks=ROOM, prefix_cache=found),
        decode=Pool(COST, Continuous(), replicas, kv_blocks=ROOM, prefix_cache=there),
        bytes_per_s=BYTES_PER_S,
        streamed=streamed,
    )
    return simulate(requests, deployment)


def test_a_prefix_that_is_held_is_not_computed_but_sent() -> None:
    for replicas in (1, 3):  # no replica of the decode pool has it from anywhere
        report = shared(replicas=replicas)
        assert list(report.hit_tokens) == [0, 7 * 512, 4_095]
        sent = report.transfer_s * BYTES_PER_S / COST.kv_bytes_per_token
        np.testing.assert_allclose(sent, [4_096] * 3)
        assert report.ttft_s[1] < report.ttft_s[0] / 5


def test_what_the_decode_pool_holds_need_not_be_sent() -> None:
    report = shared(there=STORE)
    sent = report.transfer_s * BYTES_PER_S / COST.kv_bytes_per_token
    np.testing.assert_allclose(sent, [4_096, 512, 1])
    small = shared(there=PrefixCache(capacity_tokens=3 * 512))
    sent = small.transfer_s * BYTES_PER_S / COST.kv_bytes_per_token
    np.testing.assert_allclose(sent, [4_096] * 3)  # of each, only the end was kept


def test_streamed_what_was_found_goes_first_and_the_rest_as_it_is_made() -> None:
    """By hand: the link is slow, so that it never rests until the last layer is in."""
    token_s = COST.kv_bytes_per_token / BYTES_PER_S
    report = shared(streamed=True)
    expected_s = 4_096 * token_s - report.ttft_s[1]  # the seven were there at once
    assert report.transfer_s[1] == pytest.approx(expected_s)
    there = shared(streamed=True, there=STORE)
    first_s = there.ttft_s[1] / COST.n_layers  # until the first layer has been computed
    expected_s = first_s + 512 * token_s - there.ttft_s[1]
    assert there.transfer_s[1] == pytest.approx(expected_s)


def test_nothing_is_sent_of_what_is_computed_again() -> None:
    report = shared(streamed=True, found=None, there=STORE)
    layer_s = COST.kv_bytes_per_token / COST.n_layers / BYTES_PER_S
    assert report.transfer_s[1] == pytest.approx(512 * layer_s)  # the rest was hidden


def test_who_is_preempted_is_no_hit_when_it_finds_its_own_prompt() -> None:
    store = PrefixCache(capacity_tokens=100, block_tokens=10)
    requests = [
        Request(arrival_s=0, prompt_len=20, output_len=40, id=number, prefix=names)
        for number, names in enumerate(((1, 2), (3, 4)))
    ]
    pool = Pool(
        IterationCost(row_s=1e-3), Continuous(), kv_blocks=6, prefix_cache=store
    )
    report = simulate(requests, pool, log=True)
    assert report.preemptions.any()
    assert not report.hit_tokens.any()
    assert report.log is not None  # what it finds is not computed again
    rows = sum((s.decode_rows + s.prefill_rows) * s.count for s in report.log)
    assert rows == 2 * (20 + 40 - 1) + report.recomputed_tokens


def test_what_was_not_used_for_longest_makes_room() -> None:
    def asked(number: int, name: int) -> Request:
        names = (name, 100 + number)
        return Request(
            arrival_s=number, prompt_len=11, output_len=1, id=number, prefix=names
        )

    store = PrefixCache(capacity_tokens=30, block_tokens=10)
    prompts = [asked(0, 1), asked(1, 2), asked(2, 3), asked(3, 1), asked(4, 4)]
    again = [asked(5, 1), asked(6, 2)]  # 2 had to go when 4 came
    cost = IterationCost(row_s=1e-3)
    pool = Pool(cost, Continuous(), kv_blocks=10, prefix_cache=store)
    report = simulate([*prompts, *again], pool)
    assert list(report.hit_tokens) == [0, 0, 0, 10, 0, 10, 0]


def test_what_was_found_counts_as_used_before_it_is_computed_again() -> None:
    """By hand: room for two blocks; 1 was looked up after 2 was kept, so 2 must go."""

    def named(number: int, *names: int) -> Request:
        return Request(
            arrival_s=0,
            prompt_len=10 * len(names),
            output_len=1,
            id=number,
            prefix=names,
        )

    held = PrefixCache(capacity_tokens=20, block_tokens=10).opened()
    held.keep(named(0, 1))
    held.keep(named(1, 2))
    assert held.match(named(2, 1, 9)) == 10
    held.keep(named(3, 3))
    assert held.match(named(4, 1, 8)) == 10
    assert held.match(named(5, 2, 8)) == 0


def test_a_whole_prompt_in_the_store_still_runs_one_token() -> None:
    store = PrefixCache(capacity_tokens=100, block_tokens=10)
    requests = [
        Request(arrival_s=number, prompt_len=20, output_len=1, id=number, prefix=(1, 2))
        for number in range(2)
    ]
    cost = IterationCost(row_s=1e-3)
    report = simulate(
        requests, Pool(cost, Continuous(), kv_blocks=10, prefix_cache=store)
    )
    np.testing.assert_allclose(report.ttft_s, [20e-3, 1e-3])


def test_a_store_takes_the_names_of_its_own_blocks_alone() -> None:
    asked = Request(arrival_s=0, prompt_len=4_096, output_len=1, id=3, prefix=NAMES)
    for size, wanted in ((16, 256), (4_096, 1)):
        store = PrefixCache(capacity_tokens=10_000, block_tokens=size)
        with pytest.raises(ValueError, match=f"all {wanted} blocks of .* got 8 names"):
            simulate([asked], Pool(COST, Continuous(), prefix_cache=store))
    with pytest.raises(ValueError, match="policy must schedule iteration by iteration"):
        Pool(COST, Static(), prefix_cache=PrefixCache(capacity_tokens=10_000))
