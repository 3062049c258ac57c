"""The figures show what the twin computes."""

import re
from functools import partial

import numpy as np
import pytest

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.group_size import WAYS
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.deepseek.executed.mla import FORMS, TINY, execute
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page import (
    charts,
    controls,
    evidence,
    figures,
    group,
    latent,
    playground,
    stills,
    tables,
)
from tests.deepseek.twins import twin
from tests.page import drawn

H100 = SETUPS["9 × 8 H100"]


def test_every_context_on_a_slider_can_be_read_by_both_models() -> None:
    limits = [shape.max_context or 0 for shape in controls.SHAPES]
    assert 0 < max(controls.STOPS["context"]) <= min(limits)
    assert 2 * max(controls.STOPS["context"]) > min(limits)


def test_two_halves_pay_from_where_the_page_says() -> None:
    """Walked down from many requests."""
    n = worked.MANY
    while worked.step_ms(n - 1, "halves") < worked.step_ms(n - 1, "none"):
        n -= 1
    assert n == worked.fewest()


@pytest.mark.parametrize("context", [1000.0, 2000.0, 4000.0])
@pytest.mark.parametrize("ep", [32, 72])
def test_inside_a_rack_two_halves_never_pay(ep: int, context: float) -> None:
    rack = setup("gb200-nvl72", ep)
    for batch in (8.0, 16.0, 32.0, 64.0, 96.0, 128.0, 192.0, 256.0):
        size = {"batch": batch, "context": context}
        halves, turn = (twin(rack, overlap=way) for way in WAYS)
        if float(turn.batch_fits(context)) >= batch:
            assert halves.step_s(**size) > turn.step_s(**size)


def test_the_bars_of_a_step_are_the_twins_blocks() -> None:
    known = figures.waterfall().values(
        balancedness=1.0, gpu_requests=128.0, context=4000.0
    )
    alone = twin(H100, overlap="none", balancedness=1.0)
    blocks = alone.blocks(batch=128, context=4000)
    for name in set(blocks) - {"host_s"}:
        seconds = blocks[name]
        assert known[name] == pytest.approx(float(seconds), rel=1e-9)
    assert known["turn_s"] == pytest.approx(sum(map(float, blocks.values())))
    assert known["room"] == 1.0
    assert figures.waterfall().values(ep=8.0)["room"] == 0.0


def test_a_form_is_drawn_as_it_ran() -> None:
    """Every rectangle is a vector of the executed pass, to scale."""
    figure = latent.two_forms()
    for form, name in latent.NAMES.items():
        cells = figure.logs[name].tables["cells"]
        steps = execute(form, n_rows=1, context=latent.CACHED).steps
        shown = [step for step in steps if step.name in latent.PLACES]
        for at, step in enumerate(shown, 1):
            drawn = [
                row
                for row in cells
                if row["since"] == at
                and row["ink"] not in ("cache", "weights", "other")
            ]
            area = sum(row["x2"] - row["x"] for row in drawn)
            assert area == pytest.approx(np.prod(step.shape))
    plain, absorbed = (
        [float(each) for each in log.frames[-1].counters]
        for log in figure.logs.values()
    )
    assert plain[0] > 0 == absorbed[0]
    ran = {form: execute(form, n_rows=1, context=latent.CACHED) for form in FORMS}
    assert plain[1] - absorbed[1] == ran["vanilla"].flops - ran["absorbed"].flops
    # What differs: old keys and values, and pairs, of which one form has wider ones.
    pairs = [
        (latent.CACHED + 1) * TINY.flops_per_pair(absorbed=how) for how in (False, True)
    ]
    up = 2 * TINY.d_latent * TINY.n_heads * (TINY.d_head + TINY.d_v)
    assert [plain[1], absorbed[1]] == [latent.CACHED * up + pairs[0], pairs[1]]
    for log in figure.logs.values():
        so_far = [float(frame.counters[1]) for frame in log.frames]
        assert so_far == sorted(so_far) and so_far[0] == 0


def test_runs_are_those_of_the_tables() -> None:
    found = evidence.runs()
    assert evidence.within() + len(evidence.missed()) == len(found)
    blind, day = evidence.missed()[:2]
    assert blind.status == "blind" and "2.375 requests" in blind.name
    assert day.name.startswith("DeepSeek, prefill")
    errors = {run.name: run.error for run in found}
    for point in points(book_assumptions()):
        assert errors[point.name] == pytest.approx(point.error)


