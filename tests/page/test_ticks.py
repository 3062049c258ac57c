"""Numbers at the ticks of a still are its places, in one of four ways of writing them.

As they are, in per cent, counted from one, or each twice the last (at even distances).
A logarithmic axis is left out: its ticks are written by the plotting library.
"""

import re
from typing import Any

import pytest

from tests.page.plot import pictured
from tests.page.stills import STILLS

# Runs of seconds, with ticks that the plotting library writes.
LONG = {"kv_memory.stills.hot", "kv_memory.stills.routing"}
NUMBER = re.compile(r"([-\N{MINUS SIGN}]?[\d,]*\.?\d+)( ?%)?")
MATH = re.compile(r"\$\\mathdefault\{(.*)\}\$")
Pairs = list[tuple[float, float]]


def written(axis: Any) -> tuple[Pairs, bool]:
    """Places and the numbers at them, and whether these are per cents."""
    pairs, percent = list[tuple[float, float]](), False  # none where there are names
    for tick in axis.get_major_ticks():
        at, text = tick.get_loc(), tick.label1.get_text()
        in_math = MATH.fullmatch(text)
        found = NUMBER.fullmatch(in_math[1] if in_math else text)
        if text and not found:
            return [], False
        if found:
            number = found[1].replace(",", "").replace("\N{MINUS SIGN}", "-")
            pairs.append((float(at), float(number)))
            percent = percent or bool(found[2])
    return pairs, percent


def wrong(pairs: Pairs, *, percent: bool) -> bool:
    """Whether the numbers are in none of the ways."""
    first = pairs[0][1]
    ways = [
        [at for at, _ in pairs],
        [(100 if percent else 1) * at for at, _ in pairs],
        [at + 1 for at, _ in pairs],
        [first * 2 ** min(at - pairs[0][0], 60.0) for at, _ in pairs],
    ]
    numbers = [number for _, number in pairs]
    # Two ticks double by chance: that takes three.
    return not any(
        numbers == pytest.approx(way, rel=1e-6, abs=1e-9)
        for way in ways[: 4 if len(pairs) > 2 else 3]
    )


@pytest.mark.parametrize("still", sorted(STILLS.keys() - LONG))
def test_a_number_at_a_tick_is_its_place(still: str) -> None:
    for panel in pictured(STILLS[still])[0]:
        for axis in (panel.xaxis, panel.yaxis):
            if axis.get_scale() == "linear":
                pairs, percent = written(axis)
                assert len(pairs) < 2 or not wrong(pairs, percent=percent), pairs


def test_ticks_of_others_are_found() -> None:
    assert not wrong([(0, 1), (31, 32)], percent=False)
    assert wrong([(0, 1), (31, 256)], percent=False)
    assert not wrong([(0, 512), (1, 1024), (2, 2048)], percent=False)
    assert wrong([(0, 512), (1, 1024), (2, 4096)], percent=False)
    assert not wrong([(0, 0), (0.5, 50)], percent=True)
    assert wrong([(0, 0), (0.5, 50)], percent=False)
