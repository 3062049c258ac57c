"""The picture of eight GPUs: its bars, their numbers and their inks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.page import grid, stills
from tests.page import drawn, seen
from tests.page.cells import says
from tests.parallelism.test_each_column import made

COLUMNS: dict[str, Callable[[GpuLayout], float]] = {
    "decode: ms\nfrom token to token": lambda each: 1e3 * each.decode(64, 1000).token_s,
    "prefill: ms for\n1,000 tokens": lambda each: 1e6 / each.prefill_rate(2048),
    "one prompt: ms\nto the first token": lambda each: (
        1e3 * each.first_token_s(8192, 2048)
    ),
}


def test_each_bar_of_a_panel_is_its_layout_s() -> None:
    """Blue and bold where the title compares; a pipeline's token goes to a burst's."""
    panels = drawn.panels(grid.eight_gpus)
    assert [axes.get_title() for axes in panels] == [*COLUMNS]
    names = [text.get_text() for text in panels[0].get_yticklabels()]
    assert names == [*stills.SHOWN]
    for axes in panels:
        head = axes.get_title()
        want = {name: COLUMNS[head](made(name)) for name in stills.SHOWN}
        said = {names[round(t.xy[1])]: t for t in axes.texts}
        bars = {names[round(b.get_y() + b.get_height() / 2)]: b for b in axes.patches}
        assert {*said} == {*bars} == {*want}
        decode = head.startswith("decode")
        bursts = {name: line.get_xdata() for name, line in burst_lines(axes, names)}
        assert {*bursts} == {n for n in want if decode and made(n).stages > 1}
        for name, value in want.items():
            assert bars[name].get_width() == pytest.approx(value)
            ends = [value]
            if name in bursts:
                ends.append(1e3 * made(name).decode(64, 1000, 1).token_s)
                assert [*bursts[name]] == pytest.approx(ends)
            assert value <= ends[-1] < axes.get_xlim()[1]
            words = said[name].get_text().split("\u2013")
            for word, end in zip(words, ends, strict=True):
                assert says(word, end), (name, head)
            good = name in ("TP 4 × DP 2", "TP 4 × PP 2")
            assert (said[name].get_fontweight() == "bold") is good, (name, head)
            assert (seen._name(bars[name].get_facecolor()) == "blue") is good


def burst_lines(axes: Any, names: list[str]) -> list[tuple[str, Any]]:
    """Each line of a panel with the layout whose row it stands in."""
    return [(names[round(line.get_ydata()[0])], line) for line in axes.lines]


def test_the_pipeline_of_the_title_is_far_ahead_in_one_column() -> None:
    """With equal batches and with a burst; the two stand in neighbouring rows."""
    title = grid.eight_gpus().title
    pipe, replicas = sorted(grid.COMPARED, key=title.index)
    assert (pipe, replicas) == ("TP 4 × PP 2", "TP 4 × DP 2")
    assert abs(stills.SHOWN.index(pipe) - stills.SHOWN.index(replicas)) == 1
    ahead = {}
    for column in grid.HEADS:
        ours, theirs = (stills.panel_ms(n, column) for n in (pipe, replicas))
        ahead[column] = theirs > 1.2 * ours
        assert column == "first" or 1 < ours / theirs < 1.05
    assert ahead == {"decode": False, "prefill": False, "first": True}
    assert stills.one_batch_ms(pipe) > stills.panel_ms(replicas, "decode")


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
