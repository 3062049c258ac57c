"""The search finds what trying everything finds, and simulates almost nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.capacity.bounds import Lengths, holds, least_busy, least_work_s
from llmserve_lab.capacity.deployment import Candidate, grid
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.runs import RANKS, SEARCHED, dearer, near, searched
from llmserve_lab.capacity.search import (
    FULL,
    GOOD,
    Ranked,
    by_gpus,
    by_price,
    exhaustive,
    judged,
    kind,
    required,
    search,
)
from llmserve_lab.capacity.trace import azure_hour, per_bin
from llmserve_lab.engine import IterationLoad, simulate
from llmserve_lab.workloads import faster

PART = azure_hour()[:250]
LEVEL = ServiceLevel(ttft_s=0.4, tpot_s=0.02)
SMALL = grid(
    devices=("a100-80-sxm", "h100-sxm", "h200-sxm"),
    tps=(1, 2),
    replicas=(1, 2, 3),
    rows=(512, 2048),
    model="llama-3.1-8b",
)


@pytest.mark.long
@pytest.mark.parametrize("tpot_s", [0.007, 0.008, 0.01, 0.02])
@pytest.mark.parametrize("rank", [by_price(), by_gpus(), by_price(spare=1)])
def test_the_search_agrees_with_trying_everything(rank: Ranked, tpot_s: float) -> None:
    level = ServiceLevel(ttft_s=0.2, tpot_s=tpot_s)
    found = search(SMALL, PART, level, rank=rank)
    assert found.best == exhaustive(SMALL, PART, level, rank=rank)
    assert set(found.fates) == set(SMALL)


def test_a_run_that_is_stopped_says_what_the_whole_run_says() -> None:
    for each in SMALL[::5]:
        kept = LEVEL.kept(simulate(PART, each.pool)).good
        assert (judged(each, PART, LEVEL) in GOOD) is kept


def test_the_work_of_the_bound_is_never_more_than_what_the_engine_does() -> None:
    lengths = Lengths.of(PART)
    for each in SMALL[::4]:
        work_s = sum(part.sum() for part in least_work_s(each.cost, lengths))
        busy_s = simulate(PART, each.pool).pools["pool"].busy_s
        assert 0 < work_s <= busy_s


@pytest.mark.parametrize("apart", [False, True])
def test_the_work_of_the_bound_is_counted_iteration_by_iteration(apart: bool) -> None:
    """Every term, from the loads that the engine gives each request alone."""
    requests = PART[:12]
    cost = replace(SMALL[0].cost, attention_apart=apart)
    row_s = cost.row_s + cost.collective_row_s

    def least_s(load: IterationLoad, read_s: float) -> float:
        work_s = load.rows * row_s + load.pairs * cost.pair_s
        return work_s + load.kv_tokens * read_s + load.requests * cost.request_s

    prefill_s, decode_s = least_work_s(cost, Lengths.of(requests))
    for each, first_s, rest_s in zip(requests, prefill_s, decode_s, strict=True):
        prompt = IterationLoad.of(chunk=each.prompt_len)
        steps = [
            IterationLoad.of(chunk=1, context=each.prompt_len + done)
            for done in range(each.output_len - 1)
        ]
        read_s = cost.kv_token_s if apart else 0.0
        assert first_s == pytest.approx(least_s(prompt, read_s))
        assert rest_s == pytest.approx(sum(least_s(step, read_s) for step in steps))


def test_what_the_bound_rules_out_fails() -> None:
    lengths, ruled = Lengths.of(PART), 0
    level = ServiceLevel(ttft_s=0.001, tpot_s=0.02)
    for each in SMALL:
        if least_busy(each, lengths, level)[0] > 1:
            ruled += 1
            assert judged(each, PART, level) not in GOOD
    heavy = ServiceLevel(ttft_s=0.5, tpot_s=0.02)
    slow = Candidate("a100-80-sxm", 4, 1, 512)
    full = azure_hour()[:4000]
    busy, begin_s = least_busy(slow, Lengths.of(full), heavy)
    assert busy > 0.4 and begin_s % 60 == 0 and ruled >= 0


def test_more_replicas_are_less_busy_in_proportion() -> None:
    lengths = Lengths.of(PART)
    one, three = (
        least_busy(Candidate("h100-sxm", 4, n, 512), lengths, LEVEL)[0] for n in (1, 3)
    )
    assert one == pytest.approx(3 * three)


def test_what_is_too_large_does_not_fit() -> None:
    lengths = Lengths.of(PART)
    assert not holds(Candidate("h100-sxm", 1, 1, 512), lengths)  # 141 GB of weights
    assert holds(Candidate("h100-sxm", 4, 1, 512), lengths)


def test_the_recorded_search_keeps_its_promise() -> None:
    for by in RANKS:
        found = searched(by)
        assert len(found.fates) >= 200 and found.best is not None
        assert found.in_full <= 0.05 * len(found.fates)
        assert sum(fate in FULL for fate in found.fates.values()) == found.in_full
        assert 0 < found.started < 20


def test_with_a_spare_nothing_that_does_is_cheaper_than_what_is_named() -> None:
    """Every candidate that was seen to do is compared, the near-equals among them."""
    named = searched("dollars with a spare").best
    fates = [*(searched(by).fates.items() for by in RANKS), near().items()]
    does = {each for rows in fates for each, fate in rows if fate in GOOD}
    assert named is not None and len(does) > 1
    usd = named.with_spare().dollars_per_hour()
    assert usd == min(each.with_spare().dollars_per_hour() for each in does)
    alone = searched().best
    assert alone is not None and usd <= alone.with_spare().dollars_per_hour()


@pytest.mark.long
def test_how_far_prices_and_rates_may_move_before_the_answer_does() -> None:
    """As the page says: simulated, with no word of the search."""
    best, requests, risen = searched().best, azure_hour(), 3.99 / 3.49
    assert best is not None
    others = dearer(risen * best.dollars_per_hour())
    assert others and all(judged(e, requests, SEARCHED) not in GOOD for e in others)
    assert judged(best, list(faster(requests, times=1.2)), SEARCHED) in GOOD
    two = replace(best, replicas=2)
    assert judged(two, requests, SEARCHED) not in GOOD
    assert judged(two, list(faster(requests, times=0.8)), SEARCHED) in GOOD


def test_a_single_gpu_is_out_only_where_the_weights_are_too_large() -> None:
    """By hand: two bytes for each of 70.6e9 parameters, and room for one request."""
    fates = searched().fates
    for each, fate in fates.items():
        room = each.tp * float(catalog.accelerator(each.device).hbm_bytes)
        fits = room > 2 * 70.6e9
        assert fits or fate == "does not fit"
        assert each.tp > 1 or (fate == "does not fit") is (each.device != "b200-sxm")


def test_a_spare_is_one_replica_more() -> None:
    pair = Candidate("h200-sxm", 2, 3, 512)
    assert pair.with_spare().num_gpus == 8 and pair.with_spare(0) == pair
    assert by_price(spare=1)(pair)[0] == pytest.approx(8 * 4.59)


def test_the_steps_of_the_search_settle_every_candidate_once() -> None:
    """The order: by arithmetic, one that does, its price, the largest numbers."""
    found = searched()
    fates = [*found.fates.values()]
    assert sum(fate in GOOD for fate in fates) == 1 and found.best is not None
    failed = [each for each, fate in found.fates.items() if fate == "stopped: fails"]
    fewer = [e for e, fate in found.fates.items() if fate == "more replicas failed"]
    for each in fewer:
        assert any(
            kind(each) == kind(one) and one.replicas > each.replicas for one in failed
        )
    for each in failed:
        assert each.dollars_per_hour() < found.best.dollars_per_hour()
        larger = replace(each, replicas=each.replicas + 1)
        assert found.fates.get(larger, "cannot be cheaper") == "cannot be cheaper" or (
            larger == found.best
        )
    without = ("cannot be cheaper", "too much work", "does not fit")
    settled = sum(fate in without for fate in fates)
    assert 1 + len(failed) + len(fewer) + settled == len(fates)


def test_a_level_that_nothing_keeps_names_what_binds_and_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"tpot_s=0\.001, which binds: .* keeps 0\.0"):
        required(SMALL[:6], PART, ServiceLevel(ttft_s=1.0, tpot_s=0.001))
    with pytest.raises(ValueError, match=r"ttft_s=0\.001, which binds"):
        required(SMALL[:6], PART, ServiceLevel(ttft_s=0.001, tpot_s=1.0))
    with pytest.raises(ValueError, match=r"longest request, of .* tokens, got none"):
        required([Candidate("h100-sxm", 1, 1, 512)], PART, LEVEL)
    assert required(SMALL, PART, LEVEL) in SMALL


def test_nothing_to_search_is_refused() -> None:
    with pytest.raises(ValueError, match="candidates must hold at least 1 deployment"):
        search([], PART, LEVEL)
    for empty in (lambda: search(SMALL, [], LEVEL), lambda: per_bin([])):
        with pytest.raises(ValueError, match="requests must hold at least 1 request"):
            empty()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ServiceLevel(0.0, 0.02), "ttft_s must be"),
        (lambda: ServiceLevel(0.5, -1.0), "tpot_s must be"),
        (
            lambda: ServiceLevel(0.5, 0.02, share=0.0),
            r"share must be in \(0, 1\], got 0",
        ),
        (lambda: Candidate("h100-sxm", 0, 1, 512), "tp must be"),
        (lambda: Candidate("h100-sxm", 1, 0, 512), "replicas must be"),
    ],
)
def test_bad_levels_and_candidates_are_refused(
    made: Callable[[], Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        made()


def test_as_many_may_miss_as_the_share_leaves() -> None:
    level = ServiceLevel(0.5, 0.02, share=0.9)
    assert [level.spare(n) for n in (1, 9, 10, 11, 100)] == [0, 0, 1, 1, 10]
