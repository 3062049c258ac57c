"""Terms that a real server adds: requests, launches, experts, budgets and waits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab import catalog
from llmserve_lab.collectives.formulas import TOUCHED_EXPERTS
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    ContinuousWithBudget,
    IterationCost,
    IterationLoad,
    Policy,
    Pool,
    Report,
    Request,
    simulate,
)

H100 = catalog.accelerator("h100-sxm")
NVLINK = catalog.link("nvlink4")
PLAIN = IterationCost.of(catalog.model("llama-3-8b"), H100)
SERVED = replace(
    PLAIN, overlap=0.5, request_s=3e-5, prompt_s=8e-3, attention_apart=True
)
DEEPSEEK = catalog.model("deepseek-v3")
EXPERTS = IterationCost.of(DEEPSEEK, H100, precision="fp8", tp=8, link=NVLINK)
shares = st.floats(0, 1)
lengths = st.integers(1, 300)


def requests(sizes: list[tuple[int, int]]) -> list[Request]:
    return [
        Request(arrival_s=0.0, prompt_len=prompt, output_len=output, id=number)
        for number, (prompt, output) in enumerate(sizes)
    ]


def serve(
    sizes: list[tuple[int, int]],
    policy: Policy,
    cost: IterationCost = SERVED,
    *,
    leap: bool = True,
    log: bool = False,
) -> Report:
    pool = Pool(cost, policy, kv_blocks=200)
    return simulate(requests(sizes), pool, clients=3, leap=leap, log=log)


def test_each_request_and_a_launch_are_paid_for() -> None:
    decodes = IterationLoad(5, 505, 500, 5)
    prompt = IterationLoad.of(chunk=100)
    paid = replace(PLAIN, request_s=1e-3, prompt_s=1.0)
    assert paid.seconds(decodes) == pytest.approx(PLAIN.seconds(decodes) + 5e-3)
    assert paid.seconds(decodes.plus(prompt)) == pytest.approx(
        PLAIN.seconds(decodes.plus(prompt)) + 6e-3 + 1.0
    )


def test_attention_apart_hides_nothing_of_attention() -> None:
    load = IterationLoad(64, 64 * 4_001, 64 * 4_000, 64)
    apart = replace(PLAIN, attention_apart=True)
    attention_s = load.pairs * PLAIN.pair_s + load.kv_tokens * PLAIN.kv_token_s
    assert apart.seconds(load) == pytest.approx(PLAIN.weights_s + attention_s)
    assert apart.seconds(load) > PLAIN.seconds(load)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(lengths, lengths), min_size=4, max_size=9), shares)
def test_leaps_take_the_times_of_single_iterations(
    sizes: list[tuple[int, int]], overlap: float
) -> None:
    cost = replace(SERVED, overlap=overlap, experts_s=0.01, expert_miss=0.9)
    waiting = ContinuousWithBudget(
        max_num_batched_tokens=400, batch_wait=7, reserve_output=True
    )
    for policy in (waiting, replace(waiting, reserve_output=False), Chunked(64)):
        leaps = serve(sizes, policy, cost)
        steps = serve(sizes, policy, cost, leap=False)
        for name in ("id", "first_token_s", "last_token_s"):
            assert getattr(leaps, name) == pytest.approx(getattr(steps, name))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(lengths, lengths), min_size=4, max_size=9), st.booleans())
def test_no_iteration_has_more_rows_than_its_budget(
    sizes: list[tuple[int, int]], mixed: bool
) -> None:
    policy = ContinuousWithBudget(
        mixed=mixed, max_num_batched_tokens=310, reserve_output=True
    )
    report = serve(sizes, policy, log=True)
    assert report.num_requests == len(sizes)
    assert report.log is not None
    assert max(step.load.rows for step in report.log) <= 310


def test_a_budget_that_never_binds_changes_nothing() -> None:
    sizes = [(100 + 7 * number, 50 + number) for number in range(12)]
    free = serve(sizes, Continuous(reserve_output=True))
    bound = ContinuousWithBudget(reserve_output=True, max_num_batched_tokens=10_000)
    np.testing.assert_array_equal(free.finished_s, serve(sizes, bound).finished_s)


def test_a_prompt_longer_than_the_budget_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"request 0 must have at most .* = 64 .* 65"):
        serve([(65, 3)], ContinuousWithBudget(max_num_batched_tokens=64))


UNIT = IterationCost(overhead_s=1.0)  # time counts iterations


def late(arrivals: list[float], policy: Policy, prompt: int = 10) -> list[float]:
    """In units of iterations: one request decodes from 0 on, others come later."""
    others = [
        Request(arrival_s=at, prompt_len=prompt, output_len=5, id=number)
        for number, at in enumerate(arrivals, start=1)
    ]
    first = Request(arrival_s=0.0, prompt_len=10, output_len=500, id=0)
    report = simulate([first, *others], Pool(UNIT, policy, kv_blocks=1_000))
    order = np.argsort(report.id)
    return [float(at) for at in report.scheduled_s[order][1:]]


def test_a_lone_prompt_waits_its_iterations_out() -> None:
    waits = ContinuousWithBudget(max_num_batched_tokens=100, batch_wait=20)
    assert late([50.0], waits) == [70.0]
    assert late([50.0], replace(waits, batch_wait=0)) == [50.0]


def test_company_of_nine_tenths_of_the_budget_ends_the_wait() -> None:
    waits = ContinuousWithBudget(max_num_batched_tokens=100, batch_wait=20)
    assert late([50.0, 55.0], waits, prompt=40) == [70.0, 70.0]  # 80 rows and a decode
    assert late([50.0, 55.0], waits, prompt=45) == [55.0, 55.0]  # 90 and a decode


def test_nobody_waits_where_nobody_decodes() -> None:
    waits = ContinuousWithBudget(max_num_batched_tokens=100, batch_wait=20)
    pool = Pool(UNIT, waits, kv_blocks=1_000)
    assert simulate(requests([(10, 3)]), pool).scheduled_s == [0.0]


@given(
    st.integers(0, 300),
    st.integers(0, 5_000),
    st.floats(1e-3, 0.2),
    st.sampled_from([SERVED, EXPERTS, replace(EXPERTS, request_s=1e-4, overlap=0.3)]),
)
def test_the_chunk_that_fits_is_the_largest(
    decodes: int, context: int, target_s: float, cost: IterationCost
) -> None:
    load = IterationLoad(decodes, decodes * 101, decodes * 100, decodes)
    chunk = cost.chunk_within(target_s, load=load, context=context)
    with_it = [
        cost.seconds(load.plus(IterationLoad.of(chunk=rows, context=context)))
        for rows in (chunk, chunk + 1)
    ]
    if chunk > 1:
        assert with_it[0] <= target_s * (1 + 1e-9)
    if chunk > 0:
        assert with_it[1] >= target_s * (1 - 1e-9)


@given(st.integers(1, 2_000))
def test_experts_are_read_as_far_as_rows_touch_them(rows: int) -> None:
    touched = float(TOUCHED_EXPERTS(n_experts=256, top_k=8, n_rows=rows))
    expected = EXPERTS.weights_s + EXPERTS.experts_s * touched / 256
    assert EXPERTS.read_s(rows) == pytest.approx(expected)


def test_one_request_needs_few_experts_and_no_table() -> None:
    """Reading everything, a single request would pay for 256 experts a layer."""
    every = IterationCost.of(
        DEEPSEEK, H100, precision="fp8", tp=8, link=NVLINK, weights_read="all"
    )
    assert every.read_s(1) > 15 * EXPERTS.read_s(1)
    table_s = DEEPSEEK.vocab * DEEPSEEK.d_model / 8 / float(H100.hbm_bw)
    everything_s = EXPERTS.weights_s + EXPERTS.experts_s
    assert everything_s == pytest.approx(every.weights_s - table_s)


def test_half_the_bits_compute_root_two_as_fast_at_an_exponent_of_a_half() -> None:
    model = catalog.model("llama-3-8b")
    half, whole = (
        IterationCost.of(model, H100, precision="fp8", precision_exponent=each).row_s
        for each in (0.5, 1.0)
    )
    assert half / whole == pytest.approx(2**0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "tp", "published"),
    [("llama-2-7b", 1, 7_463), ("llama-3-70b", 4, 30_251)],
)
def test_blocks_are_those_that_vllm_counted(
    model: str, tp: int, published: int
) -> None:
    cost = IterationCost.of(
        catalog.model(model), H100, tp=tp, link=NVLINK, usable_memory=True
    )
    assert cost.kv_blocks(reserved_bytes=1.33e9) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize(
    ("key", "gib"), [("h100-sxm", 79.19), ("h200-sxm", 139.80), ("b200-sxm", 178.35)]
)
def test_the_memory_that_the_driver_shows_read_a_second_time(
    key: str, gib: float
) -> None:
    assert float(catalog.accelerator(key).usable_bytes) == gib * 2**30


def test_memory_that_no_driver_is_known_for_is_an_estimate() -> None:
    assert catalog.accelerator("h200-sxm").usable_bytes.kind == "measured"
    guess = catalog.accelerator("mi300x").usable_bytes
    assert guess.kind == "estimate"
    known = [
        float(each.usable_bytes) / float(each.hbm_bytes)
        for each in catalog.ACCELERATORS.values()
        if each.disclosed and each.driver_bytes is not None
    ]
    assert float(guess) / 192e9 == pytest.approx(min(known))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens must be at least 1"),
        (
            {"wait_until_full": 0.0, "max_num_batched_tokens": 9},
            r"wait_until_full must be in \(0, 1\]",
        ),
        (
            {"batch_wait": -1, "max_num_batched_tokens": 9},
            "batch_wait must be at least",
        ),
    ],
)
def test_policies_refuse_by_name(fields: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ContinuousWithBudget(**fields)  # type: ignore[arg-type]


def test_costs_refuse_by_name() -> None:
    with pytest.raises(ValueError, match=r"expert_miss must be in \[0, 1\]"):
        replace(PLAIN, expert_miss=1.5)
    with pytest.raises(ValueError, match="weights_read must be"):
        IterationCost.of(DEEPSEEK, H100, weights_read="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reserved_bytes must be"):
        PLAIN.kv_blocks(reserved_bytes=-1.0)
