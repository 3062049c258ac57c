"""A bench is a picture on a page and controls in a notebook: no control is dead."""

from collections.abc import Iterator
from typing import Any

import pytest

from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.widget import (
    START,
    Bench,
    Choose,
    Knob,
    PartialAnswer,
    Turn,
    Write,
)

LIVE = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def picture() -> StaticFigure:
    import matplotlib.pyplot as plt

    with figure_style():
        figure, axes = plt.subplots()
        axes.plot([1, 2])
        return StaticFigure.of(figure, sentence="A line rises from 1 to 2.")


def show(*, fruit: str, count: int, note: str) -> str:
    if note == "stop":
        raise LookupError("fruit must be known, got <none>")
    if note == "type":
        raise TypeError("a mistake of the author")
    return f"<p>{count} of {fruit}{note}</p>"


@pytest.fixture
def bench(picture: StaticFigure) -> Bench:
    knobs: dict[str, Knob] = {
        "fruit": Choose("a fruit", ("apple", "pear"), "pear"),
        "count": Turn("how many", 1, 9, 3),
        "note": Write("a note", "nothing yet"),
    }
    return Bench("Count & see", knobs, show, picture)


def test_the_page_shows_picture_and_how_to_start(bench: Bench) -> None:
    page = bench._repr_mimebundle_()["text/html"]
    assert "Count &amp; see" in page
    assert bench.picture.html() in page
    assert START in page
    for control in ("<input", "<select", "<button", "<script"):
        assert control not in page


def test_text_is_title_and_sentence(bench: Bench) -> None:
    bundle = bench._repr_mimebundle_()
    assert bundle["text/plain"] == "Count & see. A line rises from 1 to 2."
    assert repr(bench) == bundle["text/plain"]


def test_a_notebook_gets_the_widgets_beside_the_page(bench: Bench) -> None:
    bundle = bench._repr_mimebundle_()
    assert bundle[LIVE]["model_id"]


def test_the_widgets_are_the_knobs_with_the_answer_below(bench: Bench) -> None:
    box: Any = bench.widget()
    assert [type(child).__name__ for child in box.children] == [
        "Dropdown", "BoundedIntText", "Text", "IntProgress", "HTMLMath",
    ]  # fmt: skip
    fruit, count, note, bar, below = box.children
    assert bar.layout.display == "none"
    assert below.value == "<p>3 of pear</p>"
    fruit.value, count.value = "apple", 5
    assert below.value == "<p>5 of apple</p>"
    note.value = "!"
    assert below.value == "<p>5 of apple!</p>"


def test_a_wrong_setting_is_shown_and_can_be_mended(bench: Bench) -> None:
    *_, note, _bar, below = bench.widget().children
    note.value = "stop"
    assert 'class="bench-error"' in below.value
    assert "Not possible: fruit must be known, got &lt;none&gt;" in below.value
    note.value = ""
    assert below.value == "<p>3 of pear</p>"


def test_a_mistake_of_the_author_is_not_hidden(bench: Bench) -> None:
    with pytest.raises(TypeError, match="a mistake of the author"):
        bench.answer(fruit="pear", count=1, note="type")


def one_by_one(*, count: int) -> Iterator[PartialAnswer]:
    """So many pieces; the sixth is one too many."""
    for done in range(1, count + 1):
        if done > 5:
            raise ValueError(f"count must be at most 5, got {count}")
        yield PartialAnswer(f"<p>{done} picked</p>", done, count)


def test_what_takes_long_is_shown_part_by_part_below_a_bar(
    picture: StaticFigure,
) -> None:
    seen = list[tuple[str, int, int, str | None]]()
    bench = Bench("Pick", {"count": Turn("how many", 1, 9, 1)}, one_by_one, picture)
    count, bar, below = bench.widget().children
    below.observe(
        lambda change: seen.append(
            (change.new, bar.value, bar.max, bar.layout.display)
        ),
        names="value",
    )
    count.value = 3
    assert seen == [  # the first part stood there already
        ("<p>2 picked</p>", 2, 3, None),
        ("<p>3 picked</p>", 3, 3, "none"),
    ]
    assert bench.answer(count=4) == "<p>4 picked</p>"


def test_a_part_that_fails_ends_the_answer_and_takes_the_bar_away(
    picture: StaticFigure,
) -> None:
    bench = Bench("Pick", {"count": Turn("how many", 1, 9, 1)}, one_by_one, picture)
    count, bar, below = bench.widget().children
    count.value = 7
    assert "count must be at most 5, got 7" in below.value
    assert bar.layout.display == "none"
