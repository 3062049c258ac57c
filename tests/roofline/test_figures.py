"""The chapter's figures show what a walk over the model counts."""

import re
from functools import cache
from typing import Any

import pytest

from llmserve_lab.book.static import StaticFigure
from llmserve_lab.catalog import ACCELERATORS, MODELS, machine, workload
from llmserve_lab.roofline import figures, pictures
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.walk import walk

H100, LLAMA_2 = ACCELERATORS["h100-sxm"], MODELS["llama-2-7b"]


@cache
def hierarchy() -> StaticFigure:
    return pictures.hierarchy(H100, LLAMA_2)


@cache
def roof() -> StaticFigure:
    known = workload(LLAMA_2) | machine(H100)
    size = {"batch": 32.0, "context": 1024.0, "chunk": 2048.0}
    return pictures.roof("one on another", known | size)


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


def test_the_roof_states_both_intensities_and_the_ridge() -> None:
    assert re.fullmatch(
        r"one on another: decode does 1[\d.]+ FLOP/byte and prefill does [\d,.]+ "
        r"FLOP/byte; the ridge is at 295 FLOP/byte\.",
        roof().sentence,
    )


def test_the_numbers_of_the_roofline_are_those_of_a_walk() -> None:
    known = figures.roofline().values(batch=8.0, context=4096.0, chunk=512.0)
    for phase, size in (
        ("decode", {"batch": 8, "context": 4096, "chunk": 1}),
        ("prefill", {"batch": 1, "context": 4096, "chunk": 512}),
    ):
        bill = walk(LLAMA_2, **size)
        walked = bill.iteration_flops / bill.iteration_bytes
        assert known[f"{phase}_intensity"] == pytest.approx(walked, rel=1e-3)
    assert known["decode_side"] == 0 and known["prefill_side"] == 1


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
