"""Labels and sentences name the quantities that they stand beside, in every figure."""

import re
from collections.abc import Iterator
from itertools import combinations

import pytest

from llmserve_lab import notation
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.formula.text import unit_text
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import FIELD, LiveFigure
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.live.wording import (
    best_named,
    named,
    shares_a_word,
    stems,
    told_apart,
)
from tests.page.comparisons import compared
from tests.page.sentences import FIELDS, ORDER
from tests.page.turned import SENTENCES, TITLES

every_figure = pytest.mark.parametrize("name", registry.figures())


def quantity_of(figure: LiveFigure, signal: str) -> Quantity | None:
    """What a signal of a figure holds: a result, or the quantity of its name."""
    readouts = {r.name: r.bound for r in figure.readouts if isinstance(r, Readout)}
    bound = readouts.get(signal) or figure.bounds.get(signal)
    if bound:
        return bound.formula.result
    if signal in figure.words():
        return None
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


def near(sentence: str) -> Iterator[tuple[str, str]]:
    """Each field with the words before it and after it, up to the fields beside it."""
    pieces = re.split(r"(\{\w+(?::\d+)?\})", sentence)
    for place in range(1, len(pieces), 2):
        match = FIELD.match(pieces[place])
        assert match
        before = re.split(r"\. |; ", pieces[place - 1])[-1]
        after = re.split(r"[,.;:]", pieces[place + 1])[0]
        yield match.group(1), f"{before} {after}"


def clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Each field of a sentence with the words of its clause."""
    for clause in re.split(r"(?<=[.;:]) ", sentence):
        for match in FIELD.finditer(clause):
            yield match.group(1), FIELD.sub(" ", clause)


def nameless(figure: LiveFigure) -> Iterator[str]:
    """Fields in whose clause no word, and no unit beside them, says what they are."""
    for name, clause in clauses(figure.sentence):
        held = quantity_of(figure, name)
        beside = f"{clause} {unit_text(held.unit)}" if held else ""
        if f"{{{name}}} ×" in figure.sentence:
            continue  # a number of what follows
        if held and not stems(beside) & named(held, name):
            yield f"{figure.name}: {name} in {clause!r}"


def may_swap(
    figure: LiveFigure, called: list[tuple[str, str]], *, any_unit: bool = False
) -> Iterator[set[str]]:
    """Pairs of one unit, each called by a text, that could change places unnoticed."""
    held = [(name, text, quantity_of(figure, name)) for name, text in called]
    for (one, mine, a), (other, its, b) in combinations(held, 2):
        if a and b and (any_unit or a.unit == b.unit) and one != other:
            words = (mine, named(a, one)), (its, named(b, other))
            try:
                told_apart(words)
            except ValueError:
                yield {one, other}


def ordered(figure: LiveFigure, name: str) -> set[frozenset[str]]:
    """Pairs whose order the table of what words cannot tell apart states."""
    said = ORDER.get(name, {})
    for field, before in said.items():
        assert f"{before}{{{field}" in figure.sentence, f"{name}: {before}{field}"
    return {frozenset(pair) for pair in combinations(said, 2)}


@every_figure
def test_a_readout_is_labelled_by_what_it_shows(name: str) -> None:
    assert list(mislabelled(registry.figures()[name]())) == []


@every_figure
def test_a_readout_of_no_quantity_is_labelled_by_its_name(name: str) -> None:
    """What is no quantity of the notation has nothing but its name to be called by."""
    figure = registry.figures()[name]()
    shown = [r for r in figure.readouts if isinstance(r, Readout)]
    plain = {r.name: r.label for r in shown if not quantity_of(figure, r.name)}
    words = {each: stems(each) for each in plain}
    assert [n for n in plain if best_named(plain[n], words) != [n]] == []


@every_figure
def test_two_labels_do_not_change_places(name: str) -> None:
    figure = registry.figures()[name]()
    shown = [(r.name, r.label) for r in figure.readouts if isinstance(r, Readout)]
    assert list(may_swap(figure, shown, any_unit=True)) == []


@every_figure
def test_a_clause_names_its_quantity_and_two_fields_do_not_change_places(
    name: str,
) -> None:
    figure = registry.figures()[name]()
    assert list(nameless(figure)) == []
    alike = {frozenset(pair) for pair in may_swap(figure, list(near(figure.sentence)))}
    assert alike <= ordered(figure, name)


@every_figure
def test_fields_stand_where_their_words_are(name: str) -> None:
    sentence = registry.figures()[name]().sentence
    assert [m.group(1) for m in FIELD.finditer(sentence)] == FIELDS[name].split()


@every_figure
def test_a_slider_is_called_by_what_it_moves(name: str) -> None:
    figure = registry.figures()[name]()
    for slider in figure.controls:
        if isinstance(slider, Slider) and slider.label:
            words = named(slider.quantity) | stems(unit_text(slider.quantity.unit))
            assert stems(slider.label) & words, (slider.name, slider.label)


@every_figure
def test_no_comparison_of_a_figure_s_words_is_turned_round_unread(name: str) -> None:
    """Of a title and of the sentence below the drawing, as they were read."""
    figure = registry.figures()[name]()
    assert compared(figure.title) == TITLES.get(name, "")
    assert compared(figure.sentence) == SENTENCES.get(name, "")


@pytest.mark.parametrize("name", registry.steps())
def test_no_comparison_of_a_stepped_title_is_turned_round_unread(name: str) -> None:
    assert compared(registry.steps()[name]().title) == TITLES.get(name, "")


def test_only_figures_of_the_book_were_read() -> None:
    assert {*TITLES, *SENTENCES} <= {*registry.figures(), *registry.steps()}


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
