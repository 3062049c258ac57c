"""The chapter's figures show what a walk over the model counts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from llmserve_lab.catalog import (
    ACCELERATORS,
    MODELS,
    PRECISIONS,
    ModelShape,
    machine,
    workload,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import charts, figures, stills
from llmserve_lab.roofline.page.controls import DEVICES, LARGE

H100, LLAMA_2 = ACCELERATORS["h100-sxm"], MODELS["llama-2-7b"]


@cache
def hierarchy() -> StaticFigure:
    return stills.hierarchy(H100, LLAMA_2)


@cache
def roof() -> StaticFigure:
    known = workload(LLAMA_2) | machine(H100) | {"context": 1024.0}
    decode, prefill = {"batch": 32.0, "chunk": 1.0}, {"batch": 1.0, "chunk": 2048.0}
    return stills.roof("A on B", decode=known | decode, prefill=known | prefill)


@pytest.mark.parametrize("make", [hierarchy, roof], ids=lambda make: make.__name__)
def test_pictures_are_drawn_the_same_twice(make: Any) -> None:
    one, other = make(), make.__wrapped__()
    assert one.svg == other.svg
    assert one.html() == other.html()
    assert f'aria-label="{one.sentence}"' in one.html()


def test_the_hierarchy_states_the_ends_of_what_it_draws() -> None:
    picture = hierarchy()
    assert "H100 SXM" in picture.sentence and "80 GB" in picture.sentence
    assert "13.5 GB" in picture.sentence
    assert "Llama-2-7B" in picture.svg
    levels = H100.memory_levels
    assert all(level.name in picture.svg for level in levels)
    bandwidths = [float(level.bandwidth) for level in levels]
    assert sorted(bandwidths, reverse=True) == bandwidths
    assert float(levels[0].bytes) < float(levels[-1].bytes) / 1000


def test_the_title_of_the_hierarchy_follows_the_model() -> None:
    assert "Only the slowest memory is large enough" in hierarchy().html()
    for model, large in (
        (MODELS["deepseek-v3"], "none of these memories"),
        (replace(MODELS["tiny-512"], n_layers=5), "registers, L2, HBM"),
    ):
        html = stills.hierarchy(H100, model).html()
        assert f"Large enough for the weights: {large}<" in html


def test_a_machine_without_a_hierarchy_is_refused() -> None:
    with pytest.raises(LookupError, match=r"memory levels listed, got a100-80-sxm"):
        stills.hierarchy(ACCELERATORS["a100-80-sxm"], LLAMA_2)


def test_the_roof_states_both_intensities_and_the_ridge() -> None:
    assert re.fullmatch(
        r"A on B: decode does 1[\d.]+ FLOP/byte and prefill does [\d,.]+ FLOP/byte; "
        r"the ridge is at 295 FLOP/byte\. Weights and cache take 30\.7 GB where 85 GB "
        r"can be held\.",
        roof().sentence,
    )


def test_the_numbers_of_the_roofline_are_those_of_a_walk() -> None:
    known = figures.roofline().values(batch=8.0, context=4096.0, chunk=512.0)
    sizes: dict[str, dict[str, Any]] = {
        "decode": {"batch": 8, "context": 4096, "chunk": 1},
        "prefill": {"batch": 1, "context": 4096, "chunk": 512},
    }
    for phase, size in sizes.items():
        bill = walk(LLAMA_2, **size)
        walked = bill.iteration_flops / bill.iteration_bytes
        assert known[f"{phase}_intensity"] == pytest.approx(walked, rel=1e-3)
    assert known["decode_side"] == 0 and known["prefill_side"] == 1


def corners(figure: LiveFigure, **fixed: str) -> Iterator[dict[str, Any]]:
    """Every choice that can be made, with every slider at one of its ends."""
    turned: dict[str, tuple[Any, ...]] = {
        c.name: c.options if isinstance(c, Choice) else (c.stops[0], c.stops[-1])
        for c in figure.controls
        if not isinstance(c, Lookup)
    }
    turned |= {name: (option,) for name, option in fixed.items()}
    for combination in product(*turned.values()):
        state = dict(zip(turned, combination, strict=True))
        device = next(a for a in DEVICES if a.name == state["accelerator"])
        if state["precision"].lower() in device.peak_flops:
            yield state


def domains(node: Any, channel: str) -> Iterator[tuple[float, float]]:
    """Ends of an axis wherever the drawn figure states them."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if isinstance(node, dict):
        if isinstance(axis := node.get(channel), dict) and "scale" in axis:
            yield tuple(axis["scale"]["domain"])
        for below in node.values():
            yield from domains(below, channel)


