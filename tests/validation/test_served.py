"""What the book says of served mixtures: constants, left-out errors, bands."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.validation.blind import blind_errors, blind_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.kernel_fit import EACH
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.prediction import errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.served import (
    NOTHING,
    PART,
    SERVED,
    START,
    STATUS,
    apart,
    made,
    root_weights,
    seen_rows,
    served_constants,
    served_errors,
    without_its_model,
)
from llmserve_lab.validation.served_form import ServedConstants, ServedPredictor
from llmserve_lab.validation.served_sources import (
    PROVIDER,
    new_to_both,
    shape_names,
    source_of,
)
from tests.validation.served_sample import NAMES, NTH, changed, quick, sample

KIMI = "moonshotai/Kimi-K2.5"


def test_two_names_of_one_shape_are_left_out_together() -> None:
    names = dict(zip((row.model for row in seen_rows()), _names(), strict=True))
    renamed = {name: known for name, known in names.items() if name != known}
    assert renamed == {"moonshotai/Kimi-K2.6": KIMI}


def _names() -> list[str]:
    """Of all runs, without counting them."""
    one = {row.model: row for row in seen_rows()}
    few = KernelPredictor([row for row in one.values() if "GLM-5" not in row.model])
    named = dict(zip((row.model for row in few.rows), shape_names(few), strict=True))
    return [str(named.get(row.model, row.model)) for row in seen_rows()]


@pytest.mark.long
def test_a_left_out_model_moves_nothing_of_its_own_prediction() -> None:
    """Its times may be any: constants of the others come out the same."""
    predictor = sample()
    label = shape_names(predictor)
    own = label == "zai-org/GLM-4.6"
    other = changed(predictor, _slow(predictor, own))
    times, again = (without_its_model(each).tpot for each in (predictor, other))
    assert again[own] == pytest.approx(times[own], rel=1e-6)
    assert not np.allclose(again[~own], times[~own], rtol=1e-6)


def _slow(predictor: ServedPredictor, which: np.ndarray) -> list[MeasuredRow]:
    """The rows, some of them three times as slow."""
    return [
        replace(row, tpot_s=3 * row.tpot_s) if it else row
        for row, it in zip(predictor.rows, which, strict=True)
    ]


@pytest.mark.long
def test_a_left_out_source_moves_nothing_of_its_own_prediction() -> None:
    """Nor do other models of the source; in InferenceX's, they do."""
    predictor = sample()
    model, source = shape_names(predictor), source_of(predictor)
    cell = (model == "zai-org/GLM-4.6") & (source == PROVIDER)
    none = np.zeros(len(model), dtype=bool)
    alike = (source == PROVIDER) & ~cell
    assert cell.any() and alike.any()
    other = changed(predictor, _slow(predictor, alike))
    name = f"zai-org/GLM-4.6, {PROVIDER}"
    before, after = (new_to_both(each, SERVED, none) for each in (predictor, other))
    assert after[name] == pytest.approx(before[name], rel=1e-6)
    assert (
        after["Qwen/Qwen3.5-397B-A17B, inferencex"]
        != before["Qwen/Qwen3.5-397B-A17B, inferencex"]
    )
    assert sum(each["n"] for each in before.values()) == len(model)


def test_sources_are_counted_again_from_the_rows() -> None:
    """Of the first trial, Qwen3's runs and five of gpt-oss have their own lengths."""
    few = sample()
    assert {*source_of(few)} == {"inferencex", "cookbook", PROVIDER, "NVIDIA"}
    known = record()[PART]["model left out"]
    runs = {name: known[name]["tpot"]["n"] for name in {*source_of(few)}}
    assert runs == {"inferencex": 966, "cookbook": 67, PROVIDER: 104, "NVIDIA": 187}
    assert len(seen_rows()) == sum(runs.values()) == len(blind_rows()) + 104


