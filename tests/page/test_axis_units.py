"""The longest thing along an axis, in the unit of its title, is the record's longest.

The record has seconds or bytes, so that neither the title nor the factor of what is
drawn can be another.
"""

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.afd.page import inputs, timeline
from llmserve_lab.capacity import by_hand, pools
from llmserve_lab.catalog.evidence.attention import REGISTERS_PER_SM, SHARED_PER_BLOCK
from llmserve_lab.catalog.evidence.speculation import PLAIN_TPOT
from llmserve_lab.continuous_batching import tuning
from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.decision import engine_known, planned
from llmserve_lab.how_wrong.pairs import fullest
from llmserve_lab.moe import deadline, exchange_time
from llmserve_lab.roofline import bare
from llmserve_lab.roofline.page.measured_roof import servers_by_size
from llmserve_lab.running_example import cost, setting
from llmserve_lab.speculative import machine as drafting
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.page import boards
from llmserve_lab.symptoms.page import figures as queues
from llmserve_lab.symptoms.served import WatchedRun
from tests.page.amounts import amounts
from tests.page.plot import pictured
from tests.page.seen import notes
from tests.page.stills import STILLS, TWO
from tests.page.test_bars import burst, cache_gib, names

UNITS = {
    "min": 60, "minute": 60, "minutes": 60, "hour": 3600, "hours": 3600,
    "s": 1.0, "ms": 1e-3, "milliseconds": 1e-3, "seconds": 1.0, "µs": 1e-6,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    "kB": 1e3, "MB": 1e6, "GB": 1e9, "billions": 1e9, "millions": 1e6,
}  # fmt: skip
BRACKETS = re.compile(r"\((s|ms|µs|min|[KMG]iB|[kMG]B|\w+ions)\b")
WORDS = re.compile(r"\b(minutes?|hours?|milliseconds|seconds|ms|[KMG]iB|[kMG]B)\b")
SMALL, H100 = catalog.model("llama-3.1-8b"), catalog.accelerator("h100-sxm")


def unit_of(title: str) -> str:
    """The unit that an axis is called after; nothing where it has none."""
    found = BRACKETS.search(title) or WORDS.search(title)
    return found[1] if found else ""


def bars(panel: Any, way: str) -> list[float]:
    """Ends of all bars, to the right or up."""
    boxes = [(p.get_x() + p.get_width(), p.get_y() + p.get_height())
             for p in panel.patches]  # fmt: skip
    return [float(box[int(way == "y")]) for box in boxes]


def curves(panel: Any, way: str) -> list[float]:
    """Every point of all lines that are data, and not drawn across the whole panel."""
    found = [float(each[int(way == "y")]) for line in panel.lines
             if line.get_transform() == panel.transData
             for each in line.get_xydata()]  # fmt: skip
    return [each for each in found if isfinite(each)]


def dots(panel: Any, way: str) -> list[float]:
    """Points without a line."""
    return [float(each[int(way == "y")]) for line in panel.lines
            if line.get_linestyle() in ("None", "")
            for each in line.get_xydata()]  # fmt: skip


def upright(panel: Any, way: str) -> list[float]:
    """Lines across the panel, which say how much there is."""
    return [float(line.get_xdata()[0]) for line in panel.lines
            if line.get_transform() != panel.transData and way == "x"]  # fmt: skip


def areas(panel: Any, way: str) -> list[float]:
    """Corners of what is shaded."""
    return [float(each[int(way == "y")]) for area in panel.collections
            for path in area.get_paths() for each in path.vertices]  # fmt: skip


def named_bars(panel: Any, way: str) -> list[float]:
    """The bars that have names beside them, the last ones that are drawn."""
    return bars(panel, way)[-len(panel.get_yticklabels()) :]


def paused_s() -> float:
    """How long the answer of the lower panels stands still, by the sentence."""
    said = pictured(STILLS["symptoms.boards.pair"])[1]
    return next(value for _, value, _ in amounts(said.rpartition("stands still")[2]))


def prefill_s() -> float:
    """A prompt of 1,000 at the datasheet's rate: its last row alone has an LM head."""
    table = SMALL.vocab * SMALL.d_model
    flops = 2000.0 * (SMALL.params_total - 2 * table) + 2.0 * table
    flops += 4 * 32 * 32 * 128 * 1000 * 1001 / 2
    return flops / float(setting()["peak_flops"])


def queued_s() -> float:
    """When the last request is admitted."""
    report = queues.overloaded()
    return float((report.arrival_s + report.queue_s).max())


def ended_s() -> float:
    """When the bench's server has answered all."""
    run = case("pauses").cause(boards.PAIR["server 2"]).setup(0)
    assert isinstance(run, WatchedRun)
    return float(run.report().finished_s.max())


def stage_s() -> float:
    sides = inputs.sides(timeline.GPU)
    return float(max(max(each.split_s, each.half_s) for each in sides))


