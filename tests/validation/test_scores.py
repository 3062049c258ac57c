"""Scores and bands: what the record prints is reached, and chance does far worse."""

import re
from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab import running_example
from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.validation import (
    Band,
    Setting,
    Unmeasured,
    achieved,
    band,
    datasheet_bound,
    dense_rows,
    errors,
    left_out,
    score,
    scores,
)
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.scores import permuted
from tests.validation.sample import sample

# Bars, in per cent to one decimal: TPOT, end to end, TTFT.
BARS = {
    "model": {"tpot": 8.5, "e2e": 8.7, "ttft": 18.0},
    "system": {"tpot": 8.5},
    "group": {"tpot": 8.5},
    "engine": {"tpot": 9.0},
    "one set per engine and generation": {"tpot": 5.0, "ttft": 8.5},
}


@pytest.mark.parametrize("by", BARS)
def test_recorded_scores_stay_below_their_bars(by: str) -> None:
    for kind, bar in BARS[by].items():
        assert round(100 * record()["scores"][by][kind]["mean"], 1) <= bar


def test_recorded_errors_are_those_that_were_scored() -> None:
    tpot = np.array(record()["errors"]["tpot"])
    recorded = record()["scores"]["model"]["tpot"]
    assert len(tpot) == recorded["n"] == len(dense_rows())
    assert np.abs(tpot).mean() == pytest.approx(recorded["mean"], rel=1e-3)
    assert tpot.mean() == pytest.approx(recorded["bias"], abs=1e-4)


def test_the_sample_scores_like_all_rows() -> None:
    found = scores(sample(), sample().predict(achieved()))
    for kind, recorded in record()["scores"]["in sample"].items():
        assert found[kind].mean == pytest.approx(recorded["mean"], rel=0.35)


def test_left_out_rows_are_predicted_worse_than_fitted_ones() -> None:
    fitted = score(sample(), sample().predict(achieved()), "tpot")
    tested = score(sample(), left_out(sample(), "group"), "tpot")
    assert fitted.mean < tested.mean < 0.13


def test_the_interval_holds_the_mean_and_narrows_with_rows() -> None:
    found = score(sample(), sample().predict(achieved()), "tpot")
    assert found.interval is not None
    low, high = found.interval
    assert low < found.mean < high
    recorded = record()["scores"]["in sample"]["tpot"]
    assert recorded["high"] - recorded["low"] < high - low


def test_one_server_has_no_interval() -> None:
    """Not a number, nor ends that say nothing: none at all."""
    servers = sample().label("server")
    one = sample().subset(servers == servers[0])
    found = score(one, one.predict(achieved()), "tpot")
    assert found.interval is None and found.n == len(one.rows)
    assert with_ends(found.mean, found.interval) == per_cent(found.mean)


def test_times_dealt_out_anew_cannot_be_predicted() -> None:
    """Few rows of a sample can be exchanged at all; of all rows, most."""
    true = score(sample(), sample().predict(achieved()), "tpot").mean
    assert permuted(sample(), times=6).mean() > 1.5 * true
    recorded = record()["scores"]["model"]["tpot"]["mean"]
    assert min(record()["permuted"]) > 4 * recorded


def test_scores_refuse_by_name() -> None:
    one = sample().subset(sample().label("model") == "qwen3-32b")
    with pytest.raises(ValueError, match="by must tell rows apart, got 'model'"):
        left_out(one, "model")
    with pytest.raises(LookupError, match="must be a property of a row, got 'day'"):
        left_out(sample(), "day")
    with pytest.raises(ValueError, match="must have a public protocol"):
        score(one, one.predict(achieved()), "ttft")
    with pytest.raises(LookupError, match="kind must be one of tpot, ttft, e2e"):
        errors(one.measured, one.measured, "itl")  # type: ignore[arg-type]


HERE = Setting.on(
    "llama-3-70b",
    "h200-sxm",
    tp=4,
    clients=32,
    prompt_len=1024,
    output_len=1024,
    precision="fp8",
)


def test_a_band_covers_most_of_what_was_measured() -> None:
    measured = record()["errors"]["tpot"]
    inside = 0
    chosen = range(0, len(dense_rows()), 7)
    for place in chosen:
        found = band("tpot", Setting.of(dense_rows()[place]))
        assert isinstance(found, Band) and found.n == 60
        inside += found.low <= measured[place] <= found.high
    assert inside / len(chosen) > 0.95


