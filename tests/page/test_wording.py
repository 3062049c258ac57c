"""Labels and sentences name the quantities that they stand beside, in every figure."""

import re
from collections.abc import Iterator

import pytest

from llmserve_lab import notation
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import FIELD, LiveFigure
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.live.wording import best_named, named, shares_a_word, stems

every_figure = pytest.mark.parametrize("name", registry.figures())


def quantity_of(figure: LiveFigure, signal: str) -> Quantity | None:
    """What a signal of a figure holds: a result, or the quantity of its name."""
    readouts = {r.name: r.bound for r in figure.readouts if isinstance(r, Readout)}
    bound = readouts.get(signal) or figure.bounds.get(signal)
    if bound:
        return bound.formula.result
    return notation.table().get(signal)


def called(figure: LiveFigure, signals: list[str]) -> dict[str, frozenset[str]]:
    """The words of each signal that holds a quantity."""
    held = {name: quantity_of(figure, name) for name in signals}
    return {name: named(each, name) for name, each in held.items() if each}


def alike(figure: LiveFigure, signal: str, signals: list[str]) -> list[str]:
    """Signals that measure the same as ``signal``: those it could be taken for."""
    mine = quantity_of(figure, signal)
    others = {name: quantity_of(figure, name) for name in signals}
    return [n for n, each in others.items() if mine and each and each.unit == mine.unit]


def mislabelled(figure: LiveFigure) -> Iterator[str]:
    """Readouts whose label says more of another readout of the same unit."""
    shown = {r.name: r.label for r in figure.readouts if isinstance(r, Readout)}
    for name, label in shown.items():
        rivals = called(figure, alike(figure, name, [*shown]))
        if rivals and name not in best_named(label, rivals):
            yield f"{figure.name}: {name} is labelled {label!r}"


def clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Each field of a sentence with the words around it, up to the fields beside it."""
    pieces = re.split(r"(\{\w+(?::\d+)?\})", sentence)
    for place in range(1, len(pieces), 2):
        match = FIELD.match(pieces[place])
        assert match
        before = pieces[place - 1].rsplit(". ", 1)[-1]
        after = pieces[place + 1].split(". ", 1)[0]
        yield match.group(1), f"{before} {after}"


@every_figure
def test_a_readout_is_labelled_by_what_it_shows(name: str) -> None:
    assert list(mislabelled(registry.figures()[name]())) == []


@pytest.mark.parametrize(
    ("label", "other", "same"),
    [
        ("reading the weights", "time to read", True),
        ("read cache", "time to compute", False),
        ("prefill FLOPs", "prefill_flops", True),
        ("of the", "of the", False),
    ],
)
def test_words_are_compared_without_endings(label: str, other: str, same: bool) -> None:
    assert shares_a_word(label, other) is same


def test_little_words_name_nothing() -> None:
    assert stems("how many of them are in one") == {"them"}
    assert best_named("of the", {"a": stems("cache")}) == []


def test_a_swapped_label_is_found() -> None:
    from dataclasses import replace

    figure = registry.figures()["roofline.iteration_time"]()
    first, second, *rest = figure.readouts
    assert isinstance(first, Readout) and isinstance(second, Readout)
    swapped = [Readout(first.name, second.label), Readout(second.name, first.label)]
    wrong = replace(figure, readouts=(*swapped, *rest))
    assert list(mislabelled(figure)) == []
    assert len(list(mislabelled(wrong))) == 2
