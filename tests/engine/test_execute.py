"""What the model says does not depend on the policy, only on when it says it."""

from random import Random

import numpy as np
import pytest

from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    Disaggregated,
    IterationCost,
    Policy,
    Pool,
    PrefixCache,
    Request,
    Static,
)
from llmserve_lab.engine.execute import execute
from llmserve_lab.transformer import Transformer, generate, tiny_shape

MODEL = Transformer(tiny_shape(), seed=3)
COST = IterationCost(row_s=1e-3, pair_s=1e-5, weights_s=4e-3, kv_token_s=1e-5)
DRAW = Random(11)
REQUESTS = [
    Request(
        arrival_s=0.02 * number,
        prompt_len=DRAW.randint(1, 40),
        output_len=DRAW.randint(1, 12),
        id=number,
    )
    for number in range(8)
]
PROMPTS = {
    each.id: [DRAW.randrange(MODEL.shape.vocab) for _ in range(each.prompt_len)]
    for each in REQUESTS
}
ALONE = {
    each.id: tuple(int(t) for t in generate(MODEL, PROMPTS[each.id], each.output_len))
    for each in REQUESTS
}
POLICIES = (
    Static(3),
    Continuous(),
    Continuous(mixed=False),
    Chunked(7),
    ChunkedWithin(0.02, least=2),
)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_the_tokens_are_the_same_under_every_policy(policy: Policy) -> None:
    assert execute(
        MODEL, REQUESTS, PROMPTS, Pool(COST, policy, kv_blocks=30)
    ).tokens == (ALONE)


def test_the_tokens_survive_preemption() -> None:
    executed = execute(MODEL, REQUESTS, PROMPTS, Pool(COST, Chunked(16), kv_blocks=5))
    assert executed.report.preemptions.any()
    assert executed.tokens == ALONE


def test_the_tokens_survive_the_way_from_pool_to_pool() -> None:
    split = Disaggregated(
        prefill=Pool(COST, Chunked(16), kv_blocks=30),
        decode=Pool(COST, Continuous(), kv_blocks=30),
        bytes_per_s=1e3,
    )
    assert execute(MODEL, REQUESTS, PROMPTS, split).tokens == ALONE


def test_a_pass_carries_what_the_trace_says() -> None:
    executed = execute(MODEL, REQUESTS, PROMPTS, Pool(COST, Chunked(7), kv_blocks=30))
    assert executed.report.iterations == len(executed.passes)
    rows = np.array([sum(each.rows for each in one) for one in executed.passes])
    assert rows.max() == 7
    assert any({each.rows for each in one} > {1} for one in executed.passes)  # mixed
    log = executed.report.log
    assert log is not None
    assert [frame.running for frame in log.frames()] == list(executed.passes)


def test_what_does_not_fit_together_is_refused() -> None:
    pool = Pool(COST, Chunked(7), kv_blocks=30)
    with pytest.raises(ValueError, match="request 0 must have"):
        execute(MODEL, REQUESTS, {**PROMPTS, 0: []}, pool)
    with pytest.raises(ValueError, match="prompts must hold one for request 0"):
        execute(MODEL, REQUESTS, {}, pool)
    shared = Pool(
        COST, Chunked(7), kv_blocks=30, prefix_cache=PrefixCache(capacity_tokens=999)
    )
    with pytest.raises(ValueError, match="requests must have an id each"):
        execute(MODEL, [*REQUESTS, REQUESTS[0]], PROMPTS, pool)
    with pytest.raises(ValueError, match="must not share prefixes"):
        execute(MODEL, REQUESTS, PROMPTS, shared)
