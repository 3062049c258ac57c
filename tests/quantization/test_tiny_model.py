"""The book's transformer in fewer bits: layers, logits, cache."""

import numpy as np
import pytest

from llmserve_lab.quantization import outliers
from llmserve_lab.quantization import tiny_model as tm
from llmserve_lab.quantization.schemes import SCHEMES

CALIBRATION, HELD_OUT = tm.text(512, seed=1), tm.text(128, seed=2)


def test_every_matrix_inside_the_blocks_is_found_with_its_inputs() -> None:
    model = tm.model()
    seen = tm.layer_inputs(model, HELD_OUT)
    assert len(seen) == 7 * model.shape.n_layers
    for (name, block), rows in seen.items():
        assert rows.shape == (128, model.weights.arrays[name][block].shape[0])


@pytest.mark.parametrize("key", ["int4", "nvfp4"])
def test_gptq_helps_every_layer_and_the_logits(key: str) -> None:
    model = tm.model()
    better = tm.rounded_by_gptq(model, SCHEMES[key], CALIBRATION)
    nearest = tm.rounded_to_nearest(model, SCHEMES[key])
    for tokens in (CALIBRATION[:128], HELD_OUT):
        assert tm.logit_error(model, better, tokens) < 0.75 * tm.logit_error(
            model, nearest, tokens
        )
    ours, plain = (tm.layer_errors(model, m, HELD_OUT) for m in (better, nearest))
    assert all(ours[layer] < plain[layer] for layer in plain)


def test_planted_outlier_channels_change_no_answer_but_those_of_even_steps() -> None:
    """INT8 loses to FP8 with loud channels, and wins without: the published order."""
    model = tm.model()
    loud, channels = tm.with_outlier_channels(model, num=4, times=100.0)
    assert tm.logit_error(model, loud, HELD_OUT) < 1e-12
    seen = tm.layer_inputs(loud, HELD_OUT)["q_proj", 0]
    sizes = np.abs(seen).mean(axis=0)
    others = np.setdiff1d(np.arange(tm.WIDTH), channels)
    assert sizes[channels].min() > 10 * sizes[others].max()
    quiet, noisy = (
        [tm.both_rounded_error(m, SCHEMES[key], HELD_OUT) for key in ("int8", "fp8")]
        for m in (model, loud)
    )
    assert quiet[0] < 0.5 * quiet[1] and noisy[0] > 3 * noisy[1]
    assert noisy[1] < 1.2 * quiet[1]  # FP8 does not mind
    for key, alone in zip(("int8", "fp8"), quiet, strict=True):
        nearest = tm.rounded_to_nearest(model, SCHEMES[key])
        assert alone > tm.logit_error(model, nearest, HELD_OUT)


def test_smoothing_undoes_exactly_what_was_planted() -> None:
    """So it proves nothing about other models, as the page says."""
    model = tm.model()
    loud, channels = tm.with_outlier_channels(model, num=4, times=100.0)
    factors = []
    for each in (model, loud):  # SmoothQuant's factor, its strength one half
        rows = np.abs(tm.layer_inputs(each, HELD_OUT)["q_proj", 0]).max(axis=0)
        weights = np.abs(each.weights.arrays["q_proj"][0]).max(axis=1)
        factors.append(np.sqrt(rows / weights))
    grown = factors[1] / factors[0]
    assert grown[channels] == pytest.approx(100.0)
    assert np.delete(grown, channels) == pytest.approx(1.0)


def test_the_embedding_and_the_head_are_kept() -> None:
    model = tm.model()
    rounded = tm.rounded_to_nearest(model, SCHEMES["int8"]).weights.arrays
    for name, array in model.weights.arrays.items():
        same = np.array_equal(array, rounded[name])
        assert same != (name in tm.matrices(model))


def test_fewer_bits_in_the_cache_err_more_and_sixteen_hardly() -> None:
    model, tokens = tm.model(), HELD_OUT[:48]
    errors = [
        tm.cache_error(model, tm.CacheRounding(SCHEMES[key]), tokens)
        for key in ("fp16", "int8", "fp8", "int4-row")
    ]
    assert errors == sorted(errors) and errors[0] < 1e-3
    fixed = tm.CacheRounding(SCHEMES["fp8"], fixed_scale=True)
    assert tm.cache_error(model, fixed, tokens) < 0.03


def test_a_finer_group_keeps_an_outlier_away_from_more_numbers() -> None:
    with_them = list(outliers.by_group(outliers.matrix()).values())
    without = list(outliers.by_group(outliers.matrix(num_outliers=0)).values())
    assert with_them == sorted(with_them, reverse=True)
    assert all(a > b for a, b in zip(with_them, without, strict=True))
    assert with_them[0] > 0.99  # one scale for all: every ordinary number becomes zero
