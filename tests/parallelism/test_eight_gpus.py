"""The grid of eight GPUs: numbers, what they may be, fills and frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.page import grid, stills
from llmserve_lab.parallelism.ring_time import first_token_s
from tests.page import drawn
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


def beaten(own: Span, others: list[Span], head: str) -> bool:
    """Whether another is better wherever both may be."""
    if "more is good" in head:
        return any(low > own[1] for low, _ in others)
    return any(high < own[0] for _, high in others)


def test_each_cell_of_the_grid_is_its_layout_s() -> None:
    (axes,) = drawn.panels(grid.eight_gpus)
    texts = [(t.get_text(), t.xy) for t in axes.texts]
    rows = {text: y for text, (x, y) in texts if x < 0}
    heads = {text: x for text, (x, y) in texts if y < 0}
    assert [*rows] == [*stills.SHOWN, RING] and [*heads] == [*COLUMNS]
    for head, across in heads.items():
        want = wanted(head)
        spans = {name: each for name, (_, each) in want.items()}
        for name, down in rows.items():
            here = [
                t for t, (x, y) in texts if y == down and x > 0 and abs(x - across) < 1
            ]
            patches = [p for p in axes.patches if covers(p, across, down)]
            if name not in want:
                assert here[0] == "\u2013" and not any(map(filled, patches))
                continue
            value, own = want[name]
            number, said = here
            assert says(number, value), (name, head)
            low, high = said.removesuffix("+").split("\u2013")
            assert says(low, own[0]) and says(high, own[1])
            assert said.endswith("+") is (name == RING)
            others = [each for other, each in spans.items() if other != RING]
            assert any(map(filled, patches)) is not beaten(own, others, head)
            dashed = any(
                not p.get_fill() and p.get_linestyle() == "--" for p in patches
            )
            assert dashed is ("PP" in name or name == RING)


def covers(patch: Any, x: float, y: float) -> bool:
    left, top = patch.get_xy()
    return bool(
        left <= x <= left + patch.get_width() and top <= y <= top + patch.get_height()
    )


def filled(patch: Any) -> bool:
    return bool(patch.get_fill() and patch.get_facecolor()[3] > 0)


def test_no_layout_is_filled_in_all_three_columns() -> None:
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
