"""The live figures, part by part: places, names, readouts and sentences, by a walk."""

from functools import cache

import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import figures
from llmserve_lab.running_example import device, model
from tests.page import drawn, plotted
from tests.roofline.test_drawn import PEAK, RATE, bill, least_s

LLAMA, RIDGE = model(), PEAK / RATE
ROOM = float(device().usable_bytes)
KINDS = {"MHA": "llama-2-7b", "GQA": "llama-3-70b", "MLA": "deepseek-v3"}


@cache
def made(name: str) -> LiveFigure:
    found: LiveFigure = getattr(figures, name)()
    return found


def does(batch: float, context: float) -> float:
    """FLOPs a byte of decodes, in closed form."""
    flops = batch * (2 * LLAMA.params_active + 4 * 32 * 4096 * (context + 1))
    return flops / (2 * LLAMA.params_read + batch * context * 131_072)


# The roof.
SIZES = [(32, 1100, 1000), (512, 128, 64), (8, 4096, 2048), (512, 8192, 1000)]


@pytest.mark.parametrize(("batch", "context", "prompt"), SIZES)
def test_each_readout_of_the_roof_and_its_sentence(
    batch: int, context: int, prompt: int
) -> None:
    figure = made("roofline")
    size = {"batch": float(batch), "context": float(context), "chunk": float(prompt)}
    decode, prefill = bill(batch, context), bill(0, 0, prompt=prompt)
    both = [of.iteration_flops / of.iteration_bytes for of in (decode, prefill)]
    known, held = figure.values(**size), LLAMA.weight_bytes() + decode.kv_read_bytes
    assert plotted.readings(figure, known) == pytest.approx(
        dict(zip(("Decode: intensity", "Prefill: intensity"), both, strict=True)),
        rel=2e-3,
    )
    assert figure.words()["held"][round(known["held"])] == (
        "fit" if held <= ROOM else "do not fit"
    )
    products = decode.linear_flops / decode.weight_bytes
    assert known["products_intensity"] == pytest.approx(products, rel=2e-3)
    assert figure.caption(**size) == (
        f"Llama-3.1-8B on H100 SXM: when {batch} requests with {context} tokens in "
        f"cache decode, their products do {si(batch, 'FLOP/byte')} and their attention "
        f"does 4 FLOP/byte; the ridge is at {si(RIDGE, 'FLOP/byte')}. The prefill "
        f"reads {prompt} tokens. Weights and cache take {si(held, 'byte')} of memory."
    )


@pytest.mark.parametrize(("batch", "context", "prompt"), SIZES[:2])
def test_each_point_under_the_roof_and_its_name(
    batch: int, context: int, prompt: int
) -> None:
    figure = made("roofline")
    size = {"batch": float(batch), "context": float(context), "chunk": float(prompt)}
    phases = {"blue": bill(batch, context), "vermillion": bill(0, 0, prompt=prompt)}
    inks, points = plotted.called(figure, **size), plotted.points(figure, **size)
    for ink, name in (("blue", "decode"), ("vermillion", "prefill")):
        of = phases[ink]
        ((x, y),) = points[ink]
        reached = of.iteration_flops / least_s(of)
        assert x == pytest.approx(of.iteration_flops / of.iteration_bytes, rel=0.02)
        assert 1e12 * y == pytest.approx(reached, rel=0.02)
        assert inks[f"{name} {si(reached, 'FLOP/s')}"] == ink
    decode = phases["blue"]
    idle = 1 - decode.iteration_flops / least_s(decode) / PEAK
    assert (f"{idle:.0%} idle" in inks) == (idle > 0.15)
    (gap,) = (m for m in plotted.plotted(figure, "rule", **size) if m[0] == "blue")
    assert 1e12 * max(gap[2], gap[3]["y2_at"]) == pytest.approx(PEAK, rel=0.02)
    assert min(gap[2], gap[3]["y2_at"]) == pytest.approx(points["blue"][0][1], rel=0.02)
    kernels = {
        "its products": decode.linear_flops / decode.weight_bytes,
        "its attention": decode.attn_flops / decode.kv_read_bytes,
    }
    for (x, y), own in zip(
        sorted(points["grey"]), sorted(kernels.values()), strict=True
    ):
        assert x == pytest.approx(own, rel=0.02)
        assert y == pytest.approx(min(PEAK, RATE * own) / 1e12, rel=0.02)
    for ink, x, _, item in plotted.plotted(figure, "text", **size):
        if item.get("text") in kernels:
            assert ink == "grey"
            assert x == pytest.approx(kernels[item["text"]], rel=0.02)


