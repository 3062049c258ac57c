"""A bar is as long as what its name stands for, asked for by that name alone."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from llmserve_lab.capacity import runs
from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.kv_memory import serving
from llmserve_lab.kv_memory.page import stills
from llmserve_lab.kv_memory.waste import SERVICES, wasted
from tests.page import drawn, seen
from tests.page.stills import STILLS

Lengths = Callable[[str], float]


def cache_gib(name: str) -> float:
    """GiB of one long request, layer by layer."""
    (model,) = (each for each in CACHE_LAYERS.values() if each.name == name)
    return model.request_bytes(stills.FAR) / 2**30


def burst(name: str) -> serving.Preempted:
    """A burst as its name says: by what it swaps, or how many it admits or holds."""
    number = float(re.sub(r"[^\d.]", "", name) or 0)
    if name.startswith("swap"):
        return serving.preempted(1e9 * number)
    if name.startswith("admit"):
        return serving.preempted(None, max_batch=int(number))
    blocks = {"kv_blocks": int(number)} if name.endswith("blocks") else {}
    return serving.preempted(None, **blocks)


def burst_s(name: str) -> float:
    """When the last answer of the burst is complete."""
    return burst(name).end_s


def holds(name: str) -> float:
    """Share of what is set aside that holds a token."""
    seen = wasted(SERVICES[0])
    number = int(re.sub(r"\D", "", name) or 0)
    aside = {"paged": seen.paged.get(number, 0.0), "reserved": float(number)}
    return seen.used / (aside[name.split(":")[0]] or seen.powers)


def missed(name: str) -> float:
    """Share of the burst's requests that miss a target, with the slow start."""
    return 1 - runs.scaled_run(name, runs.SLOW_S).kept


# The first bars of a panel, one for each name, from the top; or the last ones.
FIRST: dict[str, Lengths] = {
    "kv_memory.stills.preemption": burst_s,
    "kv_memory.stills.waste": holds,
}
LAST: dict[str, Lengths] = {"kv_memory.stills.layers": cache_gib}
INKED: dict[str, tuple[str, Lengths]] = {
    "capacity.stills.signals": ("vermillion", missed)
}


def names(still: str) -> tuple[list[str], list[float]]:
    """Names along the upright axis of the first panel, and lengths of all its bars."""
    panel = drawn.panels(STILLS[still])[0]
    called = [label.get_text() for label in panel.get_yticklabels()]
    one_line = [each.replace("-\n", "-").replace("\n", " ") for each in called]
    return one_line, [float(bar.get_width()) for bar in panel.patches]


@pytest.mark.parametrize("still", FIRST)
def test_a_bar_is_as_long_as_its_name_says(still: str) -> None:
    called, lengths = names(still)
    want = [FIRST[still](name) for name in called]
    assert len(set(want)) == len(want) > 2, "a swap of two would not be seen"
    assert lengths[: len(want)] == pytest.approx(want, rel=1e-6)


def served(name: str) -> SimpleNamespace:
    """Numbers of a routing that no run has made, each its own."""
    share = 0.05 + list(serving.ROUTINGS).index(name) / 50
    return SimpleNamespace(hit_share=share, ttft_mean_s=share, ttft_p95_s=0.1 + share)


@pytest.mark.parametrize(
    ("still", "asked", "made", "scale", "units"),
    [
        ("kv_memory.stills.routing", "warm", served, 100, ["%", "ms"]),
        (
            "kv_memory.stills.hot",
            "hot_tokens",
            lambda name: served(name).hit_share,
            1000,
            ["ms"],
        ),
    ],
)
def test_a_routing_has_the_bar_of_its_own_run(
    still: str, asked: str, made: Callable[[str], Any], scale: float, units: list[str]
) -> None:
    """The runs take long, so others are put in their place.

    A share times a hundred is in per cent, seconds times a thousand in ms.
    """
    with mock.patch.object(stills, asked, made):
        called, lengths = names(still)
        titles = [panel.get_xlabel() for panel in drawn.panels(STILLS[still])]
    assert [title[title.index("(") + 1 : -1] for title in titles] == units
    assert set(called) == set(serving.ROUTINGS)
    want = [scale * served(name).hit_share for name in called]
    assert lengths[: len(want)] == pytest.approx(want)


@pytest.mark.parametrize("still", LAST)
def test_a_bar_before_the_others_is_as_long_as_its_name_says(still: str) -> None:
    called, lengths = names(still)
    want = [LAST[still](name) for name in called]
    assert len(set(want)) > len(want) // 2
    assert lengths[-len(want) :] == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("still", INKED)
def test_of_two_bars_the_one_in_an_ink_is_as_long_as_its_name_says(still: str) -> None:
    ink, length = INKED[still]
    called, _ = names(still)
    panel = drawn.panels(STILLS[still])[0]
    shown = [
        float(bar.get_width())
        for bar in panel.patches
        if seen._name(bar.get_facecolor()) == ink
    ]
    assert shown == pytest.approx([length(name) for name in called], rel=1e-6)


def test_a_bar_of_a_burst_is_green_where_nothing_is_preempted() -> None:
    """As its caption says: in both panels, whatever is as long."""
    still = "kv_memory.stills.preemption"
    called, _ = names(still)
    assert "Green: nothing is preempted." in STILLS[still]().sentence
    calm = [burst(name).preemptions == 0 for name in called]
    assert 0 < sum(calm) < len(calm)
    for panel in drawn.panels(STILLS[still]):
        inks = [seen._name(bar.get_facecolor()) for bar in panel.patches]
        assert [ink == "green" for ink in inks] == calm


def test_every_column_of_the_layouts_is_a_time_from_zero() -> None:
    """So shorter is better in all of them, as the caption says."""
    still = STILLS["parallelism.grid.eight_gpus"]
    panels = drawn.panels(still)
    assert "shorter is better" in still().sentence and len(panels) == 3
    for panel in panels:
        assert re.search(r": ms\b", panel.get_title()) and panel.get_xlim()[0] == 0
        assert {bar.get_x() for bar in panel.patches} == {0}
