"""The engine's cost of a served mixture: limits, its own count, and the predictor."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.data.trial_models import GLM_5, KIMI_K25, QWEN_35
from llmserve_lab.catalog.records.ffn import MoeFfn, SwigluFfn
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.exposure import run
from llmserve_lab.validation.kernel_form import layer_kernels
from llmserve_lab.validation.launch_form import router_kernels
from llmserve_lab.validation.protocol import protocol_of
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.served import NOTHING, seen_rows, served_constants
from llmserve_lab.validation.served_cost import mixture_cost
from llmserve_lab.validation.served_form import ServedPredictor

H100, H200 = catalog.accelerator("h100-sxm"), catalog.accelerator("h200-sxm")
GPT, MINIMAX = catalog.model("gpt-oss-120b"), catalog.model("minimax-m2.5")
LLAMA, DEEPSEEK = catalog.model("llama-3.1-8b"), catalog.model("deepseek-v3")
CROWD = 64  # clients: the engine's own run of more takes seconds


@cache
def runs() -> ServedPredictor:
    """Two runs of each model, drawn from all, counted by the engine.

    But of servers whose router was launched in pieces: the cost knows no version.
    """
    rng, by_model = np.random.default_rng(9), dict[str, list[MeasuredRow]]()
    for row in seen_rows():
        if row.clients <= CROWD and not router_kernels(row):
            by_model.setdefault(row.model, []).append(row)
    drawn = [rng.permutation(len(rows))[:2] for rows in by_model.values()]
    return ServedPredictor(
        [
            rows[place]
            for rows, places in zip(by_model.values(), drawn, strict=True)
            for place in places
        ]
    )


def of_row(row: MeasuredRow) -> IterationCost:
    return mixture_cost(
        row.shape,
        row.accelerator,
        tp=row.tp,
        precision=row.precision,
        kv_bytes=protocol_of(row).kv_bytes,
        engine=row.engine,
    )


def test_the_engine_takes_as_long_as_the_predictor_says() -> None:
    """Each benchmark is run by real times, and not by counts that are priced after.

    The predictor counts attention request by request, the cost has a line in sums of
    an iteration. Both are one where windows are full and prompts whole; an indexer's
    2,048 tokens are not full in prompts of 1,000, and charged as if they were. What
    vLLM takes along a context is in the predictor alone.
    """
    extra = replace(served_constants(), context_s=0.0)
    times = runs().served(achieved(), extra)
    for place, row in enumerate(runs().rows):
        report = run(row, of_row(row), protocol=protocol_of(row))
        off = float(np.mean(report.tpot_s)) / times.tpot[place] - 1
        ttft_s = float(np.mean(report.ttft_s)) + achieved().client_s
        late = ttft_s / times.ttft[place] - 1
        if row.shape == GLM_5:
            assert 0 <= off < 0.01 and 0 <= late < 0.05
        else:
            assert abs(off) < 2e-4 and abs(late) < 2e-3
    missing = {row.model for row in seen_rows()} - {row.model for row in runs().rows}
    assert missing == {"Qwen/Qwen3-Coder-30B-A3B", "zai-org/GLM-4.7-Flash"}


def lone() -> ModelShape:
    """The running example's model, as a mixture of one expert that each row chooses."""
    wide = LLAMA.ffn
    assert isinstance(wide, SwigluFfn)
    ffn = MoeFfn(
        d_ff=wide.d_ff,
        n_experts=1,
        n_shared=0,
        top_k=1,
        n_dense_layers=0,
        d_ff_dense=wide.d_ff,
        router_bias=False,
    )
    return replace(LLAMA, ffn=ffn)


@pytest.mark.parametrize(("gpu", "tp"), [("h100-sxm", 1), ("h200-sxm", 4)])
def test_one_expert_of_one_is_a_dense_model(gpu: str, tp: int) -> None:
    """With a dense layer's time for its kernels; a router of one column is beside it.

    The form counts no row of the LM head, the dense machine does.
    """
    device, reached = catalog.accelerator(gpu), achieved()
    kernels = layer_kernels(lone(), precision="bf16", tp=tp)
    alike = replace(NOTHING, kernel_s=reached.layer_s / kernels)
    ours = mixture_cost(lone(), device, tp=tp, extra=alike)
    dense = running_example.served_by(LLAMA, device, tp=tp)
    head = LLAMA.vocab * LLAMA.d_model / LLAMA.params_active
    assert ours.row_s == pytest.approx(dense.row_s * (1 - head), rel=1e-4)
    for rows in (1, 8, 512):
        assert ours.read_s(rows) == pytest.approx(dense.read_s(rows), rel=1e-4)
    for name in ("pair_s", "kv_token_s", "overhead_s", "request_s", "prompt_s"):
        assert getattr(ours, name) == pytest.approx(getattr(dense, name), rel=1e-6)
    for name in ("kv_bytes_per_token", "kv_copies", "weight_bytes", "hbm_bytes"):
        assert getattr(ours, name) == pytest.approx(getattr(dense, name), rel=1e-3)
    assert ours.collective_row_s == pytest.approx(dense.collective_row_s, rel=1e-6)


