"""What a live figure hides, fades or calls full follows from its own series' limit.

A mark of one series that looks at the limit of another is right at most settings. So
each is looked at on both sides of every limit, in every combination that exists.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from tests.page.plot import Plot

Known = dict[str, float]
Test = Callable[[Known], bool]
Settings = dict[str, Any]


def full(held: str) -> Test:
    """Whether what is held does not fit into the memory."""
    return lambda known: known[held] > known["hbm_bytes"]


# Of each figure its tests by the words, or lanes, of the series that they fade.
LIMITS: dict[str, dict[str, Test]] = {
    "flash_attention.decode_splits": {"memory full": full("held_bytes")},
    "flash_attention.traffic": {"no room": lambda known: known["chip_share"] > 1},
    "quantization.few_bits": {
        "16 bits": full("wide_held_bytes"), "as chosen": full("held_bytes"),
    },
    "roofline.batch_and_context": {"memory full": full("held_bytes")},
    "roofline.roofline": {
        "decode (memory full)": full("held_bytes"),
        "prefill (memory full)": full("stored_bytes"),
    },
    "kv_memory.capacity": {
        "dot of the second": lambda known: (
            known["mean_held"] > known["other_most_context"]
        ),
        "beyond the model": lambda known: known["most_context"] < 131_072,
        "not even one request fits": lambda known: known["batch_fits"] < 1,
    },
}  # fmt: skip


def settings(figure: LiveFigure) -> Iterator[Settings]:
    """Ends and middle of each slider, with every option of each choice."""
    stops = list[tuple[str, set[Any]]]()
    for control in figure.controls:
        if isinstance(control, Slider):
            some = control.stops
            stops.append((control.name, {some[0], some[len(some) // 2], some[-1]}))
        elif isinstance(control, Choice):
            stops.append((control.name, {*control.options}))
    names = [name for name, _ in stops]
    for values in product(*(sorted(each, key=str) for _, each in stops)):
        yield dict(zip(names, values, strict=True))


def corners(figure: LiveFigure, tests: dict[str, Test]) -> dict[tuple[bool, ...], Any]:
    """One setting for each combination of what the limits say."""
    found: dict[tuple[bool, ...], Any] = {}
    for each in settings(figure):
        try:
            known = figure.values(**each)
        except ValueError:  # a combination that does not exist
            continue
        found.setdefault(tuple(test(known) for test in tests.values()), each)
        if len(found) == 2 ** len(tests):
            break
    return found


def shown(name: str, figure: LiveFigure, at: Settings) -> set[str]:
    """What of the limits is drawn as reached: words, or names of lanes with them."""
    found = set[str]()
    plot = Plot(figure, **at)
    for _, y, item in plot.of("text"):
        words = str(item.get("text", ""))
        if item.get("opacity", 1) and words:
            for limit in LIMITS[name]:
                if limit in words:
                    found.add(limit)
            if words == "no room" and name == "quantization.few_bits":
                found.add(plot.y.near(y))
    if name == "kv_memory.capacity":
        hidden = [item for _, _, item in plot.of("symbol")
                  if item["ink"] == "grey" and not item.get("opacity", 1)]  # fmt: skip
        found |= {"dot of the second"} if hidden else set()
    return found


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_drawn_as_full_is_so_on_both_sides_of_each_limit(name: str) -> None:
    figure, tests = registry.figures()[name](), LIMITS[name]
    found = corners(figure, tests)
    for place in range(len(tests)):
        assert {each[place] for each in found} == {True, False}, "both sides"
    for reached, at in found.items():
        want = {limit for limit, yes in zip(tests, reached, strict=True) if yes}
        assert shown(name, figure, at) == want, at


def test_a_dot_by_the_limit_of_the_other_model_is_seen() -> None:
    """In some setting one model reads as far as the slider stands, and one does not."""
    name = "kv_memory.capacity"
    figure = registry.figures()[name]()
    apart = {
        (known["mean_held"] > known["most_context"], reached[0])
        for reached, at in corners(figure, LIMITS[name]).items()
        if (known := figure.values(**at))
    }
    assert (False, True) in apart


# Lanes of bars that are faded, by how their names begin; the last has no other side.
FADED: dict[str, dict[str, Test]] = {
    "roofline.iteration_time": {
        "decode": full("held_bytes"), "prefill": full("stored_bytes"),
    },
    "quantization.few_bits": LIMITS["quantization.few_bits"],
}  # fmt: skip


@pytest.mark.parametrize("name", FADED)
def test_bars_of_what_does_not_fit_are_faint_and_no_others(name: str) -> None:
    figure, tests = registry.figures()[name](), FADED[name]
    found = corners(figure, tests)
    assert len(found) > 1
    for reached, at in found.items():
        plot = Plot(figure, **at)
        looks = {
            (plot.y.near(y + item.get("height", 0) / 2), item.get("opacity", 1) < 1)
            for _, y, item in plot.of("rect")
        }
        for (lane, is_full), (other, faint) in product(
            zip(tests, reached, strict=True), looks
        ):
            assert not other.startswith(lane) or faint == is_full, (other, at)
