"""Mixtures with latent attention: facts counted otherwise, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.data.trial_models import DEEPSEEK_R1, GLM_5, KIMI_K25
from llmserve_lab.engine import Pool, simulate
from llmserve_lab.validation import MeasuredRow, achieved
from llmserve_lab.validation.checkpoints import parts, read_bytes, row_s
from llmserve_lab.validation.expert_form import DENSE
from llmserve_lab.validation.experts import expert_cost, stored_runs
from llmserve_lab.validation.exposure import ONE_ITERATION
from llmserve_lab.validation.latent_form import (
    LatentPredictor,
    latent_cost,
    latent_exposures,
    weighed,
)
from llmserve_lab.validation.latent_rows import (
    LatentRow,
    latent_of,
    latent_rows,
    token_bytes,
)
from llmserve_lab.validation.protocol import BLOCK_TOKENS, protocol_of, requests_of

R1 = LatentRow(
    model="deepseek-ai/DeepSeek-R1-0528", system="h200-sxm", engine="sglang",
    precision="fp8", tp=8, prompt_len=8192, output_len=1024, clients=16,
    ttft_s=1.0, tpot_s=0.02, public=True,
)  # fmt: skip
KIMI = replace(R1, model="moonshotai/Kimi-K2.5", engine="vllm", precision="int4")
GLM = replace(R1, model="zai-org/GLM-5")


def test_shapes_add_up_to_what_their_makers_say() -> None:
    assert catalog.model("deepseek-v3") == DEEPSEEK_R1  # the same tensors
    assert catalog.model("kimi-k2") == KIMI_K25
    assert KIMI_K25.max_context == 2 * (catalog.model("kimi-k2").max_context or 0)
    for name, near in (("params_total", 1e-3), ("params_active", 0.03)):
        said = float(GLM_5.published[name])
        assert getattr(GLM_5, name) == pytest.approx(said, rel=near)


def test_a_token_is_kept_in_whole_on_each_device() -> None:
    for row in (R1, replace(R1, tp=4, system="b200-sxm", precision="fp4")):
        assert token_bytes(row, 2) == 70_272 == DEEPSEEK_R1.kv_bytes_per_token(2)
    assert token_bytes(GLM, 2) == 78 * (2 * 576 + 128)
    assert token_bytes(GLM, 1) == GLM_5.kv_bytes_per_token(1)
    bytes_s = float(R1.accelerator.hbm_bw) * achieved().memory
    read_s = latent_cost(R1, achieved(), DENSE).kv_token_s
    assert read_s == pytest.approx(70_272 / bytes_s)
    assert latent_cost(GLM, achieved(), DENSE).kv_token_s == pytest.approx(
        78 * 576 * 2 / bytes_s
    )


def test_room_is_what_the_weights_leave() -> None:
    """Of H200s' 82 % less all weights of a device, in whole tokens of 70,272 bytes."""
    told = protocol_of(R1)
    whole = 61 * 7168 * (1536 + 576)  # not cut, in eight bits
    table = 129_280 * 7168
    held = (DEEPSEEK_R1.params_total - 2 * table - whole) / 8 + whole + table * 4 / 8
    room = 0.82 * float(R1.accelerator.usable_bytes) - held - 0.9e9
    by_hand = room / 70_272 / BLOCK_TOKENS
    assert told.kv_blocks(R1) == pytest.approx(by_hand, rel=1e-3)
    with pytest.raises(ValueError, match="no room for a cache"):
        replace(R1, tp=4)


def test_parts_are_all_of_the_model_and_some_of_it_eight_times() -> None:
    for row in (R1, KIMI, GLM):
        shape = row.shape
        all_parts = sum(each.params for each in parts(row)) * row.tp
        first = shape.d_model * ((latent_of(row).d_q or 0) + 576)
        indexer = sum(t.params for t in shape.tensors() if t.name.startswith("indexer"))
        again = 7 * (shape.n_layers * first + indexer)
        stored = shape.params_total - shape.vocab * shape.d_model
        assert all_parts == pytest.approx(stored + again, rel=1e-12)


def test_a_checkpoint_in_int4_has_it_in_its_experts_alone() -> None:
    experts = 60 * 384 * 3 * 7168 * 2048
    assert read_bytes(KIMI, routed=True) == pytest.approx(experts * 9 / 16 / 8)
    rest = KIMI_K25.params_total - experts - 163_840 * 7168
    again = 7 * 61 * 7168 * (1536 + 576)
    assert read_bytes(KIMI, routed=False) == pytest.approx((rest + again) * 2 / 8)
    nvfp4 = replace(KIMI, precision="fp4", system="b200-sxm")
    assert read_bytes(nvfp4, routed=False) < read_bytes(KIMI, routed=False)


def test_numbers_in_int4_are_widened_to_multiply() -> None:
    """Seconds with the experts as in 16 bits, on Blackwell too."""
    row = replace(KIMI, system="b200-sxm")
    flops_16 = float(row.accelerator.peak("bf16")) * achieved().compute
    met = 60 * 8 * 3 * 7168 * 2048 / 8
    assert row_s(row, achieved(), routed=True) == pytest.approx(2 * met / flops_16)
    faster = row_s(replace(row, precision="fp4"), achieved(), routed=True)
    assert faster == pytest.approx(met / flops_16)