def test_served_by_asks_for_the_mixture_s_own_form() -> None:
    """A decode step of Qwen3-235B by hand, from dimensions and constants."""
    shape, reached, extra = catalog.model("qwen3-235b-a22b"), achieved(), None
    extra = served_constants()
    cost = running_example.served_by(shape, H200, tp=8, precision="fp8")
    layers, width, inner, experts, chosen, vocab = 94, 4096, 1536, 128, 8, 151_936
    heads, kv_heads, head = 64, 4, 128
    attention = width * heads * head * 2 + width * kv_heads * head * 2
    expert, router = 3 * width * inner, width * experts
    rows, context = 32, 2000
    touched = experts * (1 - (1 - chosen / experts) ** rows)
    bytes_s, flops = 4.8e12 * reached.memory, 989.4e12 * reached.compute
    flops *= (1979 / 989.4) ** reached.exponent
    touched *= extra.touched
    read = layers * (attention + router + touched * expert) + 2 * vocab * width
    rest, routed = (2 * layers * n / 8 / flops for n in (attention + router, expert))
    computing = rows * (rest + chosen * routed * extra.products)
    reading = read / 8 / bytes_s
    hidden = reached.overlap * min(computing, reading)
    kernels_s = layers * (13 + 2 + 4) * extra.kernel_s
    cache_s = rows * context * layers * 2 * head / bytes_s  # a head of each, an 8 bit
    pairs_s = rows * (context + 1) * layers * 4 * heads * head / 8
    pairs_s /= 989.4e12 * reached.compute
    sent_s = rows * layers * 2 * 2 * 7 / 8 * width * 2 / (450e9 * reached.link)
    expected = computing + reading - hidden + kernels_s + cache_s + pairs_s + sent_s
    expected += rows * reached.request_s
    load = IterationLoad.of(chunk=1, context=context).times(rows)
    assert cost.seconds(load) == pytest.approx(expected, rel=2e-3)


def test_more_kernels_take_longer() -> None:
    """Each thing that a layer has more of costs its kernels' time, in all layers."""
    load, extra = IterationLoad.of(chunk=1, context=1000), served_constants()
    counts = {tp: layer_kernels(GPT, precision="fp4", tp=tp) for tp in (1, 2)}
    one, two = (mixture_cost(GPT, H100, tp=tp, precision="fp4") for tp in (1, 2))
    more_s = GPT.n_layers * (counts[2] - counts[1]) * extra.kernel_s
    assert two.overhead_s - one.overhead_s == pytest.approx(more_s)
    slow = replace(extra, kernel_s=2 * extra.kernel_s)
    twice = mixture_cost(GPT, H100, precision="fp4", extra=slow)
    assert twice.seconds(load) - one.seconds(load) == pytest.approx(one.overhead_s)
    wide = replace(extra, products=2 * extra.products)
    wider = mixture_cost(GPT, H100, precision="fp4", extra=wide)
    assert one.row_s < wider.row_s < 2 * one.row_s


@pytest.mark.parametrize(
    ("shape", "tp", "precision"),
    [(GPT, 1, "fp4"), (KIMI_K25, 8, "int4"), (GLM_5, 8, "fp8"), (QWEN_35, 8, "fp8")],
)
def test_whatever_is_carried_more_takes_longer(
    shape: ModelShape, tp: int, precision: str
) -> None:
    """Windows, latents, indexers and matrices: no field turns below zero."""
    cost = mixture_cost(
        shape, catalog.accelerator("b200-sxm"), tp=tp, precision=precision
    )
    some = IterationLoad.of(chunk=1, context=3000).times(8)
    for more in (
        IterationLoad.of(chunk=1, context=3000),
        IterationLoad.of(chunk=512, context=0),
        IterationLoad.of(chunk=512, context=3000),
    ):
        assert cost.seconds(some.plus(more)) > cost.seconds(some)
    longer = IterationLoad.of(chunk=1, context=6000).times(8)
    assert cost.seconds(longer) > cost.seconds(some)


