"""What full memories, other choices and goals change, and the roof of the bench."""

import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS, machine, workload
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import stills
from tests.page import drawn, seen
from tests.roofline.test_drawn import PEAK, RATE, bill, least_s
from tests.roofline.test_live_parts import LLAMA, RIDGE, ROOM, made

FULL = {"batch": 512.0, "context": 8192.0}  # caches that do not fit


def faint(name: str, kind: str, **size: float) -> list[bool]:
    """Which marks of a kind are faint, from left to right, from top to bottom."""
    marks = drawn.marks(made(name), kind, **size)
    marks.sort(key=lambda m: (m["y"], m["x"]))
    return [m.get("opacity", 1) < 0.5 for m in marks if m["ink"] != "?"]


def test_bars_and_points_of_a_batch_that_does_not_fit_are_faint() -> None:
    """Of decode: its four bars are the upper ones. Prefill runs one prompt."""
    assert faint("iteration_time", "rect") == 8 * [False]
    assert faint("iteration_time", "rect", **FULL) == 4 * [True] + 4 * [False]
    assert faint("batch_and_context", "symbol") == [False]
    assert faint("batch_and_context", "symbol", **FULL) == [True]


@pytest.mark.parametrize("gpu", ["H100 SXM", "H200 SXM", "B200 SXM"])
@pytest.mark.parametrize("precision", ["BF16", "FP8"])
def test_each_choice_of_a_gpu_and_a_precision_has_its_own_numbers(
    gpu: str, precision: str
) -> None:
    known = made("roofline").values(accelerator=gpu, precision=precision)
    place = next(a for a in ACCELERATORS.values() if a.name == gpu)
    width = {"BF16": 2, "FP8": 1}[precision]
    assert known["peak_flops"] == float(place.peak(precision.lower()))
    assert known["hbm_bw"] == float(place.hbm_bw)
    assert known["hbm_bytes"] == float(place.usable_bytes)
    assert known["bytes_weight"] == width
    assert known["weight_bytes"] == width * LLAMA.params_read
    assert known["stored_bytes"] == width * LLAMA.params_total
    assert known["kv_bytes_per_token"] == width * 2 * 32 * 8 * 128


@pytest.mark.parametrize("key", ["llama-3.1-8b", "qwen3-32b", "llama-3.1-70b"])
def test_each_choice_of_a_model_has_its_own_numbers(key: str) -> None:
    shape = MODELS[key]
    known = made("roofline").values(model=shape.name, batch=8.0)
    decode = walk(shape, batch=8, context=1100, chunk=1)
    prompt = walk(shape, batch=1, context=0, chunk=1000, last_scored=True)
    for phase, of in (("decode", decode), ("prefill", prompt)):
        want = of.iteration_flops / of.iteration_bytes
        assert known[f"{phase}_intensity"] == pytest.approx(want, rel=3e-3)
    assert known["held_bytes"] == shape.weight_bytes() + decode.kv_read_bytes


def test_each_goal_is_met_where_its_words_hold() -> None:
    roof, level = (made(name).goal for name in ("roofline", "batch_and_context"))
    assert roof and "idle share below a third; all must fit" in str(roof.sentence)
    assert level and "more than half of the memory, below a twentieth of the ridge" in (
        str(level.sentence)
    )
    reached = set()
    sizes = ((512, 128), (256, 128), (512, 1024), (16, 16_384), (4, 32_768), (64, 2048))
    for batch, context in (*sizes, (8, 16_384), (512, 8192)):
        size = {"batch": float(batch), "context": float(context)}
        of = bill(batch, context)
        held = LLAMA.weight_bytes() + of.kv_read_bytes
        idle = 1 - of.iteration_flops / least_s(of) / PEAK
        one = 3 * idle < 1 and held <= ROOM
        does = of.iteration_flops / of.iteration_bytes
        two = ROOM / 2 < held <= ROOM and does < RIDGE / 20
        assert roof.met(made("roofline").values(**size)) == one
        assert level.met(made("batch_and_context").values(**size)) == two
        reached.add((one, two))
    assert {(True, False), (False, True), (False, False)} <= reached


def test_each_part_of_the_roof_of_the_bench() -> None:
    known = workload(LLAMA) | machine(ACCELERATORS["h100-sxm"]) | {"context": 1100.0}
    sizes = {"decode": (32.0, 1.0), "prefill": (1.0, 1000.0)}
    phases = {
        name: known | {"batch": batch, "chunk": chunk}
        for name, (batch, chunk) in sizes.items()
    }
    phases["prefill"] |= {"context": 0.0}
    (panel,) = drawn.panels(
        lambda: stills.roof(
            "A", decode=phases["decode"], prefill=phases["prefill"], held_bytes=20e9
        )
    )
    line, level, *dots = panel.lines
    for x, y in line.get_xydata():
        assert 1e12 * y == pytest.approx(min(PEAK, RATE * x))
    assert list(level.get_xdata()) == pytest.approx([RIDGE] * 2)
    names = {t.get_text(): t for t in panel.texts}
    assert names["ridge"].xy[0] == pytest.approx(RIDGE)
    walks = bill(32, 1100), walk(LLAMA, batch=1, context=0, chunk=1000)
    for dot, (name, ink), of in zip(
        dots, (("decode", "blue"), ("prefill", "vermillion")), walks, strict=True
    ):
        ((x, y),) = dot.get_xydata()
        assert seen._name(dot.get_color()) == ink == seen._name(names[name].get_color())
        assert x == pytest.approx(of.iteration_flops / of.iteration_bytes, rel=5e-3)
        assert 1e12 * y == pytest.approx(min(PEAK, RATE * x))
        assert names[name].xy == pytest.approx((x, y))
    assert panel.get_xlabel() == "arithmetic intensity (FLOP/byte)"
    assert panel.get_ylabel() == "attainable compute (TFLOP/s)"
