"""What a reader should take away from the chapter, each a test on simulations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.random_settings import (
    FLIGHTS,
    compare,
    drawn,
    flat,
    off_by,
    rule_errors,
)
from llmserve_lab.afd.experiments.replications import LAWS, Study, study
from llmserve_lab.afd.simulation.bundle import Barrier
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Law,
    Uniform,
)
from llmserve_lab.afd.simulation.pipeline import pipeline
from llmserve_lab.afd.simulation.run import SHARE
from llmserve_lab.afd.theory import corrected_model, finite_run

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"n_requests": 600, "seeds": (0,)}


def tops(law: Law, *, batch: int = 256) -> int:
    """The best whole ratio, simulated."""
    made = paper_setup.made(1, batch=batch)
    found = study(made, law, most=20, n_requests=600, seeds=(0,))
    return 1 + int(np.argmax(found.mean("tokens_per_s")))


def test_the_best_ratio_grows_with_context_and_batch() -> None:
    by_batch = [tops(paper_setup.law(), batch=batch) for batch in (64, 256, 1024)]
    assert by_batch == sorted(by_batch) and by_batch[0] < by_batch[-1]
    by_prompt = [tops(paper_setup.law(prompt=prompt)) for prompt in (10, 100, 400)]
    assert by_prompt == sorted(by_prompt) and by_prompt[0] < by_prompt[-1]


def test_a_slot_holds_what_its_long_requests_make_it_hold() -> None:
    """Laws with the same means: θ predicts where Attention rules, the means do not."""
    for law in LAWS.values():
        one = study(paper_setup.made(1), law, most=1, n_requests=600, seeds=(0, 1))
        seen = one.mean("tokens_per_s")[0]
        assert one.paper[0] == pytest.approx(seen, rel=0.03)
    thetas = [law.slot().theta for law in LAWS.values()]
    assert max(thetas) > 1.5 * min(thetas)


def constant(wire_s: float, n_batches: int) -> float:
    """Period of two equal stages of one second with a wire between them."""
    ends = pipeline(
        np.ones((400, 1)), 1.0, wire_s, n_batches=n_batches, barrier="instance"
    )[1]
    return float(ends[-1] - ends[-101]) / 100


def test_two_batches_hide_nothing_and_three_hide_attention() -> None:
    assert constant(0.0, 2) == pytest.approx(1)
    assert constant(0.1, 2) == pytest.approx(1.05)
    assert constant(1.0, 3) == pytest.approx(1)
    assert constant(1.1, 3) > 1.03
    assert constant(2.0, 4) == pytest.approx(1)


def test_stragglers_cost_most_at_balance() -> None:
    """Against equal loads: nothing where the FFN rules, most near the best ratio."""
    one = study(
        paper_setup.made(1), paper_setup.law(), most=32, n_requests=800, seeds=(0, 1)
    )
    known = paper_setup.known() | {"slot_tokens": 600.0}
    equal = f.PIPELINE_TOKENS_PER_S.at(known, af_ratio=one.ratios, n_batches=2)
    cost = 1 - one.mean("tokens_per_s") / equal
    assert abs(cost[-1]) < 1e-3 and cost.max() > 0.03
    assert 5 <= one.ratios[np.argmax(cost)] <= 12
    # They do not move the best whole ratio of the example.
    best = [one.ratios[np.argmax(rate)] for rate in (equal, one.mean("tokens_per_s"))]
    assert best == [8, 8]


def test_counting_completed_requests_loses_the_tokens_in_flight() -> None:
    run = paper_setup.figure_4(2)
    share = run.completed_per_s / run.tokens_per_s
    known = paper_setup.known()
    measured = {"n_requests": paper_setup.REQUESTS, "measured_share": SHARE}
    promised = f.COUNTED_SHARE.at(known, measured, n_batches=2)
    assert share == pytest.approx(float(promised), abs=0.01)
    assert share < 0.95


def errors(one: Study) -> float:
    """Worst error of the rule over ratios."""
    return float(np.abs(one.errors()[1]).max())


@pytest.mark.parametrize("barrier", ["instance", "stage"])
@pytest.mark.parametrize("number", [5, 7])
def test_the_rule_predicts_the_simulation(number: int, barrier: Barrier) -> None:
    made, law = drawn(number)
    for m in (2, 3):
        made = replace(made, n_batches=m, barrier=barrier)
        one = study(made, law, most=24, n_requests=1000, seeds=(0,))
        assert errors(one) < 0.03


def test_the_rule_predicts_a_run_with_its_start() -> None:
    """The paper's run, by both ways to count; in steady state it would be too slow."""
    load = paper_setup.served()
    for r in (2, 8):
        run, made = paper_setup.figure_4(r), paper_setup.made(r)
        all_slots = float(finite_run.tokens_per_s(made, load))
        counted = float(finite_run.completed_per_s(made, load))
        assert all_slots == pytest.approx(run.tokens_per_s, rel=0.015)
        assert counted == pytest.approx(run.completed_per_s, rel=0.015)
        assert (
            corrected_model.tokens_per_s(made, load.law.slot())
            < 0.985 * run.tokens_per_s
        )


