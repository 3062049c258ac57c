"""The engine on real blocks: with nothing to share, as before; else what is shared."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
    LeastLoaded,
    Pool,
    PrefixAware,
    PrefixCache,
    Report,
    Request,
    Static,
    simulate,
)
from llmserve_lab.engine.arrivals import OpenLoop
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.system import System
from tests.engine.scenarios import Scenario, scenario

COST = IterationCost(row_s=1e-4, weights_s=5e-3, kv_token_s=1e-6)
SIZE = 4


def paged(given: Scenario) -> Scenario | None:
    """The same on blocks that are really taken; None where batches are static."""
    pool = given.deployment
    if not isinstance(pool, Pool) or pool.policy.static_batch:
        return None
    return replace(given, deployment=replace(pool, prefix_caching=True))


def test_with_nothing_to_share_it_is_the_engine_that_only_counts() -> None:
    preempted = tried = 0
    for seed in range(60):
        given = scenario(seed)
        if (other := paged(given)) is None:
            continue
        one, two = given.fast(), other.fast()
        tried += 1
        assert list(one.finished_s) == list(two.finished_s), seed
        assert list(one.first_token_s) == list(two.first_token_s), seed
        assert list(one.preemptions) == list(two.preemptions), seed
        preempted += int(one.preemptions.sum() > 0)
    assert tried > 30
    assert preempted > 5


def families(seed: int, *, many: int = 60, gap_s: float = 0.05) -> list[Request]:
    """Prompts of four families, each a growing text, so that they begin alike."""
    draw, requests, now_s = Random(seed), [], 0.0
    for number in range(many):
        now_s += draw.expovariate(1 / gap_s)
        family, prompt_len = draw.randrange(4), draw.randint(1, 40)
        full, rest = divmod(prompt_len, SIZE)
        names = tuple(1000 * family + i for i in range(full))
        if rest:
            names = (*names, -number - 1)
        requests.append(
            Request(
                arrival_s=now_s,
                prompt_len=prompt_len,
                output_len=draw.randint(1, 9),
                id=number,
                prefix=names,
            )
        )
    return requests


def served(requests: list[Request], pool: Pool, *, leap: bool = True) -> Report:
    """A run after which every block must be free again, and known once."""
    system, record = System(pool, leap=leap), RequestLog()
    system.serve(OpenLoop(requests), record, stop=None)
    for replica in system.replicas:
        assert replica.memory is not None
        blocks = replica.memory.pool
        assert replica.free_blocks == blocks.num_free == replica.num_blocks
        assert sorted(blocks.free_order()) == list(range(replica.num_blocks))
        assert replica.memory.owed == 0
    return simulate(requests, pool, leap=leap)


def pool(blocks: int, replicas: int = 1, **more: object) -> Pool:
    return Pool(
        COST,
        Chunked(16),
        replicas,
        kv_blocks=blocks,
        block_tokens=SIZE,
        prefix_caching=True,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("blocks", [13, 20, 400])
@pytest.mark.parametrize("seed", range(4))
def test_a_leap_is_the_steps_it_skips(seed: int, blocks: int) -> None:
    requests = families(seed, gap_s=0.02)
    one, two = (served(requests, pool(blocks), leap=leap) for leap in (True, False))
    np.testing.assert_allclose(one.finished_s, two.finished_s, rtol=1e-9)
    assert list(one.hit_tokens) == list(two.hit_tokens)
    if blocks == 13:
        assert one.preemptions.sum() > 0


@pytest.mark.parametrize("seed", range(4))
def test_in_a_large_memory_each_prompt_finds_all_that_was_computed(seed: int) -> None:
    """Brute force: compare with every prompt whose first token came before."""
    requests = [
        replace(each, arrival_s=10.0 * at) for at, each in enumerate(families(seed))
    ]
    report = served(requests, pool(4_000))
    assert list(report.id) == list(range(len(requests)))
    for place, one in enumerate(requests):
        common = 0
        for other in requests[:place]:
            both = zip(
                one.prefix, other.prefix[: other.prompt_len // SIZE], strict=False
            )
            agree = [a == b for a, b in both]
            common = max(common, (*agree, False).index(False))
        most = (one.prompt_len - 1) // SIZE
        assert report.hit_tokens[place] == SIZE * min(common, most)


def test_requests_that_share_fit_where_copies_of_them_would_not() -> None:
    """Eight requests, nine blocks of one prompt and one of each: 17 of 20 blocks."""
    requests = [
        Request(
            arrival_s=float(number > 0),
            prompt_len=9 * SIZE + 1,
            output_len=3,
            id=number,
            prefix=(*range(9), 100 + number),
        )
        for number in range(9)
    ]
    shared = replace(pool(20), policy=Continuous())
    run = simulate(requests, shared, log=True, leap=False)
    assert run.log is not None
    most = max(len(step.running) for step in run.log.frames())
    assert most == 8
    assert sorted(run.hit_tokens)[1:] == [9 * SIZE] * 8


def test_routing_by_prefix_finds_more_than_routing_by_load() -> None:
    requests = families(7, many=300, gap_s=0.015)
    hits = {}
    for routing in (LeastLoaded(), PrefixAware(slack=4), PrefixAware(slack=0)):
        report = served(requests, pool(26, 4, routing=routing))
        hits[repr(routing)] = report.hit_tokens.sum()
    assert hits["PrefixAware(slack=4)"] > 1.2 * hits["LeastLoaded()"]
    assert hits["PrefixAware(slack=4)"] > hits["PrefixAware(slack=0)"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policy": Static(2)}, "policy must schedule iteration by iteration"),
        ({"prefix_cache": PrefixCache(capacity_tokens=9000)}, "prefix_cache must be"),
        ({"routing": "round robin"}, "routing must be of type Routing, got 'round"),
        ({"prefix_caching": 2}, "prefix_caching must be of type bool, got 2"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        replace(pool(9), **wrong)  # type: ignore[arg-type]


def test_names_must_be_those_of_blocks_and_slack_not_negative() -> None:
    one = Request(arrival_s=0, prompt_len=9, output_len=1, id=3, prefix=(1, 2))
    with pytest.raises(ValueError, match="prefix of request 3 must name none or all 3"):
        simulate([one], pool(9))
    with pytest.raises(ValueError, match="slack must be at least 0 request, got -1"):
        PrefixAware(-1)