def test_each_side_of_the_ridge_has_its_ground_and_name() -> None:
    figure = made("roofline")
    for ink, x, _, item in plotted.plotted(figure, "rect"):
        wide = plotted.scale(figure, up=False)(item["x"] + item["width"])
        left, right = sorted((x, wide))
        if ink == "blue":
            assert left < 1 and right == pytest.approx(RIDGE, rel=0.02)
        else:
            assert ink == "gold" and right > 1e4
            assert left == pytest.approx(RIDGE, rel=0.02)
    sides = {
        item["text"]: item["align"]
        for *_, item in plotted.plotted(figure, "text")
        if "bound" in str(item.get("text"))
    }
    assert sides == {"memory-bound": "right", "compute-bound": "left"}
    (rule,) = (m for m in plotted.plotted(figure, "rule") if m[0] == "grey")
    assert rule[1] == pytest.approx(RIDGE, rel=0.02)
    assert f"{RIDGE:.0f}" in plotted.called(figure)
    for x, y in plotted.lines(figure)["grey"]:
        assert 1e12 * y == pytest.approx(min(PEAK, RATE * x), rel=0.03)


# Batch and context.
def test_each_line_and_level_of_batch_and_context() -> None:
    figure = made("batch_and_context")
    lines, inks = plotted.lines(figure), plotted.called(figure)
    names = {"batch 1": ("blue", 1.0), "batch 64": ("green", 64.0)}
    for name, (ink, batch) in names.items():
        assert inks[name] == ink
        for context, found in lines[ink][::8]:
            assert found == pytest.approx(does(batch, context), rel=0.03)
        fits = (ROOM - LLAMA.weight_bytes()) / batch / 131_072
        end = min(fits, LLAMA.max_context or 0)
        assert lines[ink][-1][0] == pytest.approx(end, rel=0.02)
    assert inks["endless"] == "purple"
    for context, found in lines["purple"][::8]:
        assert found == pytest.approx(min(1000.0, does(1e9, context)), rel=0.03)
    levels = {y for ink, _, y, _ in plotted.plotted(figure, "rule") if ink == "grey"}
    assert sorted(levels) == pytest.approx([4, RIDGE], rel=0.03)
    texts = {
        item["text"]: y
        for _, _, y, item in plotted.plotted(figure, "text")
        if item.get("text") in ("ridge", "attention alone")
    }
    assert texts == pytest.approx({"ridge": RIDGE, "attention alone": 4}, rel=0.03)
    for _, context, edge, item in list(plotted.plotted(figure, "area"))[::8]:
        low, high = sorted((edge, item["y2_at"]))
        assert low == pytest.approx(min(1000.0, does(1e9, context)), rel=0.03)
        assert high == pytest.approx(1000, rel=0.02)
    assert inks["no batch gets here"] == "grey"


@pytest.mark.parametrize(("batch", "context"), [(32, 1100), (16, 16_384), (512, 8192)])
def test_each_readout_of_batch_and_context(batch: int, context: int) -> None:
    figure, of = made("batch_and_context"), bill(batch, context)
    size = {"batch": float(batch), "context": float(context)}
    known, held = figure.values(**size), LLAMA.weight_bytes() + of.kv_read_bytes
    assert plotted.readings(figure, known) == pytest.approx(
        {
            "Attention alone: intensity": 4.0,
            "Cache fills memory at": (ROOM - LLAMA.weight_bytes()) / batch / 131_072,
        },
        rel=2e-3,
    )
    fits = held <= ROOM
    assert figure.words()["held"][round(known["held"])] == (
        "fit" if fits else "do not fit"
    )
    ((x, y),) = plotted.points(figure, **size)["grey"]
    own = of.iteration_flops / of.iteration_bytes
    assert (x, y) == pytest.approx((context, own), rel=0.02)
    texts = drawn.texts(figure, **size)
    said = f"{context:,}" if context >= 10_000 else f"{context}"
    assert ("your batch" in texts, "memory full" in texts) == (fits, not fits)
    assert figure.caption(**size) == (
        f"Decoding {batch} requests with {said} tokens in cache does "
        f"{si(known['decode_intensity'], 'FLOP/byte')}; the ridge is at "
        f"{si(RIDGE, 'FLOP/byte')}."
    )
    assert known["decode_intensity"] == pytest.approx(own, rel=2e-3)


# The time of an iteration.
LANES = ("decode: products", "decode: attention",
         "prefill: products", "prefill: attention")  # fmt: skip