def test_slots_fill_up_by_the_recursion() -> None:
    load, known = paper_setup.served(), paper_setup.known(batch=1)
    for step in (0, 3, 400):
        held = f.STEP_LOAD.at(known, step_index=step)
        theta = finite_run.slot_after(load, step).theta
        assert theta == pytest.approx(float(held), rel=1e-9)


def test_a_few_slots_are_lopsided_and_the_rule_knows() -> None:
    """Nine slots of heavy-tailed requests: as Gaussian loads they would be too good."""
    made, law = drawn(29)
    one = study(made, law, most=16, n_requests=1000, seeds=(0,))
    even = corrected_model.tokens_per_s(
        made, replace(law.slot(), third=0.0), one.ratios
    )
    too_good = (even / one.mean("tokens_per_s") - 1).max()
    assert made.batch == 9
    assert errors(one) < 0.02 < too_good


def test_the_rule_beats_the_paper_s_form_where_it_matters() -> None:
    found = [compare(number=n, n_batches=2, n_requests=800) for n in (7, 10)]
    ours, theirs = (np.abs([a[w] for a in found]).max() for w in ("ours", "paper"))
    assert ours < 0.03 and ours < theirs
    assert all(abs(a["best"][1] - a["best"][0]) <= 1 or a["flat"] for a in found)


def recorded() -> dict[str, float]:
    """Numbers of the long sweep over a thousand bundles, by what they are called."""
    lines = (ROOT / "benchmarks" / "afd_rule.jsonl").read_text("utf8").splitlines()
    return {each["what"]: each["value"] for each in map(json.loads, lines)}


@pytest.mark.long
@pytest.mark.parametrize("number", range(0, 20, 4))  # a law of every kind
def test_the_long_sweep_recorded_what_its_settings_give(number: int) -> None:
    """A few of its thousand settings, run again as it ran them."""
    long, m = recorded(), FLIGHTS[number % len(FLIGHTS)]
    found = compare(number=number, n_batches=m)
    for whose, name in (("ours", "ours"), ("paper", "the paper's")):
        worst = long[f"AFD rule, {name}: worst of 32000 throughputs"]
        far = long[f"AFD rule, {name}: best ratio off by, 555 sharp tops"]
        assert np.abs(found[whose]).max() <= 1.02 * worst  # kept to two digits
        assert off_by([found], whose) <= far


def test_a_flat_top_has_no_best_ratio() -> None:
    assert flat([1, 2, 2.999, 3, 2.999, 2.99])
    assert not flat([1, 2, 3, 2, 1])
    found = rule_errors(numbers=[7], n_requests=50)
    assert found.n_bundles == len(FLIGHTS) and len(found.rules) == 2
    for each in found.rules:
        assert list(each.sizes.values()) == sorted(each.sizes.values())


def test_a_hidden_wire_gives_two_batches_back_what_they_lost() -> None:
    law = Independent(Uniform(100, 100), Geometric(500, least=0)).slot()
    on_loop, hidden = (
        corrected_model.tokens_per_s(paper_setup.made(9, comm=comm), law)
        for comm in ("loop", "hidden")
    )
    assert hidden > on_loop * 1.01
