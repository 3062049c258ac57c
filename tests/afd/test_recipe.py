"""The recipe, whole machines, fitted lines, and numbers that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.replications import study
from llmserve_lab.afd.formulas import derivation
from llmserve_lab.afd.simulation.bundle import Load, ascend, bundle
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    SlotLaw,
    Uniform,
)
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.afd.theory.calibration import fit
from llmserve_lab.afd.theory.coefficients import (
    fitted_table,
    layer,
    slopes,
    slopes_table,
)
from llmserve_lab.afd.theory.paper_recipe import pairs, recipe
from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.catalog.records.accelerator import Undisclosed
from llmserve_lab.catalog.records.ffn import MoeFfn

MANY = 3000
FLAT = SlotLaw(steps=501, theta=600, variance=1e-12, third=0)
BUNDLE, STILL = paper_setup.made(1), paper_setup.served(start="stationary")
RATIOS = np.geomspace(0.02, 2000, 400)[:, None]


def many(seed: int) -> dict[str, object]:
    """Three thousand bundles at once, each coefficient over four decades."""
    rng = np.random.default_rng(seed)
    spread = {name: 10 ** rng.uniform(-2, 2, MANY) for name in ascend()}
    size = {"batch": 10 ** rng.uniform(0, 3, MANY), "slot_tokens": 10.0}
    return spread | size


def test_no_search_beats_the_theorem() -> None:
    known = many(1)
    searched = f.INSTANCE_TOKENS_PER_S.at(known, af_ratio=RATIOS).max(axis=0)
    promised = f.BEST_TOKENS_PER_S.at(known)
    assert (searched <= promised * (1 + 1e-12)).all()
    assert np.median(searched / promised) > 0.999  # and the search is a fine one


@pytest.mark.parametrize("n_batches", [2, 3, 5])
def test_no_search_beats_the_loop_s_own_theorem(n_batches: int) -> None:
    known = many(2) | {"n_batches": n_batches}
    searched = f.PIPELINE_TOKENS_PER_S.at(known, af_ratio=RATIOS).max(axis=0)
    best = f.RATIO_PIPELINE.at(known)
    promised = f.PIPELINE_TOKENS_PER_S.at(known, af_ratio=best)
    assert (searched <= promised * (1 + 1e-9)).all()


def test_the_recipe_is_its_three_numbers() -> None:
    advice = recipe(paper_setup.known())
    assert advice.best == pytest.approx(advice.ratio_attn)
    assert advice.ratio_attn > advice.ratio_peak > advice.ratio_comm
    assert advice.limits == "Attention"
    assert recipe(paper_setup.known(answer=100)).limits == "FFN"
    assert "Attention decides" in repr(advice.table())


def test_whole_machines_come_closer_the_more_there_are() -> None:
    found = pairs(paper_setup.known(), most_ffn=7)
    losses = [pair.loss for pair in found]
    assert losses == sorted(losses, reverse=True) and 0 <= losses[-1] < 1e-3
    assert [str(pair) for pair in found][:2] == ["9A–1F", "19A–2F"]
    with pytest.raises(ValueError, match="most_ffn must be at least 1 instance, got 0"):
        pairs(paper_setup.known(), most_ffn=0)


def test_a_bundle_of_two_ffns_is_a_bundle_of_half_the_ratio() -> None:
    """7A–2F simulated: between 3A–1F and 4A–1F, at the same instances."""
    load = Load(law=paper_setup.law(answer=50), n_requests=3000, start="stationary")
    rates = [
        simulate(paper_setup.made(x, n_ffn=y, batch=64), load, seed=3).tokens_per_s
        for x, y in ((3, 1), (7, 2), (4, 1))
    ]
    assert min(rates[0], rates[2]) * 0.98 < rates[1] < max(rates[0], rates[2]) * 1.02


def test_a_fitted_line_holds_the_truth_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(4), 0
    for _ in range(200):
        x = rng.uniform(10, 100, 12)
        y = 2 * x + 30 + rng.normal(0, 5, 12)
        found = fit([*zip(x, y, strict=True)], name="FFN")
        held += found.slope[0] <= 2 <= found.slope[1]
    assert 180 <= held <= 199


def test_exact_rows_give_the_line_back() -> None:
    line = fit([(x, 3 * x + 7) for x in (1, 2, 5)], name="FFN").line
    assert (line.slope, line.intercept) == pytest.approx((3, 7))
    assert "FFN: slope 3 s" in str(fit([(1, 10), (2, 13), (3, 16)], name="FFN"))


def test_slopes_are_those_of_the_paper_s_appendix() -> None:
    """DeepSeek-V3: 1,152 bytes a token, 21,504 a row, one row in sixteen requests."""
    device = ACCELERATORS["h800-sxm"]
    found = slopes(layer(MODELS["deepseek-v3"], device, experts_per_card=16))
    assert found["a_attn"] == pytest.approx(1152 / float(device.hbm_bw))
    one_row_each = 6 * 7168 * 2048 / float(device.peak("fp8"))
    assert found["a_ffn"] == pytest.approx(one_row_each)
    assert len(slopes_table().rows) == 7
    with pytest.raises(ValueError, match="mixture of experts, got Llama-3-8B"):
        layer(MODELS["llama-3-8b"], device)


def test_every_machine_with_known_peaks_has_slopes_for_every_mixture() -> None:
    mixtures = [model for model in MODELS.values() if isinstance(model.ffn, MoeFfn)]
    known = [device for device in ACCELERATORS.values() if device.disclosed]
    each = [slopes(layer(model, device)) for model in mixtures for device in known]
    assert len(mixtures) >= 2 and len(known) >= 6
    assert min(min(found.values()) for found in each) > 0
    with pytest.raises(LookupError, match="Ascend 910C is undisclosed"):
        layer(mixtures[0], ACCELERATORS["ascend-910c"])
    device = ACCELERATORS["ascend-910c"]
    assert isinstance(device, Undisclosed)
    fitted = device.fitted
    assert float(fitted["a_attn"]) == 0.00165 and float(fitted["b_attn"]) == 50
    assert len(fitted_table().rows) == len(fitted) == 6


def at(answer: Any, values: dict[str, float]) -> float:
    """SymPy's answer with numbers for the quantities in it."""
    known = values | {"token_a_step": 1.0}
    return float(answer.subs({each: known[each.name] for each in answer.free_symbols}))


