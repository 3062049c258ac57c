"""The five sentences that a reader keeps, each held beside another computation."""

import numpy as np
import pytest

from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.quantization import (
    decision,
    kv_eviction,
    measured,
    outliers,
    tables,
)
from llmserve_lab.quantization.page import figures
from llmserve_lab.quantization.page.controls import BATCHES, CONTEXTS
from llmserve_lab.quantization.page.forgetting import KEEP, small_head
from llmserve_lab.quantization.schemes import SCHEMES, quantize
from llmserve_lab.quantization.speed import Bits


def test_no_weight_is_off_by_more_than_half_its_scale() -> None:
    """Remember 1, on many groups, and the bits of NVFP4 counted out."""
    x = np.random.default_rng(8).standard_normal((64, 256)) * 3
    found = quantize(x, SCHEMES["int4-32"])
    half = np.repeat(found.scales, 32, axis=1) / 2
    assert np.all(np.abs(x - found.dequantize()) <= half * 1.01)
    blocks = quantize(x, SCHEMES["nvfp4"])
    assert (4 * blocks.codes.size + 8 * blocks.scales.size) / x.size == 4.5


def test_outliers_spoil_those_that_share_their_scale() -> None:
    """Remember 2, on another matrix than the page's."""
    rng = np.random.default_rng(31)
    x = rng.standard_normal((128, 512))
    loud = rng.choice(512, size=4, replace=False)
    x[:, loud] *= 20
    usual = np.setdiff1d(np.arange(512), loud)

    def error(group: int) -> float:
        scale = np.abs(x.reshape(128, -1, group)).max(axis=2).repeat(group, axis=1) / 7
        off = (x - scale * np.rint(x / scale))[:, usual]
        return float(np.linalg.norm(off) / np.linalg.norm(x[:, usual]))

    by_group = outliers.by_group(outliers.matrix())
    assert error(128) == pytest.approx(by_group["groups of 128"], abs=0.12)
    assert error(16) == pytest.approx(by_group["groups of 16"], abs=0.05)
    assert error(128) > 2 * error(16)


@pytest.mark.long
def test_calibration_lowers_the_error_of_the_logits() -> None:
    """Remember 3, for every format that was calibrated, on text not seen."""
    for key in tables.CALIBRATED:
        found = tables.errors()[key]
        assert found["gptq"] < 0.6 * found["logits"]
        assert found["gptq seen"] < found["gptq"]
    for nearest, better in tables.layers().values():
        assert better < nearest


def test_weight_only_bits_help_small_batches_and_both_help_any() -> None:
    """At every batch and context of the figure that the H100 holds."""
    figure = figures.few_bits()
    for context in CONTEXTS:
        last = np.inf
        for batch in BATCHES:
            at = {"batch": batch, "context": context}
            few = figure.values(**at, weights="INT4 (weight-only)")
            both = figure.values(**at, weights="FP8", cache="FP8")
            assert few["few_bits_gain"] <= last + 1e-9
            last = few["few_bits_gain"]
            if both["held"]:
                assert both["few_bits_gain"] > 1.3
        assert last < 1.2


def test_published_int4_stays_below_what_is_predicted_with_unpacking_free() -> None:
    """What the page calls much too hopeful for INT4, and right for FP8."""
    for batch in papers.RATES["bf16"]:
        seen, said = measured.rate_gain("int4", batch)
        assert seen < 0.85 * said
        seen, said = measured.rate_gain("fp8", batch)
        assert said == pytest.approx(seen, rel=0.035)
        wide = float(papers.RATES["bf16"][batch])
        assert measured.static_run("bf16", batch).rate == pytest.approx(wide, rel=0.05)
    one, many = (measured.rate_gain("int4", n)[0] for n in (1, 64))
    assert one > 1 > many
    shares = [measured.prompts_share(n) for n in papers.RATES["bf16"]]
    assert shares == sorted(shares) and shares[0] < 0.1 and shares[-1] > 0.6
    for batch in papers.RATES["bf16"]:  # prompts gain nothing: decode alone gains more
        assert (
            measured.decode_gain("int4", batch) > measured.rate_gain("int4", batch)[1]
        )


def test_a_whole_run_does_not_say_whether_prompts_or_decode_lost() -> None:
    """Either alone, put together again, gives the run that was measured."""
    for batch in (8, 64):
        assert measured.decode_if_prompts_kept("int4", batch) < 0.7
        assert measured.prompts_if_decode_kept("int4", batch) > 1.2
    for batch in papers.RATES["bf16"]:
        seen = measured.rate_gain("int4", batch)[0]
        prompts = measured.prompts_share(batch)
        decode = (1 - prompts) / measured.decode_if_prompts_kept("int4", batch)
        slower = prompts * measured.prompts_if_decode_kept("int4", batch)
        for run in (prompts + decode, slower + 1 - prompts):
            assert run == pytest.approx(1 / seen)


def test_whether_a_larger_model_loses_less_depends_on_the_measure() -> None:
    """AWQ on Llama-2, 7B against 70B: as a difference of perplexities, as a ratio."""
    wide = [float(each) for each in papers.PERPLEXITIES["FP16"]]
    name = "INT4 by AWQ, W4A16, groups of 128"
    few = [float(each) for each in papers.PERPLEXITIES[name]]
    _, small, large = (b - a for a, b in zip(wide, few, strict=True))
    assert large < small and large / wide[2] > small / wide[1]


def test_the_terms_of_a_step_add_up() -> None:
    """The page's table of a step, term by term."""
    for bits, batch in tables.STEPS:
        parts = tables.step_parts(bits, batch)
        later = list(parts.values())[2:]
        assert sum(later[:-1]) == pytest.approx(later[-1], rel=1e-9)


def test_the_error_of_all_columns_flatters() -> None:
    """With outliers the error of all columns hides that of the ordinary ones."""
    x = outliers.matrix()
    rounded = quantize(x, SCHEMES["int4"]).dequantize()
    every = np.linalg.norm(x - rounded) / np.linalg.norm(x)
    assert outliers.ordinary_error(x, rounded) > 1.8 * every


def test_the_kind_of_token_matters_more_than_the_number() -> None:
    """Remember 5: the figure's head, and other made-up heads too."""
    shown = kv_eviction.kept_by(small_head(), KEEP)
    small = {name: small_head().error(kept) for name, kept in shown.items()}
    assert small["window"] > 9 and small["observed attention"] < 0.05
    for seed in (3, 5, 9, 12):
        head = kv_eviction.synthetic_head(seed=seed)
        few, many = (kv_eviction.kept_by(head, keep) for keep in (32, 128))
        assert head.error(few["observed attention"]) < 0.2
        assert head.error(many["window"]) > 4 * head.error(few["observed attention"])


def test_in_the_older_engine_fp8_gains_more_at_32_requests_than_at_two() -> None:
    """Against the formula, by which its gain only shrinks with the batch."""
    eight = papers.OLD_GAINS["fp8"]
    assert float(eight[2]) < float(eight[64]) < float(eight[32])
    by_formula = [decision.step_gain(Bits("fp8"), batch) for batch in (2, 32, 64)]
    assert by_formula == sorted(by_formula, reverse=True)