def worked(row: LatentRow) -> tuple[float, float]:
    """FLOPs of attention and bytes of cache of one device, request by request."""
    told, spec = protocol_of(row), latent_of(row)
    pool = Pool(
        ONE_ITERATION, told.policy, kv_blocks=told.kv_blocks(row),
        block_tokens=BLOCK_TOKENS,
    )  # fmt: skip
    report = simulate(requests_of(row), pool, clients=row.clients, log=True, leap=False)
    assert report.log is not None
    heads, layers = spec.n_heads / row.tp, row.shape.n_layers
    flops = kept = 0.0
    for iteration in report.log:
        prompts = {number for number, *_ in iteration.chunks}
        for each in iteration.scheduled:
            sees = each.context + np.arange(1, each.rows + 1)
            if row.model != "zai-org/GLM-5":
                kept += each.context * 576 * told.kv_bytes * layers
                wide = 320 if each.id in prompts else 1088  # expanded, or absorbed
                flops += 2 * heads * wide * sees.sum() * layers
                again = each.context if each.id in prompts else 0
                flops += 2 * again * 512 * 256 * heads * layers
            else:
                flops += 2 * heads * 1088 * np.minimum(sees, 2048).sum() * layers
                flops += 2 * 32 * 128 / 2**0.5 * sees.sum() * layers  # eight bits
                most = 2048 if each.id in prompts else 2047
                kept += min(each.context, most) * 576 * told.kv_bytes * layers
                kept += each.context * 128 * layers
    return flops, kept


@pytest.mark.parametrize(
    ("row", "lengths"),
    [
        (R1, (900, 40)),
        (replace(R1, engine="trtllm"), (2000, 40)),
        (KIMI, (9000, 30)),  # in two chunks
        (GLM, (900, 40)),
        (GLM, (1900, 400)),  # from below to above what a row attends to
        (GLM, (5000, 40)),
    ],
)
def test_attention_is_counted_as_it_would_be_one_by_one(
    row: LatentRow, lengths: tuple[int, int]
) -> None:
    """One client alone: all of a run is its first tokens and its decodes."""
    prompt, output = lengths
    row = replace(row, prompt_len=prompt, output_len=output, clients=1, public=False)
    found = latent_exposures(row)
    cost = latent_cost(row, achieved(), DENSE)
    flops_16 = float(row.accelerator.peak("bf16")) * achieved().compute
    bytes_s = float(row.accelerator.hbm_bw) * achieved().memory
    flops, kept = (each / len(requests_of(row)) for each in worked(row))

    def total(name: str) -> float:
        first, each = (getattr(part, name) for part in (found.ttft, found.tpot))
        return float(first + (output - 1) * each)

    assert total("pairs") * cost.pair_s * flops_16 == pytest.approx(flops, rel=2e-5)
    assert total("kv_tokens") * cost.kv_token_s * bytes_s == pytest.approx(kept)


def test_without_weights_attention_is_that_of_the_engine() -> None:
    """Decodes alone are absorbed pairs: prompts apart, nothing is weighed."""
    weights = weighed(R1)
    assert (weights.scored_pair, weights.key) == (0, 0)
    assert weights.prompt_pair == pytest.approx(320 / 1088)
    assert weighed(replace(R1, engine="trtllm")) == weights
    with pytest.raises(ValueError, match="row must have latent attention"):
        weighed(stored_runs()[0])


def test_rows_priced_together_are_those_priced_alone() -> None:
    rows = [replace(each, clients=3, output_len=64) for each in (R1, KIMI, GLM)]
    predictor = LatentPredictor(rows)
    times = predictor.predict(achieved())
    for place, row in enumerate(rows):
        cost = latent_cost(row, achieved(), DENSE)
        counted = predictor.exposures[place]
        assert times.tpot[place] == pytest.approx(counted.tpot.seconds(cost))


def test_half_as_many_devices_read_less_than_twice_the_rest() -> None:
    """What is not cut is read in full by either; the experts are cut."""
    eight = replace(R1, system="b200-sxm")
    four = replace(eight, tp=4)
    rest = read_bytes(four, routed=False) / read_bytes(eight, routed=False)
    assert 1.2 < rest < 1.9
    twice = 2 * read_bytes(eight, routed=True)
    assert read_bytes(four, routed=True) == pytest.approx(twice)


@pytest.mark.parametrize("row", [R1, KIMI, GLM])
def test_the_blind_machine_prices_such_rows_too(row: MeasuredRow) -> None:
    """It divides what is not cut; so the rest that each device reads is less."""
    plain, served = expert_cost(row, achieved()), latent_cost(row, achieved(), DENSE)
    assert served.experts_s == pytest.approx(plain.experts_s)
    assert served.weights_s > plain.weights_s
    assert served.expert_miss == plain.expert_miss


LINE = {
    "model": "zai-org/GLM-5", "system": "h200_sxm", "engine": "sglang",
    "precision": "fp8", "tp": "8", "isl": "1024", "osl": "1024", "clients": "4",
    "ttft_ms": "100", "tpot_ms": "10",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": "zai-org/GLM-4"}, "model must be one of"),
        ({"system": "b300_sxm"}, "system must be one of"),
        ({"precision": "int8"}, "precision must be one of"),
        ({"tp": "16"}, "tp must be at most 8, got 16"),
        ({"tp": "4"}, "the weights leave no room for a cache"),
        ({"tpot_ms": "0"}, "tpot_s must be positive"),
    ],
)
def test_what_is_not_known_is_counted_by_reason(
    changes: dict[str, str], why: str
) -> None:
    found = latent_rows([{**LINE, **changes}, LINE])
    assert len(found.rows) == 1 and found.rows[0].public
    (reason,) = found.left_out
    assert reason.startswith(why)
