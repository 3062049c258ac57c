"""Drafts in the engine: against a slow twin, against the law, and refusals."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from llmserve_lab.engine import (
    Acceptance,
    Chunked,
    IterationCost,
    IterationLoad,
    Pool,
    Request,
    Speculation,
    Static,
    execute,
    simulate,
)
from llmserve_lab.transformer import Transformer, tiny_shape
from tests.engine.scenarios import cost, scenario
from tests.engine.slow_drafts import slow_drafts

COST = IterationCost(row_s=1e-5, weights_s=5e-3, kv_token_s=4e-8, overhead_s=2e-3)


def speculation(draw: Random) -> Speculation:
    model = replace(cost(draw), row_s=1e-4) if draw.random() < 0.6 else None
    law = Acceptance(draw.uniform(0, 1), draw.choice([1.0, 0.8]))
    return Speculation(draw.randint(1, 5), law, model, seed=draw.randint(0, 9))


def open_scenarios() -> list[tuple[int, Pool]]:
    """Scenarios with one pool of iteration-level scheduling, without clients."""
    found = []
    for seed in range(160):
        given = scenario(seed)
        pool = given.deployment
        if given.clients or not isinstance(pool, Pool) or pool.policy.static_batch:
            continue
        pool = replace(pool, speculation=speculation(Random(seed)))
        if type(pool.policy).__name__ != "ChunkedWithin":
            found.append((seed, pool))
    return found


def test_the_slow_twin_has_the_same_times() -> None:
    preempted = 0
    for seed, pool in open_scenarios():
        given = scenario(seed)
        report, lives = simulate(given.requests, pool), slow_drafts(given, pool)
        twins = [lives[int(number)] for number in report.id]
        assert len(twins) == len(given.requests)
        expected: dict[str, list[float]] = {
            "first_token_s": [life.token_times_s[0] for life in twins],
            "last_token_s": [life.token_times_s[-1] for life in twins],
            "preemptions": [life.preemptions for life in twins],
        }
        for name, values in expected.items():
            np.testing.assert_allclose(
                getattr(report, name), values, atol=1e-9, err_msg=f"{name}, {seed}"
            )
        preempted += sum(life.preemptions for life in twins)
    assert preempted > 10


@pytest.mark.parametrize("law", [Acceptance(0.8), Acceptance(0.9, 0.8)])
@pytest.mark.parametrize("n_draft", [1, 4])
def test_tokens_of_a_pass_follow_the_law(law: Acceptance, n_draft: int) -> None:
    long = 6000
    requests = [
        Request(arrival_s=0, prompt_len=1, output_len=long, id=i) for i in range(4)
    ]
    pool = Pool(COST, Chunked(64), kv_blocks=10_000)
    report = simulate(requests, replace(pool, speculation=Speculation(n_draft, law)))
    passes = report.gaps.count / len(requests)
    assert (long - 1) / passes == pytest.approx(law.tokens(n_draft), rel=0.03)


def test_what_a_request_keeps_does_not_depend_on_its_company() -> None:
    law = Speculation(3, Acceptance(0.7))
    pool = Pool(COST, Chunked(64), kv_blocks=10_000, speculation=law)

    def passes(count: int) -> int:
        requests = [
            Request(arrival_s=0, prompt_len=9, output_len=50, id=i)
            for i in range(count)
        ]
        return simulate(requests, pool).gaps.count

    assert passes(1) + sum(passes(n + 1) - passes(n) for n in (1, 2)) == passes(3)


def test_drafts_that_are_never_kept_only_cost() -> None:
    requests = [Request(arrival_s=0, prompt_len=9, output_len=50, id=0)]
    pool = Pool(COST, Chunked(64), kv_blocks=99)
    drafting = replace(pool, speculation=Speculation(4, Acceptance(0.0), COST))
    plain, slower = (simulate(requests, each) for each in (pool, drafting))
    assert slower.gaps.count == plain.gaps.count == 49
    assert slower.elapsed_s > 4 * plain.elapsed_s


def test_all_kept_takes_as_few_passes_as_can_be() -> None:
    requests = [Request(arrival_s=0, prompt_len=9, output_len=51, id=0)]
    sure = Speculation(4, Acceptance(1.0))
    pool = Pool(COST, Chunked(64), kv_blocks=99, speculation=sure)
    assert simulate(requests, pool).gaps.count == 10  # 50 tokens in fives


def test_the_verification_pass_has_a_row_more_for_each_draft() -> None:
    two = IterationLoad.of(chunk=1, context=10).plus(
        IterationLoad.of(chunk=1, context=30)
    )
    found = Speculation(3, Acceptance(0.5)).verification(two)
    asked = [IterationLoad.of(chunk=4, context=each) for each in (10, 30)]
    assert found == asked[0].plus(asked[1])._replace(prompts=0)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: Speculation(0, Acceptance(0.5)),
            "n_draft must be at least 1 draft, got 0",
        ),
        (lambda: Acceptance(1.2), r"rate must be in \[0, 1\], got 1.2"),
        (lambda: Acceptance(0.5, -0.1), r"falls must be in \[0, 1\], got -0.1"),
        (lambda: Acceptance(float("nan")), r"rate must be in \[0, 1\], got nan"),
        (lambda: Acceptance(0.5).chance(0), "position must be at least 1, got 0"),
        (lambda: Acceptance(0.5).survival(10**9), "position must be at most 1,024"),
        (lambda: Acceptance(0.5).tokens(10**9), "n_draft must be at most 1,024"),
        (
            lambda: Pool(COST, Static(4), speculation=Speculation(2, Acceptance(0.5))),
            "policy must schedule iteration by iteration to verify drafts",
        ),
    ],
)
def test_refusals(build, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=says):
        build()


MODEL, SMALLER = Transformer(tiny_shape(), seed=3), Transformer(tiny_shape(n_layers=1))


@pytest.mark.parametrize("draft", [MODEL, SMALLER], ids=["itself", "smaller"])
@pytest.mark.parametrize("blocks", [60, 5])
def test_a_real_draft_leaves_every_token_as_it_was(
    draft: Transformer, blocks: int
) -> None:
    """The model verifies real drafts under the scheduler, preempted or not."""
    draw = Random(5)
    requests = [
        Request(
            arrival_s=0.01 * i,
            prompt_len=draw.randint(2, 30),
            output_len=draw.randint(1, 20),
            id=i,
        )
        for i in range(6)
    ]
    prompts = {
        r.id: [draw.randrange(61) for _ in range(r.prompt_len)] for r in requests
    }
    plain = Pool(COST, Chunked(24), kv_blocks=blocks)
    pool = replace(plain, speculation=Speculation(3, Acceptance(0.0)))
    done = execute(MODEL, requests, prompts, pool, draft=draft)
    without = execute(MODEL, requests, prompts, plain)
    assert done.tokens == without.tokens
    assert all(len(done.tokens[r.id]) == r.output_len for r in requests)
    fewer = len(done.passes) / len(without.passes)
    assert fewer < (0.6 if draft is MODEL else 1.01)
    assert done.report.preemptions.sum() > 0 or blocks > 5


def test_a_draft_is_needed_to_execute_drafts() -> None:
    request = Request(arrival_s=0, prompt_len=2, output_len=2, id=0)
    pool = Pool(
        COST, Chunked(8), kv_blocks=9, speculation=Speculation(2, Acceptance(0.5))
    )
    with pytest.raises(ValueError, match="draft must be a model to speculate with"):
        execute(MODEL, [request], {0: [1, 2]}, pool)
