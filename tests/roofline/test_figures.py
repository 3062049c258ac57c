"""The chapter's figures show what a walk over the model counts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS, machine, workload
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.roofline import bare
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.iteration_count import IterationCount, walk
from llmserve_lab.roofline.machine import MEAN_CONTEXT
from llmserve_lab.roofline.page import charts, figures, one_gpu, stills
from llmserve_lab.roofline.page.controls import DEVICES, SERVED, STOPS
from llmserve_lab.running_example import device, ideal, model

H100, LLAMA = device(), model()
PATH = [level for level in H100.memory_levels if level.name != "registers"]


def read(key: Any, **size: Any) -> IterationCount:
    """Walk an iteration of a model or its key."""
    shape = MODELS[key] if isinstance(key, str) else key
    return walk(shape, **size)


def held(shape: Any, **size: Any) -> float:
    """Bytes of all weights, and of the caches."""
    return float(shape.weight_bytes()) + walk(shape, **size).kv_read_bytes


@cache
def hierarchy() -> StaticFigure:
    return stills.hierarchy(H100, LLAMA)


@cache
def reached() -> StaticFigure:
    return one_gpu.reached()


@cache
def roof() -> StaticFigure:
    known = workload(LLAMA) | machine(H100) | {"context": 1024.0}
    decode, prefill = {"batch": 32.0, "chunk": 1.0}, {"batch": 1.0, "chunk": 2048.0}
    return stills.roof(
        "A on B", decode=known | decode, prefill=known | prefill, held_bytes=20e9
    )


@pytest.mark.parametrize("make", [hierarchy, reached, roof], ids=lambda m: m.__name__)
def test_pictures_are_drawn_the_same_twice(make: Any) -> None:
    one, other = make(), make.__wrapped__()
    assert one.svg == other.svg
    assert one.html() == other.html()
    assert f'aria-label="{one.sentence}"' in one.html()


def test_the_hierarchy_states_the_ends_of_what_it_draws() -> None:
    picture = hierarchy()
    assert "H100 SXM" in picture.sentence and "85 GB" in picture.sentence
    assert "16.1 GB" in picture.sentence and LLAMA.name in picture.sentence
    assert "registers" not in picture.svg
    for level in PATH:
        holds = H100.usable_bytes if level.name == "HBM" else level.bytes
        of_all = " of all" if level.name == "shared memory" else ""
        assert f"{level.name}{of_all}: {si(float(holds), 'byte')}" in picture.svg
        assert si(float(level.bandwidth), "byte/s") in picture.svg


def rectangles(svg: str) -> list[tuple[float, float]]:
    """Width and height of each rectangle, in the order in which they were drawn."""
    found = []
    for path in re.findall(r'<g id="patch_\d+">\s*<path d="([^"]+)"', svg):
        points = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", path)]
        x, y = points[::2], points[1::2]
        found.append((max(x) - min(x), max(y) - min(y)))
    return found


def test_areas_and_widths_of_the_hierarchy_are_to_scale() -> None:
    _, hbm, weights, *rest = rectangles(hierarchy().svg)
    levels = PATH
    boxes, pipes = rest[: len(levels) - 1], rest[len(levels) - 1 : -1]
    per_byte = hbm[0] * hbm[1] / float(H100.usable_bytes)
    held = [LLAMA.weight_bytes(), *(float(each.bytes) for each in levels[-2::-1])]
    for (wide, high), size in zip([weights, *boxes], held, strict=True):
        assert wide * high == pytest.approx(size * per_byte, rel=0.01)
    rates = [float(level.bandwidth) for level in levels[::-1]]
    per_inch = pipes[-1][0] / rates[-1]
    for (wide, _), rate in zip(pipes, rates, strict=True):
        assert wide == pytest.approx(rate * per_inch, rel=0.01)


def test_the_title_of_the_hierarchy_follows_the_model() -> None:
    assert "Only the slowest memory is large enough" in hierarchy().html()
    for shape, large in (
        (MODELS["deepseek-v3"], "none of these memories"),
        (replace(MODELS["tiny-512"], n_layers=5), "L2, HBM"),
    ):
        html = stills.hierarchy(H100, shape).html()
        assert f"Large enough for the weights: {large}<" in html


def test_a_machine_without_a_hierarchy_is_refused() -> None:
    with pytest.raises(LookupError, match=r"memory levels listed, got a100-80-sxm"):
        stills.hierarchy(ACCELERATORS["a100-80-sxm"], LLAMA)


def test_the_products_are_furthest_from_their_bound_near_the_ridge() -> None:
    assert "320 rows take 9.4 ms, where the datasheet allows 4.9 ms" in (
        reached().sentence
    )
    over = {n: bare.products_s(n) / one_gpu.least_s(n) for n in bare.rows_timed()}
    worst = max(over, key=lambda rows: over[rows])
    assert 256 < worst < 384 and over[worst] > 1.9
    assert max(over[1], over[4096]) < 1.4


def test_the_roof_states_both_intensities_and_the_ridge() -> None:
    assert re.fullmatch(
        r"A on B: decode does 2[\d.]+ FLOP/byte and prefill does [\d,.]+ FLOP/byte; "
        r"the ridge is at 295 FLOP/byte\. Weights and cache take 20 GB where 85 GB "
        r"can be held\.",
        roof().sentence,
    )


def test_the_numbers_of_the_roofline_are_those_of_a_walk() -> None:
    known = figures.roofline().values(batch=8.0, context=4096.0, chunk=512.0)
    sizes: dict[str, dict[str, Any]] = {
        "decode": {"batch": 8, "context": 4096, "chunk": 1},
        "prefill": {"batch": 1, "context": 0, "chunk": 512, "last_scored": True},
    }
    for phase, size in sizes.items():
        bill = read(LLAMA, **size)
        walked = bill.iteration_flops / bill.iteration_bytes
        assert known[f"{phase}_intensity"] == pytest.approx(walked, rel=1.5e-3)
    assert known["decode_intensity"] < known["ridge"]
    taken = held(LLAMA, **sizes["decode"])
    assert known["held_bytes"] == pytest.approx(taken)


def test_each_kind_of_kernel_has_its_own_place_on_the_roof() -> None:
    """A walk's products and its attention; decode's point lies between the two."""
    for batch, context in ((8, 4096), (32, 1100), (512, 128)):
        known = figures.roofline().values(batch=float(batch), context=float(context))
        bill = read(LLAMA, batch=batch, context=context, chunk=1)
        products = bill.linear_flops / bill.weight_bytes
        attention = bill.attn_flops / bill.kv_read_bytes
        assert known["products_intensity"] == pytest.approx(products, rel=1e-3)
        assert known["attn_intensity"] == pytest.approx(attention, rel=0.01)
        average = known["decode_intensity"]
        assert min(products, attention) < average < max(products, attention)


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
        gpu = next(a for a in DEVICES if a.name == state["accelerator"])
        if state["precision"].lower() in gpu.peak_flops:
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
    """No point is above the peak of its machine."""
    figure = figures.roofline()
    known = [figure.values(**state) for state in corners(figure)]
    phases = [(each, phase) for each in known for phase in charts.PHASES.inks]
    across = [each[f"{phase}_intensity"] for each, phase in phases]
    up = [each[f"{phase}_mfu"] * each["peak_flops"] for each, phase in phases]
    for channel, points, unit in (("x", across, 1), ("y", up, 1e12)):
        ((low, high),) = set(domains(figure.spec, channel))
        assert low * unit < min(points) < max(points) < high * unit
    for (each, _), x, y in zip(phases, across, up, strict=True):
        roof = min(each["peak_flops"], each["hbm_bw"] * x)
        assert y <= roof * (1 + 1e-9)


def test_what_can_be_set_is_below_every_maximum_context() -> None:
    longest = min(each.max_context or 0 for each in SERVED)
    assert STOPS["context"][-1] < longest
    assert STOPS["chunk"][-1] <= longest


def test_each_slider_moves_the_point_that_it_says() -> None:
    figure = figures.roofline()
    start = figure.values()
    for slider in figure.sliders:
        moved = figure.values(**{slider.name: slider.stops[-1]})
        for phase in ("decode", "prefill"):
            same = moved[f"{phase}_intensity"] == start[f"{phase}_intensity"]
            assert same != (f"moves {phase}" in slider.label)


def test_what_one_gpu_holds_is_what_the_verdict_says() -> None:
    for figure, shapes in (
        (figures.roofline(), SERVED),
        (figures.iteration_time(), (LLAMA,)),
    ):
        for shape, batch in product(shapes, (1, 512)):
            chosen = {"model": shape.name} if len(shapes) > 1 else {}
            known = figure.values(**chosen, batch=float(batch))
            taken = held(shape, batch=batch, context=MEAN_CONTEXT, chunk=1)
            fits = taken <= float(H100.usable_bytes)
            assert known["held"] == fits


def test_lines_of_batches_end_where_memory_is_full() -> None:
    figure = figures.batch_and_context()
    lowest = figure.sliders[0].stops[0]
    assert figure.values(batch=lowest)["context_fits"] < (LLAMA.max_context or 0)
    for batch in figures.BATCHES:
        end = figure.values(batch=batch, context=128.0)["context_fits"]
        at, beyond = (
            held(LLAMA, batch=int(batch), context=int(end) + more, chunk=1)
            for more in (0, 1)
        )
        assert at <= float(H100.usable_bytes) < beyond
    known = figure.values(batch=64.0, context=4096.0)
    bill = read(LLAMA, batch=64, context=4096, chunk=1)
    walked = bill.iteration_flops / bill.iteration_bytes
    assert known["decode_intensity"] == pytest.approx(walked, rel=1e-3)
    gains = [
        figure.values(batch=64.0, context=c)["decode_intensity"]
        / figure.values(batch=8.0, context=c)["decode_intensity"]
        for c in STOPS["context"]
    ]
    assert sorted(gains, reverse=True) == gains  # what the title says
    assert gains[0] > 7 > 3 > gains[-1]


def test_no_batch_lies_above_the_one_without_end_which_passes_the_ridge_early() -> None:
    figure = figures.batch_and_context()
    reaching = []
    for context in STOPS["context"]:
        known = figure.values(context=context, batch=512.0)
        one, two = (read(LLAMA, batch=b, context=int(context), chunk=1) for b in (1, 2))
        more = two.iteration_flops - one.iteration_flops
        ends = more / (two.iteration_bytes - one.iteration_bytes)
        limit = f.ENDLESS_INTENSITY.at(ideal(), chunk=1.0, context=context)
        assert known["decode_intensity"] < limit == pytest.approx(ends, rel=0.01)
        reaching.append(limit > known["ridge"])
    assert reaching == [context < 393 for context in STOPS["context"]]


def test_each_kind_of_attention_ends_where_a_walk_ends() -> None:
    known = figures.attention_kinds().values()
    for shape in figures.KINDS:
        bill = walk(shape, batch=1, context=10**9, chunk=1)
        ends = bill.attn_flops / bill.kv_read_bytes
        name = f"{shape.attention.kind.lower()}_limit"
        assert known[name] == pytest.approx(ends, rel=1e-6)
    assert known["ridge"] == pytest.approx(f.RIDGE(**{
        name: value for name, value in machine(H100).items() if name != "hbm_bytes"
    }))  # fmt: skip


def test_goals_are_not_reached_at_the_start() -> None:
    for figure in (figures.roofline(), figures.batch_and_context()):
        assert figure.goal and not figure.goal.met(figure.values())
        assert figure.goal.met(figure.values(**figure.goal.example))
