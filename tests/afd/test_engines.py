"""Two engines, one log; and what no engine may break."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Barrier, Load, bundle
from llmserve_lab.afd.simulation.event_simulator import Machine, State, replay
from llmserve_lab.afd.simulation.length_distributions import STEPS, Independent, Uniform
from llmserve_lab.afd.simulation.ratio_sweep import ladder
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from tests.afd.bundles import LAW, drawn, ran, times

RATES = ("completed_per_s", "tokens_per_s", "generated_per_s")
METRICS = (*RATES, "tpot_s", "idle_attn", "idle_ffn")
SEEDS = range(60)


def played(seed: int) -> tuple[BundleRun, Machine, BundleRun]:
    """A random bundle on the fast engine, then its requests on the machine."""
    made, load = drawn(random.Random(seed))
    run = ran(made, load, seed)
    machine = replay(run)
    return run, machine, machine.run(len(run.ffn_end))


@pytest.mark.parametrize("seed", SEEDS)
def test_both_engines_write_the_same_log(seed: int) -> None:
    run, _, reference = played(seed)
    for column in ("attn_s", "attn_end", "ffn_end"):
        one, other = getattr(run, column), getattr(reference, column)
        np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=column)
    assert run.end == reference.end
    for name in METRICS:
        one, other = getattr(run, name), getattr(reference, name)
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_a_batch_goes_through_six_states_and_is_never_in_two(seed: int) -> None:
    run, machine, _ = played(seed)
    order = list(State)
    for batch in range(run.bundle.n_batches):
        states = [state for _, b, state in machine.log if b == batch]
        assert states == [order[i % 6] for i in range(len(states))]
    for batch in range(run.bundle.n_batches):
        ends = [(a, b) for own, _, a, b in machine.stays() if own == batch]
        assert all(one[1] == two[0] for one, two in itertools.pairwise(ends))


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_every_slot_is_always_full(seed: int) -> None:
    """At every step as many requests are there as there are slots."""
    run, *_ = played(seed)
    r, slots = run.requests, run.bundle.batch
    for batch, instance in {*zip(r.batch.tolist(), r.instance.tolist(), strict=True)}:
        own = r.take(np.flatnonzero((r.batch == batch) & (r.instance == instance)))
        steps = int(run.end // run.bundle.n_batches)
        there = [((own.first <= k) & (own.last >= k)).sum() for k in range(steps)]
        assert set(there) <= {slots}


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_tokens_in_are_tokens_out(seed: int) -> None:
    """What slots produced is what requests took along and what is still in them."""
    run, *_ = played(seed)
    r, k = run.requests, int(run.end // run.bundle.n_batches)
    own = r.take(np.flatnonzero(r.batch == 0))
    begun = own.first < k
    length = STEPS[run.load.steps](own.decode) - own.age
    gone = begun & (own.last < k)
    produced = k * run.bundle.batch * run.bundle.n_attn
    left = (k - own.first)[begun & ~gone].sum()
    assert length[gone].sum() + left == produced


def test_the_load_of_a_batch_is_what_its_slots_hold() -> None:
    run, *_ = played(5)
    r = run.requests
    own = r.take(np.flatnonzero((r.batch == 0) & (r.instance == 0)))
    for k in range(len(run.attn_s) // run.bundle.n_batches):
        there = (own.first <= k) & (own.last >= k)
        held = (own.prompt + own.age + k - own.first)[there].sum()
        step = k * run.bundle.n_batches
        assert run.attn_s[step, 0] == pytest.approx(run.bundle.attn(held))


def test_equal_loads_run_at_the_exact_period() -> None:
    """Answers of one length that start together never differ between instances."""
    for seed in range(5):
        rng = random.Random(seed)
        known, m = times(rng), rng.randint(2, 4)
        made = bundle(known, batch=3, n_attn=2, n_batches=m)
        still = replace(made, attn=replace(made.attn, slope=1e-12))  # any load alike
        load = Load(law=Independent(Uniform(4, 4), Uniform(9, 9)), n_requests=300)
        back = ran(still, load, seed).back
        period = (back[-1] - back[-1 - 40 * m]) / (40 * m)
        exact = f.PIPELINE_S.at(
            known | {"a_attn": 1e-12, "af_ratio": 2.0, "batch": 3.0},
            n_batches=m,
            slot_tokens=8.5,
        )
        assert period == pytest.approx(float(exact), rel=1e-6)


def test_littles_law_holds() -> None:
    """Requests in the bundle = completions per second × mean time in the bundle."""
    made = bundle(times(random.Random(1)), batch=8, n_attn=3, n_batches=2)
    run = simulate(made, Load(law=LAW, n_requests=4000, start="stationary"), seed=1)
    r, m = run.requests, made.n_batches
    inside = np.flatnonzero((r.first > 0) & (run.done < run.end))
    begun = run.back[(r.first[inside] - 1) * m + r.batch[inside]]
    spent = run.back[run.done[inside]] - begun
    rate = len(inside) / run.total_s
    assert rate * spent.mean() == pytest.approx(8 * 3 * 2, rel=0.02)


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    made, load = drawn(random.Random(8))
    one, same, other = (ran(made, load, seed).ffn_end for seed in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()


def test_an_instance_serves_the_same_requests_whoever_else_there_is() -> None:
    """Curves over r share their instances, so they differ in r alone."""
    made, load = bundle(times(random.Random(2)), batch=4, n_batches=2), LAW
    few, many = (
        ran(replace(made, n_attn=n), Load(law=load, n_requests=200), 5) for n in (2, 5)
    )
    steps = min(len(few.attn_s), len(many.attn_s))
    np.testing.assert_allclose(few.attn_s[:steps], many.attn_s[:steps, :2])


@pytest.mark.parametrize("barrier", ["instance", "stage"])
def test_a_ladder_is_its_single_bundles(barrier: Barrier) -> None:
    known = times(random.Random(4))
    made = bundle(known, batch=8, n_batches=2, barrier=barrier)
    load = Load(law=LAW, n_requests=6000, start="stationary")
    found = ladder(made, load, most=3, seed=1)
    for r in (1, 2, 3):
        alone = simulate(replace(made, n_attn=r), load, seed=2)
        assert found.tokens_per_s[r - 1] == pytest.approx(alone.tokens_per_s, rel=0.03)
        assert found.idle_ffn[r - 1] == pytest.approx(alone.idle_ffn, abs=0.02)
        assert found.idle_attn[r - 1] == pytest.approx(alone.idle_attn, abs=0.02)


def test_a_machine_runs_once_and_as_long_as_its_buffer() -> None:
    run, machine, _ = played(1)
    with pytest.raises(ValueError, match="run must be called once"):
        machine.run(3)
    with pytest.raises(ValueError, match="buffer must outlast the run, got none left"):
        replay(run).run(100_000)


def test_slots_are_vacated_in_the_order_of_the_buffer() -> None:
    run, machine, reference = played(9)
    first = run.requests.fcfs().first
    assert (np.diff(first) >= 0).all()
    served = reference.requests
    taken = Counter(zip(served.prompt.tolist(), served.decode.tolist(), strict=True))
    offered = Counter(
        zip(run.requests.prompt.tolist(), run.requests.decode.tolist(), strict=True)
    )
    assert taken <= offered and len(machine.buffer) < len(run.requests)