def test_the_copies_that_are_drawn_are_eight_and_one_stays() -> None:
    place, n_redundant = H100, book_assumptions().n_redundant
    sent = stills.destinations(place, n_redundant)
    assert len(sent) == place.experts.top_k
    assert all(0 <= gpu < place.n_gpus for gpu in sent)
    stay = sum(gpu < place.n_gpus // int(place.n_nodes) for gpu in sent)
    said = stills.copies_of_a_row(place).sentence
    assert f"own node: {stay}," in said and f"other nodes: {len(sent) - stay}," in said


def test_launches_are_drawn_apart_from_what_is_moved() -> None:
    """Two bars in a lane, as long as the block together."""
    known = figures.waterfall().values()
    bars = [bar for bar in charts.bars() if "elementwise" in bar["lane"]]
    assert [bar["kind"] for bar in bars] == ["read", "starts and the rest"] * 2
    launch = float(known["launch_s"])
    for moved, started in zip(bars[::2], bars[1::2], strict=True):
        in_ms = started["length"].removeprefix("1000 * (").removesuffix(")")
        count, _, of = in_ms.partition(" * ")
        assert of == "launch_s" and moved["length"].endswith(started["length"])
        name = {"a": "attn_launches", "e": "moe_launches"}[moved["lane"][0]]
        assert float(count) == pytest.approx(float(controls.sizes()[name]))
        assert 1 < 1e3 * float(count) * launch < 4  # milliseconds


@pytest.mark.long
def test_the_goal_of_the_groups_is_the_smallest_that_makes_nearly_the_most() -> None:
    """By the rates of the figure: it makes a tenth less at most, a smaller one half."""
    figure = group.group_size()
    assert figure.goal is not None
    seen = {ep: figure.values(ep_at=ep) for ep in group.GROUPS}
    (goal,) = [ep for ep, values in seen.items() if figure.goal.met(values)]
    made = {int(ep): float(v["gpu_tokens_per_s"]) for ep, v in seen.items()}
    most = max(made.values())
    assert min(ep for ep, rate in made.items() if rate > 0.9 * most) == int(goal)
    assert all(rate < most / 2 for ep, rate in made.items() if ep < int(goal))
    for other in ({"target": "33 ms"}, {"held": "fewest redundant, FP8"}):
        assert not figure.goal.met(figure.values(ep_at=goal, **other))


def test_what_a_gpu_can_do_is_in_the_unit_of_its_row() -> None:
    """A decimal prefix counts in thousands; the peaks are those of the catalog."""
    prefixes = {"G": 1e9, "T": 1e12}
    of_each = [setup(key, 72) for key in ("h100-sxm", "gb200-nvl72")]
    peaks = [
        [place.accelerator.usable_bytes, *2 * [place.accelerator.hbm_bw]]
        + [place.accelerator.peak_flops[bits] for bits in ("fp8", "bf16")]
        + [place.near.bandwidth, place.far.bandwidth]
        for place in of_each
    ]
    rows = tables.inputs().rows
    for at, (what, first, _, second, _) in enumerate(rows):
        prefix = str(what).rpartition("(")[2][0]
        for shown, peak in zip((first, second), peaks, strict=True):
            number = prefixes[prefix] * float(str(shown).replace(",", ""))
            assert number == pytest.approx(float(peak[at]), rel=5e-3), what
    taken = [float(str(row[2]).replace(",", "")) for row in rows]
    most = [float(str(row[1]).replace(",", "")) for row in rows]
    assert taken[0] / most[0] == pytest.approx(0.835, rel=5e-3)  # of the memory
    assert all(less <= more for less, more in zip(taken, most, strict=True))


def test_below_zero_a_run_was_faster_than_predicted() -> None:
    """Of every run the rate that was measured beside the rate that was predicted."""
    (panel,) = drawn.panels(evidence.predicted_and_measured)
    points = {
        (round(x), round(error, 6))
        for lines in drawn.lines(panel).values()
        for line in lines
        for x, error in line
    }
    for run in evidence.runs():
        error = 100 * (run.predicted - run.measured) / run.measured
        assert (run.n_gpus, round(error, 6)) in points
    faster = [run for run in evidence.runs() if run.measured > run.predicted]
    assert all(run.error < 0 for run in faster)
    said = evidence.predicted_and_measured().sentence
    assert "below zero, the run was faster than predicted" in said


def test_a_part_of_the_bench_is_the_part_it_is_called() -> None:
    """Four kinds by what they are made of, and seven in the order of a layer."""
    (panel,) = drawn.panels(lambda: playground.bench().picture)
    bars = {
        label.get_text(): bar.get_width()
        for label, bar in zip(panel.get_yticklabels(), panel.patches, strict=True)
    }
    size = {"batch": 128, "context": 4000}
    made = Twin(setup=setup("h100-sxm", 72), assumptions=book_assumptions())
    block = {name: 1e3 * float(each) for name, each in made.blocks(**size).items()}
    both = {"attention": "mla_s", "attention, elementwise": "attn_elementwise_s",
            "experts": "experts_s", "experts, elementwise": "moe_elementwise_s",
            "the rest": "other_s", "host": "host_s"}  # fmt: skip
    for words, part in both.items():
        assert bars[words] == pytest.approx(block[part], rel=1e-3), words
    assert sum(bars.values()) == pytest.approx(sum(block.values()), rel=1e-3)


def test_copies_have_the_colour_that_the_sentence_gives_them() -> None:
    """A path goes there and back: two points a copy."""
    made = partial(stills.copies_of_a_row, H100)
    said = made().sentence
    (panel,) = drawn.panels(made)
    paths = drawn.lines(panel)
    for where in (r"inside its own node: (\d+)[^()]*", r"to other nodes: (\d+)[^()]*"):
        number, colour = re.findall(where + r"\((\w+)\)", said)[0]
        ((*points,),) = paths[colour]
        assert len(points) == 2 * int(number), colour
