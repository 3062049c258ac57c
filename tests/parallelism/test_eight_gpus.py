"""The picture of eight GPUs: its bars, their numbers and their inks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

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
    """Blue and bold where the time is less than a fifth longer than the shortest."""
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
        for name, value in want.items():
            assert bars[name].get_width() == pytest.approx(value)
            assert value < axes.get_xlim()[1]
            assert says(said[name].get_text(), value), (name, head)
            good = value < 1.2 * min(want.values())
            assert (said[name].get_fontweight() == "bold") is good, (name, head)
            assert (seen._name(bars[name].get_facecolor()) == "blue") is good


def test_the_two_layouts_of_the_title_are_blue_twice() -> None:
    """And none three times."""
    blue = Counter(name for column in grid.HEADS for name in stills.best(column))
    twice = [name for name, times in blue.items() if times == 2]
    title = grid.eight_gpus().title
    assert sorted(twice, key=title.index) == ["TP 4 × PP 2", "TP 2 × PP 4"]
    assert max(blue.values()) == 2


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
