"""The picture of eight GPUs: lengths, whiskers, and which bars are pale."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.page import stills
from llmserve_lab.parallelism.ring_time import first_token_s
from tests.page import drawn
from tests.page.cells import says
from tests.parallelism.test_each_column import made

PANELS: dict[str, Callable[[GpuLayout], float]] = {
    "decode: ms from token to token (short is good)": lambda each: (
        1e3 * each.decode(64, 1000).token_s
    ),
    "prefill: thousand tokens/s (long is good)": lambda each: (
        each.prefill_rate(2048) / 1e3
    ),
    "one prompt: ms to its first token (short is good)": lambda each: (
        1e3 * each.first_token_s(8192, 2048)
    ),
}


def test_each_bar_of_eight_gpus_is_its_layout_s() -> None:
    """As long as the number beside it; its whisker is a factor, up and down.

    A token of a group over both servers has the factor of the worst measured one; pale
    is a bar whose whisker ends before another's, on the side that is bad.
    """
    panels = drawn.panels(stills.eight_gpus)
    assert [panel.get_title(loc="left") for panel in panels] == [*PANELS]
    for panel, value in zip(panels, PANELS.values(), strict=True):
        names = [label.get_text() for label in panel.get_yticklabels()]
        ring = [stills.RING] * panel.get_title(loc="left").startswith("one prompt")
        assert names == [*stills.SHOWN, *ring] and len(panel.patches) == len(names)
        (whiskers,) = (c for c in panel.collections if c.get_segments())
        title = panel.get_title(loc="left")
        good = max if "long" in title else min
        spans = {
            n: sorted(x for x, _ in whiskers.get_segments()[i])
            for i, n in enumerate(names)
        }
        for place, name in enumerate(names):
            (bar,) = (b for b in panel.patches if abs(b.get_y() + 0.36 - place) < 0.1)
            far = name == stills.RING
            want = (
                1e3 * first_token_s(8192, 2048, 2).seconds if far else value(made(name))
            )
            assert bar.get_width() == pytest.approx(want)
            (text,) = (t for t in panel.texts if t.xy[1] == place)
            assert says(text.get_text(), want)
            ends = sorted(x for x, _ in whiskers.get_segments()[place])
            most = 1.44 if name == "TP 8" and "decode" in title else 1.14
            assert ends == pytest.approx([want / 1.14, most * want])
            assert text.xy[0] == pytest.approx(ends[1])
            behind = any(
                good(*ends, *other) in other
                and (ends[0] > other[1] or ends[1] < other[0])
                for other in spans.values()
            )
            assert (bar.get_alpha() is not None) is behind