def test_a_band_says_of_what_rows_it_is() -> None:
    found = band("tpot", HERE)
    assert isinstance(found, Band)
    assert found.low < 0 < found.high < 0.5
    assert "llama-3-70b" in found.regime and "clients" in found.regime
    assert str(found).startswith("-") and "on 60 runs" in str(found)


def test_a_prediction_that_was_too_long_lies_above_the_measured_value() -> None:
    low, high = Band(-0.2, 0.25, "some", 9).around(10.0)
    assert (low, high) == pytest.approx((8.0, 12.5))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"clients": 1024}, "1,024 clients at a time: the most measured were 128"),
        ({"clients": 1}, "one client alone: the fewest measured were 4"),
        ({"params": 1e12}, "a model of 1,000 billion parameters: the largest measured"),
        ({"tp": 64}, "a group of 64 GPUs: the largest measured had 8"),
        (
            {"prompt_len": 100_000},
            "a prompt of 100,000 tokens: the longest measured had 8,192",
        ),
        ({"output_len": 10}, "an answer of 10 tokens: the shortest measured had 128"),
        ({"generation": "A100"}, "A100: measured were Blackwell and Hopper GPUs"),
        ({"precision": "int4"}, "numbers in INT4: measured were BF16, FP4 and FP8"),
        (
            {"total": 3e12},
            "experts of 3,000 billion parameters in all: the largest measured had 1",
        ),
    ],
)
def test_far_settings_have_no_band(change: dict[str, object], reason: str) -> None:
    found = band("tpot", replace(HERE, **change))  # type: ignore[arg-type]
    assert isinstance(found, Unmeasured)
    assert re.match(f"outside everything measured: {reason}", str(found))


def test_settings_come_from_the_catalog() -> None:
    experts = Setting.on(
        "deepseek-v3", "h200-sxm", tp=8, clients=8, prompt_len=1024, output_len=1024,
        precision="fp8",
    )  # fmt: skip
    assert not experts.dense and HERE.dense
    near = band("tpot", experts)
    assert isinstance(near, Band) and "DeepSeek-R1" in near.regime
    far = band("tpot", replace(experts, total=4 * experts.total))
    assert isinstance(far, Unmeasured)
    assert far.reason == (
        "experts of 2,684 billion parameters in all: the largest measured had 1,026 "
        "billion"
    )
    old = Setting.on(
        "llama-3-8b", "a100-80-sxm", tp=1, clients=8, prompt_len=1024, output_len=512,
        precision="bf16",
    )  # fmt: skip
    assert str(band("e2e", old)).startswith("outside everything measured: A100")


def test_bands_refuse_by_name() -> None:
    with pytest.raises(LookupError, match="kind must be one of"):
        band("power", HERE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="clients must be at least 1, got 0"):
        replace(HERE, clients=0)
    with pytest.raises(ValueError, match="params must be finite, got nan"):
        replace(HERE, params=float("nan"))


def test_a_rate_has_the_inverse_band_of_its_time() -> None:
    for rate, time in (("tokens_per_s", "e2e"), ("user_tokens_per_s", "tpot")):
        found, of_time = band(rate, HERE), band(time, HERE)  # type: ignore[arg-type]
        assert isinstance(found, Band) and isinstance(of_time, Band)
        assert found.low == pytest.approx(1 / (1 + of_time.high) - 1, abs=1e-3)
        assert found == of_time.inverse()
    assert band("decode_step", HERE) == band("tpot", HERE)


def test_the_datasheet_bounds_times_from_below_and_rates_from_above() -> None:
    assert datasheet_bound("tpot").side == "lower"
    assert datasheet_bound("tokens_per_s").side == "upper"
    with pytest.raises(LookupError, match="kind must be one of tpot, "):
        datasheet_bound("watts")  # type: ignore[arg-type]


def test_the_running_example_has_bands_under_load_and_none_alone() -> None:
    busy = running_example.band("tpot", clients=32)
    assert isinstance(busy, Band) and "llama-3-8b" in busy.regime
    assert isinstance(running_example.band("tpot", clients=1), Unmeasured)


def test_prompt_times_of_the_running_example_have_no_band() -> None:
    """Of a small model, or in sixteen bits, no row has a public protocol."""
    found = running_example.band("ttft", clients=32)
    assert isinstance(found, Unmeasured)
    assert found.reason.startswith("a model of 8 billion parameters: the smallest")
    assert found.reason.endswith("numbers in BF16: measured were FP4 and FP8")
    assert isinstance(band("ttft", HERE), Band)