def test_each_of_a_cell_weighs_as_the_root_says() -> None:
    predictor = sample()
    pairs = [*zip(shape_names(predictor), source_of(predictor), strict=True)]
    counts, out = Counter(pairs), apart(predictor)
    both = [*zip(pairs, out, strict=True)]
    by_hand = [0.0 if it else counts[pair] ** -0.5 for pair, it in both]
    assert root_weights(predictor) == pytest.approx(by_hand)
    assert {pair for pair, it in both if it} <= {(KIMI, "cookbook")}


def test_runs_that_are_set_apart_draw_no_constant() -> None:
    """The cookbook's Kimi may have any times; its errors are in the scores."""
    rows = [row for row in seen_rows() if "Kimi" in row.model][::5]
    both = [*rows, *sample().rows]
    predictor = ServedPredictor(both)
    out = apart(predictor)
    assert 0 < out.sum() < len(rows)
    other = changed(predictor, _slow(predictor, out))
    one, two = (vars(SERVED.fit(each)) for each in (predictor, other))
    assert one == two


def test_what_was_priced_once_is_what_a_subset_would_price() -> None:
    predictor, extra = sample(), served_constants()
    chosen = np.arange(len(predictor.rows)) % 3 == 0
    made(predictor, extra)
    kept = made(predictor.subset(chosen), extra)
    fresh = ServedPredictor(
        [row for row, it in zip(predictor.rows, chosen, strict=True) if it]
    )
    assert kept.tpot == pytest.approx(made(fresh, extra).tpot)


def test_the_constants_are_where_the_loss_is_least() -> None:
    predictor = sample()
    fitted = SERVED.fit(predictor)
    least = SERVED.loss(predictor, fitted)
    for name in NAMES:
        for factor in (0.95, 1.05):
            moved = replace(fitted, **{name: factor * getattr(fitted, name)})
            assert SERVED.loss(predictor, moved) > least
    assert fitted.kernel_s == pytest.approx(served_constants().kernel_s, rel=0.2)


def _from_other_starts(predictor: ServedPredictor, starts: int) -> None:
    """Each constant up to a factor of four away: no start finds a lower loss.

    Few runs have four bits here: its constant may run to nothing, where logarithms
    have no slope, and then the loss is higher; of ten starts nine come together.
    """
    rng, best = np.random.default_rng(0), SERVED.fit(predictor)
    least, alike = SERVED.loss(predictor, best), 0
    for _ in range(starts):
        moved = {name: getattr(START, name) * rng.lognormal(0, 0.5) for name in NAMES}
        found = SERVED.fit(predictor, start=ServedConstants(**moved))
        assert SERVED.loss(predictor, found) > least * (1 - 1e-4)
        alike += vars(found) == pytest.approx(vars(best), rel=0.1)
    assert alike >= 0.9 * starts


def test_no_other_start_finds_better_constants() -> None:
    _from_other_starts(sample(), 2)


@pytest.mark.long
def test_no_other_start_of_twenty_finds_better_constants() -> None:
    _from_other_starts(ServedPredictor([seen_rows()[i] for i in quick()[::10]]), 20)


@pytest.mark.parametrize(
    ("engine", "name"), [("sglang", "launched"), ("vllm", "context_s")]
)
def test_a_constant_of_an_engine_left_out_is_nothing(engine: str, name: str) -> None:
    predictor = sample()
    rest = predictor.subset(predictor.label("engine") != engine)
    found = SERVED.fit(rest)
    assert getattr(found, name) == getattr(NOTHING, name) == 0.0
    assert min(getattr(found, each) for each in NAMES if each != name) > 0
    with pytest.raises(ValueError, match=f"rows must depend on {name}, got none"):
        replace(SERVED, nothing=None).fit(rest)