@pytest.mark.parametrize(("batch", "context", "prompt"), SIZES[:2])
def test_each_bar_of_an_iteration(batch: int, context: int, prompt: int) -> None:
    figure = made("iteration_time")
    size = {"batch": float(batch), "context": float(context), "chunk": float(prompt)}
    legend = drawn.legend(figure, **size)
    assert legend == {
        "blue": "read weights", "green": "read cache",
        "gold": "compute products", "grey": "compute attention",
    }  # fmt: skip
    want = {}
    decode, prefill = bill(batch, context), bill(0, 0, prompt=prompt)
    for lane, of in zip(LANES[::2], (decode, prefill), strict=True):
        read, work = of.weight_bytes / RATE, of.linear_flops / PEAK
        begin = max(read, work)
        want[lane, "blue"], want[lane, "gold"] = (0.0, read), (0.0, work)
        lane = lane.replace("products", "attention")
        want[lane, "green"] = begin, begin + of.kv_read_bytes / RATE
        want[lane, "grey"] = begin, begin + of.attn_flops / PEAK
    names = {
        y - 0.0: str(item["text"])
        for role, _, x, y, item in drawn._items(figure, **size)
        if role.startswith("axis-label") and x < 0
    }
    across, found = plotted.scale(figure, up=False, **size), {}
    for item in drawn.marks(figure, "rect", **size):
        middle = item["y"] + item["height"] / 2
        lane = names[min(names, key=lambda y: abs(y - middle))]
        ends = item["x"], item["x"] + item["width"]
        found[lane, item["ink"]] = tuple(across(px) / 1e3 for px in ends)
        assert (item["y"] < min(names, key=lambda y: abs(y - middle)) - 8) == (
            item["ink"] in ("blue", "green")
        )  # reading above, computing below
    assert {key: pytest.approx(at, rel=0.01, abs=2e-5) for key, at in want.items()} == (
        found
    )
    wholes = [1e3 * least_s(of) for of in (decode, prefill)]
    texts = drawn.texts(figure, **size)
    assert [float(text.removesuffix(" ms")) for text in texts] == pytest.approx(
        wholes, rel=6e-3
    )
    known = figure.values(**size)
    assert plotted.readings(figure, known) == pytest.approx(
        {
            "Read the weights": decode.weight_bytes / RATE,
            "Decode: read the cache": decode.kv_read_bytes / RATE,
        },
        rel=1e-3,
    )
    assert figure.caption(**size) == (
        f"Llama-3.1-8B on H100 SXM, by the datasheet: one decode iteration for {batch} "
        f"requests takes at least {si(known['decode_iteration_s'], 's')}; a prefill of "
        f"{prompt} tokens takes at least {si(known['prefill_iteration_s'], 's')}."
    )
    for phase, whole in zip(("decode", "prefill"), wholes, strict=True):
        assert 1e3 * known[f"{phase}_iteration_s"] == pytest.approx(whole, rel=1e-3)


# Kinds of attention.
@pytest.mark.parametrize("gpu", ["H100 SXM", "B200 SXM"])
def test_each_line_of_the_kinds_of_attention(gpu: str) -> None:
    figure, batch = made("attention_kinds"), 64
    ends, inks = dict[str, float](), plotted.called(figure, accelerator=gpu)
    lines = plotted.lines(figure, accelerator=gpu)
    for (kind, key), ink in zip(
        KINDS.items(), ("blue", "vermillion", "green"), strict=True
    ):
        shape = MODELS[key]
        assert inks[kind] == ink
        for context, found in lines[ink][::10]:
            of = walk(shape, batch=batch, context=round(context), chunk=1)
            want = of.iteration_flops / of.iteration_bytes
            assert found == pytest.approx(want, rel=0.04)
        pair, token = shape.attn_flops_per_pair(), shape.kv_bytes_per_token()
        ends[f"{kind} ends at"] = pair / token
    place = next(a for a in ACCELERATORS.values() if a.name == gpu)
    ridge = float(place.peak("bf16")) / float(place.hbm_bw)
    (level,) = (y for ink, _, y, _ in plotted.plotted(figure, "rule", accelerator=gpu))
    assert level == pytest.approx(ridge, rel=0.02)
    known = figure.values(accelerator=gpu)
    assert plotted.readings(figure, known) == pytest.approx(ends | {"Ridge": ridge})
    shown = [si(each, "FLOP/byte") for each in (*ends.values(), ridge)]
    names = ", ".join(MODELS[key].name for key in KINDS.values())
    assert figure.caption(accelerator=gpu) == (
        f"Decoding {batch} requests on {gpu}: with a long context multi-head attention "
        f"ends at {shown[0]}, grouped-query attention at {shown[1]} and latent "
        f"attention at {shown[2]}; the ridge is at {shown[3]}. The models are {names}."
    )
