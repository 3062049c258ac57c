"""Error bars, strips and shaded areas: each edge is where its own side of a range ends.

An upper edge that is drawn at the value itself still looks like a bar. So both edges
are asked for, each by its own way: of the runs that were measured, of the slower and
the faster of two clocks, of the picture's own two lines.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from llmserve_lab.continuous_batching import machine, tuning
from llmserve_lab.deepseek.evaluation.bands import scored
from llmserve_lab.deepseek.evaluation.group_size import rate_with
from llmserve_lab.deepseek.page import group
from llmserve_lab.formula.band import Band
from llmserve_lab.how_wrong.page.controls import QUARTER
from llmserve_lab.moe import deadline
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.running_example import cost
from tests.page import drawn, seen
from tests.page.plot import pictured
from tests.page.plotted import plotted
from tests.page.stills import LEFT_OUT, STILLS

Edges = dict[float, tuple[float, float]]  # low and high by place
Row = tuple[float, float, float]  # place, low and high
Ends = Callable[[str, Edges], list[Row]]


def areas(panel: Any) -> Iterator[tuple[str, Edges]]:
    """Ink of each shaded area of a panel, and both edges by place along the axis."""
    for area in panel.collections:
        paths = [path for path in area.get_paths() if len(path.vertices) > 4]
        if paths and not len(area.get_offsets()) > 1:
            sides = defaultdict[float, set[float]](set)
            for x, y in paths[0].vertices:
                sides[round(float(x), 9)].add(float(y))
            ink = seen._name(area.get_facecolor()[0])
            yield ink, {x: (min(y), max(y)) for x, y in sides.items()}


def clocks(_: str, edges: Edges) -> list[Row]:
    """Both edges of a gap, or of a first token, by how a launch is counted."""
    most = max(high for _, high in edges.values())
    name, scale = ("gap_s", 1e3) if most > 100 else ("ttft_s", 1.0)
    found = list[Row]()
    for rows in edges:
        hidden, added = (
            scale * float(getattr(tuning.trade(int(rows), law), name))
            for law in (machine.hidden(), cost())
        )
        found.append((rows, hidden, added))
    return found


def lines_of(still: str) -> Ends:
    """Edges that are drawn as lines of the same ink, too."""

    def ends(ink: str, edges: Edges) -> list[Row]:
        panels = pictured(STILLS[still])[0]
        own = (drawn.lines(panel).get(ink, ()) for panel in panels)
        found = [dict(line) for lines in own for line in lines]
        pair = [line for line in found if line.keys() == edges.keys()]
        assert len(pair) == 2, "a band between two lines"
        one, other = pair
        return [(x, min(one[x], other[x]), max(one[x], other[x])) for x in edges]

    return ends


WHERE: dict[str, tuple[int, Ends]] = {
    "continuous_batching.stills.budgets": (2, clocks),
    "afd.pictures.over_targets": (2, lines_of("afd.pictures.over_targets")),
}
# Areas under one line, and what runs as time passes: other tests read their edges.
FROM_ZERO = {
    "afd.pictures.slowest", "symptoms.boards.bench_picture", "symptoms.boards.pair",
    "symptoms.figures.arrivals",
}  # fmt: skip
OWN = {"moe.overlap.deadlines"}  # tested below: edges are found by going back


@pytest.mark.parametrize("still", WHERE)
def test_an_area_ends_on_either_side_where_its_range_does(still: str) -> None:
    many, ends = WHERE[still]
    found = [each for panel in pictured(STILLS[still])[0] for each in areas(panel)]
    assert len(found) == many
    for ink, edges in found:
        want = ends(ink, edges)
        assert len(want) == len(edges) > 4
        for x, low, high in want:
            assert edges[x] == pytest.approx((low, high), rel=1e-6)
        wide = [high - low > 1e-3 * abs(high) for _, low, high in want]
        assert sum(wide) > len(wide) // 2, "an area without a width shows nothing"


@pytest.mark.parametrize("still", [*WHERE, *OWN])
def test_a_line_lies_within_the_area_of_its_ink(still: str) -> None:
    count = 0
    for panel in pictured(STILLS[still])[0]:
        for ink, edges in areas(panel):
            for line in drawn.lines(panel)[ink]:
                near = [(edges[x], y) for x, y in line if x in edges]
                count += len(near) > 4
                for (low, high), y in near:
                    assert low - 1e-6 * abs(low) <= y <= high + 1e-6 * abs(high)
    assert count


@pytest.mark.parametrize("still", OWN)
def test_edges_of_a_deadline_are_the_slower_and_the_faster_start(still: str) -> None:
    """At an edge as many requests as it says take just the deadline by that clock."""
    (panel,) = pictured(STILLS[still])[0]
    inks = {seen._name(t.get_color()): t.get_text() for t in panel.texts
            if t.get_text().endswith(" GPUs")}  # fmt: skip
    found = [each for each in areas(panel) if each[0] in inks]
    assert len(found) == len(inks) == 2
    for ink, edges in found:
        ep = float(inks[ink].split()[0])
        for ms in (36.0, 48.0):
            ways = deadline.double_start_s, deadline.half_start_s
            for rate, way in zip(edges[ms], ways, strict=True):
                if rate * ms < 1e3:  # not even one request
                    assert way(ep, 1.0) > ms / 1e3
                    continue
                took_ms = 1e3 * way(ep, rate * ms / 1e3)
                assert took_ms == pytest.approx(ms, rel=0.01)


def test_a_strip_of_batches_holds_where_two_precisions_are_level() -> None:
    """INT4 is ahead of FP8 until there; the sentence has both ends of the strip."""
    panels, said = pictured(STILLS["quantization.stills.gains"])
    (panel,) = (each for each in panels if "formula" in each.get_title())
    (strip,) = panel.patches
    least, most = strip.get_x(), strip.get_x() + strip.get_width()
    lines = drawn.lines(panel)
    inks = {t.get_text(): seen._name(t.get_color()) for t in panel.texts}
    four, eight = (dict(lines[inks[f"{name} weights"]][0]) for name in ("INT4", "FP8"))
    ahead = [batch for batch in four if four[batch] > eight[batch]]
    (level,) = {
        each[0][0]
        for found in lines.values()
        for each in found
        if each[0][0] == each[1][0]
    }
    assert least < level < most and max(ahead) < level
    assert min(four.keys() - {*ahead}) > max(ahead)
    numbers = re.findall(r"\d[\d,]*", said)
    assert {f"{least:,.0f}", f"{most:,.0f}"} <= {*numbers}


def test_the_strip_of_errors_is_as_wide_as_its_sentence_says() -> None:
    make = STILLS["deepseek.evidence.predicted_and_measured"]
    (panel,), said = pictured(make)
    (strip,) = panel.patches
    low, high = strip.get_y(), strip.get_y() + strip.get_height()
    assert -low == pytest.approx(high) and f"{high:.0f}" in said.split("strip is")[1]


def test_every_still_with_an_area_is_asked() -> None:
    """By the source: what draws an area stands above."""
    shaded = {
        f"{path.parts[-3]}.{path.stem}"
        for path in drawn.PACKAGE.glob("*/page/*.py")
        if ".fill_between" in path.read_text("utf8")
    }
    asked = {*WHERE, *FROM_ZERO, *OWN, *LEFT_OUT}
    assert shaded <= {name.rpartition(".")[0] for name in asked}


# Whiskers of a live figure.
GROUP = "deepseek.group_size"


def bars(figure: LiveFigure, **at: str) -> list[SimpleNamespace]:
    """Error bars at a setting, in the units of the axis: place, low and high."""
    return [
        SimpleNamespace(x=x, low=min(y, item["y2_at"]), high=max(y, item["y2_at"]))
        for _, x, y, item in plotted(figure, "rule", **at)
        if "y2_at" in item
    ]


@pytest.mark.parametrize(
    ("name", "ep_at", "target"),
    [(GROUP, "72", "50 ms"), (GROUP, "16", "100 ms"), (GROUP, "144", "33 ms")],
)
def test_a_bar_ends_at_the_least_and_the_largest_measured_error(
    name: str, ep_at: str, target: str
) -> None:
    """Of all runs across nodes; a step that took longer makes a rate lower."""
    figure = registry.figures()[name]()
    known = figure.values(ep_at=ep_at, target=target)
    (bar,) = (
        each
        for each in bars(figure, ep_at=ep_at, target=target)
        if each.x == pytest.approx(float(ep_at))
    )
    errors = [error for run, error in scored() if run.across]
    where: Any = {"context": group.TOKENS, "tpot_s": group.TARGETS[target]}
    slow, fast = (
        rate_with("h100-sxm", int(ep_at), **where, error=error)
        for error in (min(errors), max(errors))
    )
    assert bar.low < known["gpu_tokens_per_s"] < bar.high
    # An error is kept to whole per cent.
    assert (bar.low, bar.high) == pytest.approx((slow, fast), rel=0.01)


def test_every_setting_has_a_bar_to_either_side_of_its_point() -> None:
    menus = group.HELD, group.TARGETS, group.GROUPS
    served = [here for names in product(*menus) if (here := group.at(*names))]
    ranges = [here.band.around(here.tokens_per_s) for here in served
              if isinstance(here.band, Band)]  # fmt: skip
    lines = [line.split(",") for line in group.csv_lines()]
    heads, *rows = lines
    low, made, high = (heads.index(name) for name in "lmh")
    shown = [row for row in rows if row[low]]
    assert len(shown) == len(ranges) >= 28 and len(rows) == len(served)
    for row, (least, most) in zip(shown, ranges, strict=True):
        assert int(row[low]) < int(row[made]) < int(row[high])
        ends = float(row[low]), float(row[high])
        assert ends == pytest.approx((least, most), abs=0.51)


def test_every_error_bar_of_a_live_figure_is_asked() -> None:
    whiskers = {
        f"{path.parts[-3]}.{path.stem}"
        for path in drawn.PACKAGE.glob("*/page/*.py")
        if "mark_errorbar" in path.read_text("utf8")
    }
    assert whiskers == {"deepseek.group"}


def test_the_strip_around_equality_is_a_factor_to_either_side() -> None:
    name = "how_wrong.residuals"
    found = [
        (x, y, item["y2_at"])
        for ink, x, y, item in plotted(registry.figures()[name](), "area")
        if ink == "grey"
    ]
    assert len(found) == 2 and found[0][0] < found[1][0]
    for _, one, other in found:
        ends = sorted((one, other))
        assert ends == pytest.approx([1 / QUARTER, QUARTER], rel=1e-3)
    assert "1¼" in registry.figures()[name]().sentence and QUARTER == 1.25