def test_every_point_lies_inside_the_roofline() -> None:
    """Lowest where memory is slowest; no point is above the peak of its machine."""
    figure = figures.roofline()
    slow = corners(figure, efficiency="FlashMLA, measured")
    known = [figure.values(**state) for state in slow]
    for channel, shown, unit in (
        ("x", "intensity", 1),
        ("y", "attainable_flops", 1e12),
    ):
        ((low, high),) = set(domains(figure.spec, channel))
        points = [
            each[f"{phase}_{shown}"] for each in known for phase in charts.PHASES.inks
        ]
        assert low * unit < min(points) < max(points) < high * unit
    assert max(each["peak_flops"] for each in known) < high * unit


@cache
def walked_end(model: ModelShape, chunk: int, precision: str) -> str:
    """The intensity in a cache beside which all else is nothing, as it is printed."""
    width = float(PRECISIONS[precision].bytes_kv)
    bill = walk(model, batch=1, context=10**9, chunk=chunk, bytes_kv=width)
    return si(bill.attn_flops / bill.kv_read_bytes, "FLOP/byte")


def test_both_phases_end_where_the_sentence_says() -> None:
    figure = figures.intensity_against_context()
    models = {model.name: model for model in figures.ON_ONE_DEVICE}
    for state in corners(figure, accelerator="H100 SXM", efficiency="datasheet"):
        at = [
            walked_end(models[state["model"]], chunk, state["precision"].lower())
            for chunk in (1, int(state["chunk"]))
        ]
        said = figure.caption(**state)
        assert re.search(f"decode ends at {at[0]} and a chunk of .* at {at[1]};", said)


def test_what_one_device_holds_is_what_the_sentence_says() -> None:
    for figure in (figures.roofline(), figures.iteration_time()):
        for model, batch in (("Llama-2-7B", 1), ("Llama-2-7B", 1024), ("Kimi K2", 1)):
            said = figure.caption(model=model, batch=float(batch))
            shape = next(m for m in LARGE if m.name == model)
            bill = walk(shape, batch=batch, context=1024, chunk=1)
            held = shape.weight_bytes() + bill.kv_read_bytes
            fits = "fit" if held <= float(H100.usable_bytes) else "do not fit"
            assert f"{si(held, 'byte')} and {fits} in" in said


def test_prefill_makes_keys_and_values_where_decode_works_on_latents() -> None:
    size: dict[str, Any] = {"batch": 1, "context": 2**17}
    state = {"model": "DeepSeek-V3", "chunk": 2048.0, "batch": 1.0, "context": 2.0**17}
    known = figures.iteration_time().values(**state)
    for phase, chunk in (("decode", 1), ("prefill", 2048)):
        bill = walk(MODELS["deepseek-v3"], absorbed=chunk == 1, chunk=chunk, **size)
        counted = bill.iteration_flops / float(H100.peak("bf16"))
        assert known[f"{phase}_compute_s"] == pytest.approx(counted, rel=1e-3)
    ranges = figures.roofline().sliders
    assert next(s for s in ranges if s.name == "chunk").stops[0] > 171


def test_the_bars_of_an_iteration_add_up() -> None:
    known = figures.iteration_time().values(batch=64.0, context=8192.0)
    reading = known["weights_s"] + known["decode_kv_s"]
    assert known["decode_s"] == max(reading, known["decode_compute_s"]) == reading
    computing = known["prefill_compute_s"]
    assert known["prefill_s"] == computing > known["weights_s"] + known["prefill_kv_s"]


def test_each_kind_of_attention_ends_where_a_walk_ends() -> None:
    known = figures.attention_kinds().values()
    for model in figures.KINDS:
        bill = walk(model, batch=1, context=10**9, chunk=1)
        ends = bill.attn_flops / bill.kv_read_bytes
        name = f"{model.attention.kind.lower()}_limit"
        assert known[name] == pytest.approx(ends, rel=1e-6)
    assert known["ridge"] == pytest.approx(f.RIDGE(**{
        name: value for name, value in machine(H100).items() if name != "hbm_bytes"
    }))  # fmt: skip