def test_the_recorded_errors_are_those_of_the_recorded_constants() -> None:
    """On the sample's rows, each by the set that its model was left out of."""
    known, predictor = record()[PART], sample()
    label = shape_names(predictor)
    sets = {name: ServedConstants(**known["constants"][name]) for name in {*label}}
    times = SERVED.left_out(predictor, label, sets)
    for kind in SCORED:
        now = errors(times, predictor.measured, kind)
        found = np.array(served_errors(kind))[quick()[::NTH]]
        assert now == pytest.approx(found, abs=2e-4)
    assert known["status"] == STATUS and len(served_errors("tpot")) == 1324


def test_the_recorded_constants_predict_as_recorded_in_sample() -> None:
    """Of all runs of two models, whose attention is quick to count."""
    known = record()[PART]["in sample"]
    for model in ("zai-org/GLM-4.6", "Qwen/Qwen3-Coder-Next"):
        predictor = ServedPredictor([row for row in seen_rows() if row.model == model])
        times = made(predictor, served_constants())
        error = errors(times, predictor.measured, "tpot")
        assert known[model]["tpot"]["n"] == len(error)
        assert np.abs(error).mean() == pytest.approx(known[model]["tpot"]["mean"], 1e-3)


def test_the_scores_are_counted_again_from_the_errors() -> None:
    known, label = record()[PART]["model left out"], np.array(_names())
    for kind in SCORED:
        error = np.array(served_errors(kind))
        for name in (EACH, *{*label}):
            own = error[(label == name) | (name == EACH)]
            assert known[name][kind]["n"] == len(own)
            assert known[name][kind]["mean"] == pytest.approx(
                np.abs(own).mean(), rel=1e-3
            )
            assert known[name][kind]["bias"] == pytest.approx(own.mean(), abs=1e-4)


def test_no_one_model_decides_a_constant_but_gpt_oss_that_of_four_bits() -> None:
    """Leaving one out moves the others by less than two fifths."""
    sets, every = record()[PART]["constants"], served_constants()
    moved = {
        (name, model): abs(each[name] / getattr(every, name) - 1)
        for model, each in sets.items()
        for name in NAMES
    }
    far = {pair for pair, by in moved.items() if by > 0.4}
    assert far == {("four_bits", "openai/gpt-oss-120b")}
    assert sets["openai/gpt-oss-120b"]["four_bits"] < every.four_bits / 5
    assert max(by for (name, _), by in moved.items() if name == "kernel_s") < 0.03


def test_what_is_new_in_both_ways_is_recorded_by_model_and_source() -> None:
    """All runs but those that are set apart; of one source, as with the model alone."""
    known = record()[PART]
    cells, label = known["model and source left out"], np.array(_names())
    kimi = Counter(row.model for row in blind_rows() if "Kimi" in row.model)
    assert sum(each["n"] for each in cells.values()) == 1324 - 16
    assert kimi["moonshotai/Kimi-K2.6"] == 8
    models = {name.rpartition(", ")[0] for name in cells}
    assert models == {*label}
    means = np.array([each["mean"] for each in cells.values()])
    biases = np.array([each["bias"] for each in cells.values()])
    assert np.all(means >= np.abs(biases) - 1e-9)
    assert len(cells) == 20 and 0.10 < means.mean() < 0.16 and -0.05 < biases.mean() < 0
    alone = [
        cell for name, cell in cells.items() if name == "zai-org/GLM-5, inferencex"
    ]
    assert alone[0]["mean"] == known["model left out"]["zai-org/GLM-5"]["tpot"]["mean"]


def test_left_out_errors_are_smaller_than_those_of_dense_constants() -> None:
    """Of the first three trials' runs by a third, and nearly without a direction."""
    label = np.array(_names())[: len(blind_rows())]
    for kind in SCORED:
        ours = np.array(served_errors(kind))[: len(blind_rows())]
        dense = np.array(blind_errors(kind))
        assert np.abs(ours).mean() < np.abs(dense).mean() / 1.4
        assert abs(ours.mean()) < 0.05 < -dense.mean()
        for name in {*label}:
            own = label == name
            assert np.abs(ours[own]).mean() < np.abs(dense[own]).mean()