def test_a_window_costs_its_tokens_and_no_more() -> None:
    """gpt-oss: half of the layers read 127 tokens of cache, however many there are."""
    cost = mixture_cost(GPT, H100, precision="bf16")
    token = 2 * 8 * 64 * 2 * 18 / (float(H100.hbm_bw) * achieved().memory)
    pair = 4 * 64 * 64 * 18 / (float(H100.peak("bf16")) * achieved().compute)
    short, long = (
        cost.seconds(IterationLoad.of(chunk=1, context=n)) for n in (1000, 9000)
    )
    assert long - short == pytest.approx(8000 * (token + pair), rel=1e-6)
    bare = mixture_cost(replace(GPT, key="without a window"), H100)
    filled = bare.seconds(IterationLoad.of(chunk=1, context=127))
    assert cost.seconds(IterationLoad.of(chunk=1, context=127)) == pytest.approx(filled)


def test_what_cannot_be_priced_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="shape must be of a mixture of experts"):
        mixture_cost(LLAMA, H100)
    with pytest.raises(ValueError, match="shape must be of a mixture of experts"):
        layer_kernels(LLAMA, precision="bf16", tp=1)
    with pytest.raises(ValueError, match="tp must divide the 64 heads"):
        mixture_cost(GPT, H100, tp=3)
    with pytest.raises(ValueError, match="tp must be at most 8, the devices that"):
        mixture_cost(DEEPSEEK, H100, tp=16, precision="fp8")
    with pytest.raises(LookupError, match="precision must be one of"):
        mixture_cost(GPT, H100, precision="fp7")
    with pytest.raises(TypeError, match="gpu must be of type Accelerator"):
        mixture_cost(GPT, "h100-sxm")  # type: ignore[arg-type]


def test_four_bits_are_widened_where_nothing_computes_in_four() -> None:
    """gpt-oss in four bits on an H100: the products of sixteen, experts in four.

    But for the constant of such products, which is fitted on every kind of GPU.
    """
    plain = replace(served_constants(), four_bits=1.0)
    four, wide = (
        mixture_cost(GPT, H100, precision=each, extra=plain) for each in ("fp4", "bf16")
    )
    assert four.row_s == pytest.approx(wide.row_s)
    assert four.experts_s == pytest.approx(wide.experts_s * (4 + 8 / 16) / 16)
    assert four.weights_s == pytest.approx(wide.weights_s)
    assert four.kv_bytes_per_token == wide.kv_bytes_per_token / 2
    assert four.kv_blocks() > 0


def test_products_of_experts_in_four_bits_take_their_share() -> None:
    """By hand, of gpt-oss on a B200: four of 128 experts, three matrices of each."""
    device, reached = catalog.accelerator("b200-sxm"), achieved()
    extra = replace(served_constants(), four_bits=0.5)
    less, more = (
        mixture_cost(GPT, device, precision="fp4", extra=each)
        for each in (extra, replace(extra, four_bits=1.0))
    )
    wide, four = (float(device.peak(each)) for each in ("bf16", "fp4"))
    flops = wide * reached.compute * (four / wide) ** reached.exponent
    product_s = 36 * 4 * 3 * 2 * 2880 * 2880 / flops * extra.products
    assert more.row_s - less.row_s == pytest.approx(
        product_s / 2, rel=1e-3
    )  # and biases
    rest = replace(more, row_s=less.row_s)
    assert rest == less


def test_prompts_of_one_engine_bring_launches() -> None:
    """So many times the kernels of a decode; of an iteration, not of each prompt."""
    extra = served_constants()
    ours, other = (
        mixture_cost(GPT, H100, precision="fp4", engine=name)
        for name in ("sglang", "vllm")
    )
    assert other == mixture_cost(GPT, H100, precision="fp4")
    decode = IterationLoad.of(chunk=1, context=1000)
    assert ours.seconds(decode) == other.seconds(decode)
    prompts = IterationLoad.of(chunk=512, context=0)
    for load in (prompts, prompts.times(3)):
        more_s = ours.seconds(load) - other.seconds(load)
        assert more_s == pytest.approx(extra.launched * other.overhead_s)


def test_memory_holds_what_each_device_has_in_whole() -> None:
    """DeepSeek-V3's first projections lie on all eight; the latent of a token too."""
    cost = running_example.served_by(DEEPSEEK, H200, tp=8, precision="fp8")
    again = 7 * 61 * 7168 * (1536 + 576)
    tables = 129_280 * 7168  # the embedding and the LM head in 16 bits, one more byte
    expected = DEEPSEEK.params_total + again + 2 * tables
    assert cost.weight_bytes == pytest.approx(expected, rel=1e-4)
    assert cost.kv_bytes_per_token * cost.kv_copies == 8 * 61 * 576
