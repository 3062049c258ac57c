"""The picture of eight GPUs: numbers, what they may be, inks and open dots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.page import grid, stills
from llmserve_lab.parallelism.ring_time import first_token_s
from tests.page import drawn, seen
from tests.page.cells import says
from tests.parallelism.test_each_column import made

COLUMNS: dict[str, Callable[[GpuLayout], float]] = {
    "decode:\nms a token\n(less is good)": lambda each: (
        1e3 * each.decode(64, 1000).token_s
    ),
    "prefill: thousand\ntokens/s\n(more is good)": lambda each: (
        each.prefill_rate(2048) / 1e3
    ),
    "one prompt: ms\nto first token\n(less is good)": lambda each: (
        1e3 * each.first_token_s(8192, 2048)
    ),
}
RING = "CP 2 × TP 4"
Span = tuple[float, float]


def span(name: str, head: str, value: float) -> Span:
    """A measured token takes 2 to 27% longer, a prompt 13% less to 8% longer."""
    if "decode" in head:
        more = 1.06 if name == "TP 8" else 1.0
        return 1.02 * more * value, 1.27 * more * value
    if "prefill" in head:
        return value / 1.08, value / 0.87
    return (
        (1.08 * value, 1.53 * value) if name == RING else (0.87 * value, 1.08 * value)
    )


def wanted(head: str) -> dict[str, tuple[float, Span]]:
    """Each layout's number and span, from the deployment itself."""
    found = {name: COLUMNS[head](made(name)) for name in stills.SHOWN}
    if "one prompt" in head:
        found[RING] = 1e3 * first_token_s(8192, 2048, 2).seconds
    return {n: (value, span(n, head, value)) for n, value in found.items()}


def kind(name: str) -> str:
    if "PP" in name or "CP" in name:
        return name[:2] if "CP" in name else "pipeline"
    return "over servers" if name == "TP 8" else "in a server"


def beaten(name: str, want: dict[str, tuple[float, Span]], head: str) -> bool:
    """Whether another is better: of a kind by the ratio, else wherever both may be."""
    more, off = "more is good" in head, 1.14 if "decode" in head else 1.24
    value, own = want[name]
    for other, (theirs, span_) in want.items():
        if kind(other) == kind(name):
            if (theirs / value if more else value / theirs) > off:
                return True
        elif other != RING and (span_[0] > own[1] if more else span_[1] < own[0]):
            return True
    return False


def test_each_row_of_a_panel_is_its_layout_s() -> None:
    panels = drawn.panels(grid.eight_gpus)
    assert [axes.get_title() for axes in panels] == [*COLUMNS]
    names = [text.get_text() for text in panels[0].get_yticklabels()]
    assert names == [*stills.SHOWN, RING]
    for axes in panels:
        head = axes.get_title()
        want = wanted(head)
        said = {names[round(t.xy[1])]: t for t in axes.texts}
        lines = defaultdict[str, list[Any]](list)
        for line in axes.lines:
            lines[names[round(line.get_ydata()[0])]].append(line)
        assert {*said} == {*lines} == {*want}
        least, most = axes.get_xlim()
        for name, (_, own) in want.items():
            whisker, dot = lines[name]
            middle = sum(own) / 2
            if "more is good" in head:  # the middle of the times
                middle = 2 / (1 / own[0] + 1 / own[1])
            assert [*whisker.get_xdata()] == pytest.approx(own, rel=2e-3)
            (at,) = dot.get_xdata()
            assert at == pytest.approx(middle, rel=2e-3), (name, head)
            assert least < own[0] < at < own[1] < most
            text = said[name].get_text()
            assert says(text.removesuffix("+"), middle), (name, head)
            assert text.endswith("+") is (name == RING)
            good = not beaten(name, want, head)
            assert (said[name].get_fontweight() == "bold") is good, (name, head)
            assert (seen._name(whisker.get_color()) == "blue") is good
            open_ = dot.get_markerfacecolor() != dot.get_markeredgecolor()
            assert open_ is ("PP" in name or name == RING)


def test_no_layout_is_blue_in_all_three_columns() -> None:
    """The title; and each column has a layout beside the unmeasured ring."""
    strong = [{*stills.best(column)} for column in grid.HEADS]
    assert all(each & {*stills.SHOWN} for each in strong)
    assert set.intersection(*strong) == set()


def test_a_chunk_of_a_group_is_what_it_divides_what_not_and_what_it_sends() -> None:
    """Why TP 8 reads slowest: its all-reduces, and a fixed time that stays whole."""
    group, pipe = stills.chunk_parts("TP 8"), made("PP 8")
    assert group.seconds == pytest.approx(made("TP 8").chunk_s(2048))
    one = GpuLayout().chunk_s(2048) - group.fixed_s
    assert group.divided_s == pytest.approx(one / 8, rel=1e-3)
    assert group.sent_s == pytest.approx(
        160 * made("TP 8").all_reduce_s(2048), rel=1e-6
    )
    less = group.fixed_s - group.fixed_s / 8 + group.sent_s - pipe.hop_s(2048)
    assert group.seconds - pipe.chunk_s(2048) == pytest.approx(less, rel=1e-3)
    assert group.sent_s > 3 * group.fixed_s
