"""The live figures: their sentence is complete, and every control changes a number."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from llmserve_lab.book.controls import Choice, Lookup, Slider
from llmserve_lab.book.live import LiveFigure
from llmserve_lab.book.static import StaticFigure
from llmserve_lab.catalog import ACCELERATORS, MODELS, machine, workload
from llmserve_lab.roofline import figures, pictures
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.walk import walk

MAKERS = [figures.roofline, figures.intensity_against_context, figures.iteration_time,
          figures.attention_kinds]  # fmt: skip
H100, LLAMA_2 = ACCELERATORS["h100-sxm"], MODELS["llama-2-7b"]
every_figure = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
Maker = Callable[[], LiveFigure]


@cache
def hierarchy() -> StaticFigure:
    return pictures.hierarchy(H100, LLAMA_2)


@cache
def roof() -> StaticFigure:
    known = workload(LLAMA_2) | machine(H100)
    size = {"batch": 32.0, "context": 1024.0, "chunk": 2048.0}
    return pictures.roof("one on another", known | size)


@cache
def page(make: Maker) -> str:
    """A figure as its page has it."""
    return make()._repr_mimebundle_()["text/html"]


def others(control: Any) -> list[Any]:
    """Settings of a control besides its default."""
    every = control.stops if isinstance(control, Slider) else control.options
    return [setting for setting in every if setting != control.default]


def states(figure: LiveFigure) -> list[tuple[str, Any]]:
    """Each control moved alone to each of its settings."""
    turned = [c for c in figure.controls if not isinstance(c, Lookup)]
    return [
        (control.name, setting) for control in turned for setting in others(control)
    ]


def exists(figure: LiveFigure, **settings: Any) -> bool:
    """Whether the machine computes in the precision."""
    try:
        figure.values(**settings)
    except ValueError as error:
        assert "has no value" in str(error)
        return False
    return True


@every_figure
def test_the_caption_has_no_open_field_in_any_state(make: Maker) -> None:
    figure = make()
    for name, setting in states(figure):
        if exists(figure, **{name: setting}):
            caption = figure.caption(**{name: setting})
            assert "{" not in caption and "nan" not in caption
            assert caption.endswith(".")


@every_figure
def test_every_control_changes_a_number_or_moves_a_line(make: Maker) -> None:
    figure = make()
    shown = {readout.name for readout in figure.readouts}
    start = figure.values()
    drawn = json.dumps({k: v for k, v in figure.spec.items() if k != "params"})
    for control in figure.controls:
        if isinstance(control, Lookup):
            continue
        moved = [
            figure.values(**{control.name: setting})
            for setting in others(control)
            if exists(figure, **{control.name: setting})
        ]
        numbers = any(after[name] != start[name] for after in moved for name in shown)
        assert numbers or re.search(rf"\b{control.name}\b", drawn), control.name


@every_figure
def test_every_choice_is_told_apart_in_the_caption(make: Maker) -> None:
    figure = make()
    for control in figure.controls:
        if isinstance(control, Choice) and f"{{{control.name}}}" in figure.sentence:
            for option in control.options:
                assert option in figure.caption(**{control.name: option})


@every_figure
def test_the_page_has_picture_and_alternative_text(make: Maker) -> None:
    figure = make()
    html = page(make)
    label = re.search(r'role="img" aria-label="([^"]*)"', html)
    assert label and label.group(1) == figure.caption()
    assert "<svg" in html and figure.title in html


@every_figure
def test_two_calls_print_the_same_bytes(make: Maker) -> None:
    assert make()._repr_mimebundle_()["text/html"] == page(make)


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
