"""What the chapters say of each policy, on the article's machine."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    Disaggregated,
    IterationCost,
    Policy,
    Pool,
    PrefixCache,
    Report,
    Request,
    Static,
    simulate,
)

# The article asks for prompts of 100,000 tokens of a model that reads 4,096.
COST = replace(
    IterationCost.of(
        catalog.model("llama-2-7b"),
        catalog.accelerator("h100-sxm"),
        efficiency=catalog.efficiency("article-06"),
    ),
    max_context=None,
)
ROOM = 20_000  # blocks, so that a prompt of 100,000 tokens and others fit


def request(number: int, arrival_s: float, prompt: int, output: int) -> Request:
    return Request(arrival_s=arrival_s, prompt_len=prompt, output_len=output, id=number)


EIGHT = [request(number, 0.0, 1_000, 400) for number in range(8)]
LONG = request(8, 1.0, 100_000, 10)


def serve(requests: list[Request], policy: Policy, *, log: bool = False) -> Report:
    return simulate(requests, Pool(COST, policy, kv_blocks=ROOM), log=log)


def one(report: Report, number: int, what: str) -> float:
    return float(getattr(report, what)[report.id == number][0])


def test_one_long_prompt_stalls_everyone_who_decodes_for_its_whole_prefill() -> None:
    whole = serve([*EIGHT, LONG], Continuous())
    chunked = serve([*EIGHT, LONG], Chunked(2048))
    assert whole.gaps.longest_s > 7  # seconds
    assert (whole.worst_gap_s > 7).sum() == len(EIGHT)  # all of them, in one iteration
    assert chunked.gaps.longest_s < 0.27  # 2,048 rows, at the end after 98,000 others
    assert one(chunked, 8, "ttft_s") > one(whole, 8, "ttft_s")  # the price of it


def test_prefill_priority_stalls_no_less_than_a_mixed_iteration() -> None:
    apart = serve([*EIGHT, LONG], Continuous(mixed=False))
    assert apart.gaps.longest_s > serve([*EIGHT, LONG], Continuous()).gaps.longest_s


def test_smaller_chunks_give_shorter_gaps_and_later_first_tokens() -> None:
    reports = [serve([*EIGHT, LONG], Chunked(budget)) for budget in (256, 1024, 4096)]
    gaps = [report.gaps.longest_s for report in reports]
    firsts = [one(report, 8, "ttft_s") for report in reports]
    assert gaps == sorted(gaps) and firsts == sorted(firsts, reverse=True)


def test_a_target_for_the_gap_is_kept_where_a_fixed_chunk_breaks_it() -> None:
    target_s = 0.05
    chosen = serve([*EIGHT, LONG], ChunkedWithin(target_s), log=True)
    assert chosen.gaps.longest_s <= target_s * (1 + 1e-9)
    assert serve([*EIGHT, LONG], Chunked(2048)).gaps.longest_s > target_s
    assert chosen.log is not None
    sizes = [rows for step in chosen.log for id_, rows, _ in step.chunks if id_ == 8]
    assert sizes[0] > 2 * sizes[-2]  # the cache grows, so the chunk must shrink


def test_a_static_batch_is_a_convoy() -> None:
    """Who comes late waits for the whole batch, who is done early for the longest."""
    short, late = request(1, 0.0, 1_000, 10), request(2, 0.05, 100, 10)
    requests = [request(0, 0.0, 1_000, 1_000), short, late]
    static, living = serve(requests, Static(8)), serve(requests, Continuous())
    batch_s = one(static, 0, "finished_s")
    assert one(static, 1, "finished_s") == batch_s
    assert one(static, 1, "last_token_s") < batch_s / 20  # long ready, and held back
    assert one(static, 2, "scheduled_s") == batch_s
    assert one(living, 2, "queue_s") < 0.1
    assert one(living, 1, "finished_s") < batch_s / 20


def test_padding_is_computed_and_paid_for() -> None:
    alike = [request(number, 0.0, 1_000, 50) for number in range(4)]
    mixed = [request(0, 0.0, 1_000, 50)] + [request(i, 0.0, 10, 5) for i in (1, 2, 3)]
    full, padded = serve(alike, Static(4)), serve(mixed, Static(4), log=True)
    assert full.elapsed_s == padded.elapsed_s
    assert padded.log is not None
    assert padded.log[0].padding_rows == 3 * 990
    assert serve(mixed, Continuous()).elapsed_s < 0.8 * full.elapsed_s


def test_decode_waits_for_no_prompt_in_a_pool_of_its_own() -> None:
    split = simulate(
        [*EIGHT, LONG],
        Disaggregated.over(
            catalog.link("nvlink4"),
            prefill=Pool(COST, Continuous(), kv_blocks=ROOM),
            decode=Pool(COST, Continuous(), kv_blocks=ROOM),
        ),
    )
    ordinary = split.worst_gap_s[split.id != 8]
    assert ordinary.max() < 0.05  # the first includes the transfer; no stall of seconds
    np.testing.assert_allclose(one(split, 8, "ttft_s"), one(split, 8, "ttft_s"))


@pytest.mark.parametrize("wrong", ["chunked", Chunked, None])
def test_a_policy_is_an_object_with_its_settings(wrong: Any) -> None:
    with pytest.raises(TypeError, match="policy must be of type Policy, got "):
        Pool(COST, wrong)
    with pytest.raises(TypeError, match="cost must be of type IterationCost, got "):
        Pool(wrong, Chunked())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Static(0), "batch must be at least 1, got 0"),
        (lambda: Continuous(0), "max_batch must be at least 1, got 0"),
        (lambda: Chunked(0.5), "budget must be a whole number"),  # type: ignore
        (lambda: Chunked(True), "budget must be a whole number, got True"),
        (lambda: Chunked(0), "budget must be at least 1, got 0"),
        (lambda: ChunkedWithin(0), "tbt_s must be positive, got 0"),
        (lambda: ChunkedWithin(1, least=0), "least must be at least 1, got 0"),
        (
            lambda: Pool(COST, Chunked(), 0),
            "replicas must be at least 1 replica, got 0",
        ),
        (lambda: PrefixCache(capacity_tokens=9), "one block of 512 tokens, got 9"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()