def test_each_step_to_the_load_is_true_in_numbers() -> None:
    rest, shrinks, load, missing = (step.answer for step in derivation.load().steps)
    known = {"p_stop": 0.2, "batch": 3.0, "mean_decode": 4.0}
    after, still = float(f.NEXT_DECODE_LOAD.at(known, decode_load=7.0)), 3 * 4.0
    assert at(rest, known) == pytest.approx(still)
    assert at(shrinks, known) == pytest.approx((after - still) / (7 - still))
    assert at(load, known | {"step_index": 2}) == pytest.approx(12 * (1 - 0.8**2))
    assert at(missing, known | {"n_steps": 3}) == pytest.approx(1 + 0.8 + 0.8**2)


def test_each_step_to_the_peak_is_a_difference_of_rates() -> None:
    known = paper_setup.known() | {"slot_tokens": 600.0}
    for step, r in zip(derivation.ratio().steps[:2], (5.0, 20.0), strict=True):
        rates = f.INSTANCE_TOKENS_PER_S.at(known, af_ratio=np.array([r, r + 1e-6]))
        values = known | {"af_ratio": r, "attn_s": float(f.ATTN_S.at(known))}
        assert at(step.answer, values) * 1e-6 == pytest.approx(
            float(np.diff(rates)[0]), rel=1e-3
        )


def test_the_rule_without_spread_is_the_closed_form() -> None:
    ratios = np.arange(1, 30)
    known = paper_setup.known() | {"slot_tokens": 600.0}
    exact = f.PIPELINE_TOKENS_PER_S.at(known, af_ratio=ratios, n_batches=2)
    np.testing.assert_allclose(
        corrected_model.tokens_per_s(paper_setup.made(1), FLAT, ratios),
        exact,
        rtol=1e-9,
    )


def test_loads_that_never_differ_need_no_spread() -> None:
    """The rule is then the closed form, and so is the simulation."""
    still = Independent(Uniform(100, 100), Uniform(0, 0))
    one = study(paper_setup.made(1, batch=8), still, most=3, n_requests=100, seeds=(0,))
    assert np.abs(one.errors()[1]).max() < 1e-9


def test_one_slot_never_holds_less_than_nothing() -> None:
    """Quantiles of a wide law go below no load at all; times do not."""
    law = Independent(Uniform(0, 2), Geometric(500, least=0)).slot()
    known = ascend() | {"a_attn": 256 * ascend()["a_attn"], "b_attn": 1e-9}
    made = bundle(known, batch=1, n_batches=1)
    assert (corrected_model.period_s(made, law, [1, 2, 4]) > made.ffn.intercept).all()


def test_the_best_ratio_is_searched_as_far_as_it_is() -> None:
    long = paper_setup.law(prompt=20_000).slot()
    best = corrected_model.best_ratio(paper_setup.made(1), long)
    around = corrected_model.tokens_per_s(
        paper_setup.made(1), long, [best - 1, best, best + 1]
    )
    assert best > corrected_model.FAR and around.argmax() == 1
    assert corrected_model.best_ratio(paper_setup.made(1), long, most=16) == 16