Read = Callable[[Any, str], list[float]]
Want = Callable[[], Any]  # a number, or one that is cited
BURSTS = ("swap, 2 GB/s", "swap, 12 GB/s", "swap, 63 GB/s")
# Panel and axis of each still, what is read there, and the longest of it.
AXES: dict[tuple[str, int, str], tuple[Read, Want]] = {
    **{("afd.pictures.over_targets", i, "x"): (curves, lambda: 80e-3) for i in (0, 1)},
    ("afd.timeline.both_ways", 0, "x"): (
        lambda panel, _: [float(p.get_width()) + 4 for p in panel.patches], stage_s,
    ),
    ("capacity.one_step.one_step", 0, "x"): (
        bars, lambda: pools.cost_of(pools.H100).seconds(by_hand.SHARED),
    ),
    ("continuous_batching.stills.budgets", 0, "y"): (
        areas, lambda: tuning.trade(tuning.BUDGETS[-1], cost()).gap_s,
    ),
    ("continuous_batching.stills.budgets", 1, "y"): (
        areas, lambda: max(tuning.trade(n, cost()).ttft_s for n in tuning.BUDGETS),
    ),
    ("end_to_end.drawings.parameters", 0, "x"): (bars, lambda: SMALL.params_total),
    ("end_to_end.stills.waiting", 0, "x"): (bars, prefill_s),
    ("flash_attention.pictures.rooms", 0, "x"): (upright, lambda: SHARED_PER_BLOCK),
    ("flash_attention.pictures.rooms", 1, "x"): (upright, lambda: REGISTERS_PER_SM),
    ("flash_attention.stills.moved", 0, "x"): (
        bars, lambda: 1e6 * max(map(sum, TWO.values())),
    ),
    ("how_wrong.pictures.band", 0, "y"): (
        dots, lambda: max(each.tpot.longest_s for each in (planned(), engine_known())),
    ),
    ("how_wrong.pictures.end_of_the_cache", 0, "y"): (
        dots, lambda: max(row.ttft_s for row in fullest()),
    ),
    ("how_wrong.pictures.token", 0, "x"): (
        bars, lambda: next(row.tpot_s for row in example.rows()
                           if row.clients == example.CLIENTS),
    ),
    ("kv_memory.playground.memory", 0, "x"): (bars, lambda: H100.usable_bytes),
    ("kv_memory.stills.layers", 0, "x"): (
        named_bars,
        lambda: 2**30 * max(map(cache_gib, names("kv_memory.stills.layers")[0])),
    ),
    ("kv_memory.stills.preemption", 0, "x"): (
        bars, lambda: max(burst(each).end_s for each in BURSTS),
    ),
    ("kv_memory.stills.preemption", 1, "x"): (
        bars, lambda: max(burst(each).pause_s for each in BURSTS),
    ),
    ("moe.overlap.deadlines", 0, "x"): (dots, lambda: deadline.PROMISED_S),
    ("moe.stills.exchange", 0, "y"): (
        dots, lambda: max(each.measured_s for each in exchange_time.compared()),
    ),
    ("roofline.measured_roof.trade", 0, "x"): (
        curves, lambda: max(max(s.row.tpot_s, s.alone_s) for s in servers_by_size()),
    ),
    ("roofline.one_gpu.reached", 0, "y"): (
        curves, lambda: max(bare.products_s(n) for n in bare.rows_timed() if n <= 512),
    ),
    ("speculative.stills.heads", 0, "y"): (
        lambda panel, way: dots(panel, way)[-1:], lambda: float(PLAIN_TPOT),
    ),
    ("speculative.stills.passes", 0, "x"): (bars, lambda: drafting.verify_s(64, 4)),
    ("speculative.stills.timeline", 0, "x"): (
        bars, lambda: 3 * drafting.plain_s(1),
    ),
    ("symptoms.boards.bench_picture", 0, "x"): (curves, ended_s),
    ("symptoms.boards.bench_picture", 1, "x"): (areas, ended_s),
    ("symptoms.boards.pair", 2, "x"): (
        lambda panel, way: bars(panel, way)[:1], paused_s,
    ),
    ("symptoms.figures.arrivals", 0, "x"): (curves, queued_s),
    ("varlen.stills.bill", 0, "x"): (
        bars, lambda: 1e-3 * max(map(sum, TWO.values())),
    ),
}  # fmt: skip
# A day and an hour as they were recorded, axes that two panels share, and runs that
# take long and whose bars are asked for by name.
OTHERS = {
    "capacity.playground.opening", "capacity.stills.hour", "capacity.stills.whole_day",
    "kv_memory.stills.hot", "kv_memory.stills.routing", "symptoms.boards.pair",
}  # fmt: skip


def unlike(title: str, longest: float, want: float) -> bool:
    """Whether the longest thing of an axis is another in the unit of its title."""
    return longest * UNITS[unit_of(title)] != pytest.approx(want, rel=0.01)


@pytest.mark.parametrize(
    ("still", "at", "way"), AXES, ids=[f"{s}-{i}{way}" for s, i, way in AXES]
)
def test_the_longest_along_an_axis_is_that_of_the_record(
    still: str, at: int, way: str
) -> None:
    read, want = AXES[still, at, way]
    panel = pictured(STILLS[still])[0][at]
    title = panel.get_xlabel() if way == "x" else panel.get_ylabel()
    assert not unlike(title, max(read(panel, way)), float(want())), title


def test_every_axis_with_a_unit_is_asked() -> None:
    """By the notes of all pictures, which have the titles of axes."""
    found = {
        (name, at, way)
        for chapter in {each.split(".")[0] for each in STILLS}
        for name, note in notes(chapter).items()
        if name in STILLS
        for at, panel in enumerate(note["panels"])
        for way, title in zip("xy", panel["axes"][1:], strict=True)
        if unit_of(title)
    }
    assert {each for each in found if each[0] not in OTHERS} <= AXES.keys()
    assert len(found) > 25


def test_seconds_called_minutes_are_found() -> None:
    assert not unlike("time (s)", 161.0, 162.0)
    assert unlike("time (min)", 161.0, 162.0) and unlike("time (ms)", 161.0, 162.0)
    assert unit_of("gap (ms, log)") == "ms" and unit_of("GPUs (log scale)") == ""
