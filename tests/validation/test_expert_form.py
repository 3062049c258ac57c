"""What is mended for mixtures of experts: facts counted otherwise, two constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.records.cache_layers import CacheLayers
from llmserve_lab.engine import IterationCost, Pool, simulate
from llmserve_lab.validation import MeasuredRow, Times, achieved, errors
from llmserve_lab.validation.__main__ import SAMPLE
from llmserve_lab.validation.constants import ServingConstants, record
from llmserve_lab.validation.expert_fit import (
    START,
    facts_alone,
    fit_extra,
    left_out,
    loss,
    weights,
    without_model,
)
from llmserve_lab.validation.expert_form import (
    DENSE,
    ExpertConstants,
    MendedPredictor,
    kept_of,
    layers_of_choice,
    mended_cost,
)
from llmserve_lab.validation.experts import (
    SCORED,
    expert_cost,
    predict,
    stored_runs,
)
from llmserve_lab.validation.exposure import ONE_ITERATION, exposures_of
from llmserve_lab.validation.protocol import BLOCK_TOKENS, protocol_of, requests_of
from llmserve_lab.validation.rows import SHA256, dense_rows, every
from llmserve_lab.validation.scores import permuted

GPT_OSS = CACHE_LAYERS["gpt-oss-120b"]


@cache
def sample() -> MendedPredictor:
    """Every sixteenth run, counted by the engine."""
    return MendedPredictor(every(stored_runs(), SAMPLE))


@cache
def blind() -> Times:
    """What the machine of dense models says of the sample."""
    return predict(sample().rows)


def runs(model: str, **changes: object) -> Sequence[MeasuredRow]:
    return [
        row
        for row in stored_runs()
        if model in row.model
        and all(getattr(row, name) == value for name, value in changes.items())
    ]


def priced(row: MeasuredRow, reached: ServingConstants) -> IterationCost:
    """The facts mended, and no constant."""
    return mended_cost(row, reached, DENSE)


def seen_one_by_one(row: MeasuredRow, kept: CacheLayers) -> tuple[float, float]:
    """Pairs and cached tokens in all of a run, row by row and layer by layer."""
    protocol = protocol_of(row)
    pool = Pool(
        ONE_ITERATION,
        protocol.policy,
        kv_blocks=protocol.kv_blocks(row),
        block_tokens=BLOCK_TOKENS,
    )
    report = simulate(requests_of(row), pool, clients=row.clients, log=True, leap=False)
    assert report.log is not None
    pairs = cached = 0.0
    for iteration in report.log:
        for each in iteration.scheduled:
            for wide, layers in (
                (10**9, kept.full_layers),
                (kept.window, kept.window_layers),
            ):
                share = layers / kept.layers
                cached += share * min(each.context, wide - 1)
                for new in range(1, each.rows + 1):
                    pairs += share * min(each.context + new, wide)
    return pairs, cached


@pytest.mark.parametrize("prompt_len", [300, 5000])  # whole, and in three chunks
def test_a_window_is_counted_as_it_would_be_one_by_one(prompt_len: int) -> None:
    """One client alone: all of a run is its first tokens and its decodes."""
    row = replace(
        runs("gpt-oss", engine="vllm")[0],
        prompt_len=prompt_len,
        output_len=40,
        clients=1,
    )
    found = exposures_of(row, kept=GPT_OSS)
    for name, total in zip(
        ("pairs", "kv_tokens"), seen_one_by_one(row, GPT_OSS), strict=True
    ):
        first, each = (getattr(part, name) for part in (found.ttft, found.tpot))
        assert first + 39 * each == pytest.approx(total / len(requests_of(row)))
    contexts = np.arange(prompt_len, prompt_len + 39)
    mean = np.mean((contexts + GPT_OSS.window - 1) / 2)
    assert found.tpot.kv_tokens == pytest.approx(mean)


def test_a_window_is_less_with_many_clients_too() -> None:
    row = replace(runs("gpt-oss", engine="vllm")[0], prompt_len=300, output_len=40)
    near, far = exposures_of(row, kept=GPT_OSS), exposures_of(row)
    assert near.tpot.pairs < far.tpot.pairs
    assert near.tpot.kv_tokens < far.tpot.kv_tokens
    assert np.array_equal(near.tpot.rows, far.tpot.rows)
    with pytest.raises(ValueError, match="prompts must fill 400 tokens, got 300"):
        exposures_of(row, kept=replace(GPT_OSS, window=400))
    assert kept_of(runs("MiniMax")[0]) is None


@pytest.mark.parametrize(
    ("model", "matrices"),
    [
        ("gpt-oss", 36 * (2880 * 64 * 64 * 2 + 2880 * 8 * 64 * 2 + 2880 * 128)),
        ("MiniMax", 62 * (3072 * 48 * 128 * 2 + 3072 * 8 * 128 * 2 + 3072 * 256)),
    ],
)
def test_the_checkpoint_has_four_bits_in_its_experts_alone(
    model: str, matrices: int
) -> None:
    """Attention and router are nearly all that has sixteen besides the head."""
    row = runs(model, precision="fp4", tp=1)[0]
    bytes_s = float(row.accelerator.hbm_bw) * achieved().memory
    added = matrices * (2 - (0.5 + 1 / 16)) / bytes_s
    cost, blind = mended_cost(row, achieved(), DENSE), expert_cost(row, achieved())
    assert cost.weights_s - blind.weights_s == pytest.approx(added, rel=0.01)
    assert cost.experts_s == pytest.approx(blind.experts_s)
    for other in (runs(model, precision="fp8")[0], runs("Qwen3")[0]):
        cost, blind = (f(other, achieved()) for f in (priced, expert_cost))
        assert cost.weights_s == pytest.approx(blind.weights_s)
        assert cost.row_s == pytest.approx(blind.row_s)


def test_what_has_sixteen_bits_is_multiplied_in_sixteen() -> None:
    """On B200 four bits are twice as fast here; the attention keeps its pace."""
    row = runs("MiniMax", precision="fp4", tp=1)[0]
    flops_16 = float(row.accelerator.peak("bf16")) * achieved().compute
    attention = 62 * (3072 * 48 * 128 * 2 + 3072 * 8 * 128 * 2 + 3072 * 256)
    experts = 62 * 8 * 3 * 3072 * 1536
    by_hand = 2 * (attention + experts / 2) / flops_16
    assert priced(row, achieved()).row_s == pytest.approx(by_hand, rel=1e-3)
    tripled = mended_cost(row, achieved(), ExpertConstants(layer_s=0, products=3))
    by_hand += 2 * experts / flops_16
    assert tripled.row_s == pytest.approx(by_hand, rel=1e-3)


def test_a_layer_takes_longer_the_more_experts_a_row_chooses() -> None:
    for model, layers in (("gpt-oss", 36 / 2), ("Qwen3", 94), ("MiniMax", 62)):
        row = runs(model)[0]
        assert layers_of_choice(row) == layers
        extra = ExpertConstants(layer_s=1e-3, products=1)
        more = mended_cost(row, achieved(), extra).overhead_s
        assert more - priced(row, achieved()).overhead_s == pytest.approx(layers / 1e3)
    with pytest.raises(ValueError, match="row must be of a mixture of experts"):
        layers_of_choice(dense_rows()[0])


@pytest.mark.long
def test_without_facts_and_constants_it_is_the_blind_form() -> None:
    """In FP8 Qwen3 and MiniMax have no fact to mend: the same times to 12 digits."""
    rows = sample().rows
    other = np.array(["gpt-oss" not in r.model and r.precision == "fp8" for r in rows])
    mended = facts_alone(sample())
    for kind in ("ttft", "tpot", "e2e"):
        ours, theirs = (getattr(each, kind) for each in (mended, blind()))
        assert ours[other] == pytest.approx(theirs[other], rel=1e-12)
        assert (ours[~other] != theirs[~other]).all()
    for cost in ("weights_s", "experts_s", "row_s", "overhead_s", "pair_s"):
        ours, theirs = (f(runs("Qwen3")[0], achieved()) for f in (priced, expert_cost))
        assert getattr(ours, cost) == pytest.approx(getattr(theirs, cost))


@pytest.mark.long
def test_rows_priced_together_are_those_priced_alone() -> None:
    extra = ExpertConstants(layer_s=3e-5, products=1.7)
    times = sample().predict(achieved(), extra)
    for place in range(0, len(sample().rows), 7):
        cost = mended_cost(sample().rows[place], achieved(), extra)
        counted = sample().exposures[place]
        assert times.tpot[place] == pytest.approx(counted.tpot.seconds(cost))
        ttft_s = counted.ttft.seconds(cost) + achieved().client_s
        assert times.ttft[place] == pytest.approx(ttft_s)


@pytest.mark.long
def test_each_model_counts_as_much() -> None:
    model = sample().label("model")
    sums = {name: weights(sample())[model == name].sum() for name in np.unique(model)}
    assert len(sums) == 3
    assert list(sums.values()) == pytest.approx([len(model) / 3] * 3)


def test_planted_constants_are_found() -> None:
    extra = ExpertConstants(layer_s=4e-5, products=1.4)
    times = sample().predict(achieved(), extra)
    rows = [
        replace(row, tpot_s=float(tpot))
        for row, tpot in zip(sample().rows, times.tpot, strict=True)
    ]
    found = fit_extra(MendedPredictor(rows, sample().exposures))
    assert found.layer_s == pytest.approx(extra.layer_s, rel=1e-3)
    assert found.products == pytest.approx(extra.products, rel=1e-3)
    for name, each in without_model(MendedPredictor(rows, sample().exposures)).items():
        assert each.layer_s == pytest.approx(extra.layer_s, rel=1e-2), name


def test_a_model_left_out_does_not_touch_its_constants() -> None:
    model = sample().label("model")
    name = str(np.unique(model)[0])
    rows = [
        replace(row, tpot_s=row.tpot_s * (3 if own else 1))
        for row, own in zip(sample().rows, model == name, strict=True)
    ]
    slower = without_model(MendedPredictor(rows, sample().exposures))
    fitted = without_model(sample())
    assert slower[name] == fitted[name]
    assert all(slower[other] != fitted[other] for other in fitted if other != name)
    made = left_out(sample(), fitted).tpot[model == name]
    own = sample().predict(achieved(), fitted[name]).tpot[model == name]
    assert np.array_equal(made, own)


@pytest.mark.long
def test_the_record_holds_what_is_found_on_the_sample() -> None:
    found, known = fit_extra(sample()), record()["experts"]
    assert known["rows_sha256"] == SHA256["expert_rows.csv"]
    assert found.layer_s == pytest.approx(known["constants"]["sample"]["layer_s"], 2e-3)
    assert found.products == pytest.approx(
        known["constants"]["sample"]["products"], 2e-3
    )
    for kind in SCORED:
        stored = known["errors"][kind][::SAMPLE]
        now = errors(blind(), sample().measured, kind)
        assert now == pytest.approx(stored, abs=1e-4)
    assert loss(sample(), found) < loss(sample(), START)


def test_times_dealt_out_anew_cannot_be_predicted() -> None:
    dealt = permuted(sample(), times=2, refitted=facts_alone)
    error = np.abs(errors(facts_alone(sample()), sample().measured, "tpot")).mean()
    assert dealt.mean() > error
    known = record()["experts"]
    assert min(known["permuted"]) > 2 * known["model left out"]["all"]["tpot"]["mean"]


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(
        ValueError, match="layer_s must be finite and at least 0, got -1"
    ):
        ExpertConstants(layer_s=-1.0, products=1.0)
    with pytest.raises(ValueError, match="start must be above 0 in all"):
        fit_extra(sample(), start=DENSE)
    one = sample().subset(sample().label("model") == sample().rows[0].model)
    with pytest.raises(ValueError, match="rows must have two labels or more"):
        without_model(one)
