"""A reader asks a number where it is from: by mouse, by keyboard, at any setting."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.registry import formulas
from llmserve_lab.formula.text import said_unit, si
from tests.browser.browser import RUNNING, Visit, visit
from tests.page.data import held

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html"
HELD = {
    path.stem: path
    for path in sorted(PAGES.glob("chapters/*.html"))
    if 'class="provenance-data"' in path.read_text("utf8")
}
CARD = ".origin-card"
EACH = [pytest.param(stem, marks=pytest.mark.xdist_group(stem)) for stem in HELD]
WITH_FIGURES = [
    pytest.param(stem, marks=pytest.mark.xdist_group(stem))
    for stem, path in HELD.items()
    if 'figure class="live"' in path.read_text("utf8")
]
# As a reader tells a time or a rate by its unit.
TIMED = re.compile(
    r"\d\s(?:ns|µs|μs|ms|s|(?:token|request)s?/s|dollars?(?:/\w+)?)(?![\w/])"
)
# As a reader tells it of a bare number in a table, by what stands above.
ABOVE = re.compile(
    r"(?<![\w'’])(?:ns|µs|μs|ms|s|(?:token|request)s?/s|dollars?(?:/\w+)?)(?![\w/])|\$"
)
BARE = re.compile(r"\s*[-−+~≈<>≤≥]?[\d.,]+\s*")
# Ask every mark in turn, and read what its card says.
ASK_ALL = """() => [...document.querySelectorAll(".sourced[role=button]")].map(mark => {
  mark.click();
  const card = document.querySelector(".origin-card");
  const cell = mark.closest("td, th"), table = cell?.closest("table");
  const above = table ? [table.caption, table.tHead.rows[0].cells[cell.cellIndex]] : [];
  const found = [mark.dataset.sourced, mark.textContent, card?.textContent ?? "",
    above.filter(each => each).map(each => each.textContent)];
  card?.querySelector(".origin-close").click();
  return found;
})"""
ASK_READOUTS = """figure => [...figure.querySelectorAll(".origin-ask")].map(ask => {
  ask.click();
  const card = document.querySelector(".origin-card");
  const text = card.textContent;
  card.querySelector(".origin-close").click();
  const found = new window.llmserveProvenance.Live(figure).of(ask.dataset.asks);
  const output = figure.querySelector(`output[data-readout="${ask.dataset.asks}"]`);
  const value = found.working ? found.working.value : found.value;
  const shown = Number(output.dataset.value);
  return [ask.dataset.asks, shown, value, output.textContent, text];
})"""


MODEL = "a prediction of the book's model"
STEPS = """() => [...window.llmserveProvenance.book.steps.values()]
  .map(([, , , exact]) => exact).filter(exact => exact?.formula)
  .map(exact => [exact, window.llmserveProvenance.storedWorking(exact).value])"""


@cache
def by_label() -> dict[str, Formula]:
    return {formula.label: formula for formula in formulas()}


@cache
def records(stem: str) -> dict[str, Any]:
    """The records of a built page."""
    found: dict[str, Any] = held(HELD[stem].read_text("utf8"), "provenance-data")
    return found


def formula_steps(stem: str) -> list[Any]:
    """The assignments behind a page's numbers that are a formula with its values."""
    steps = records(stem).get("steps", {}).values()
    return [each for each in steps if len(each) > 3 and "formula" in (each[3] or {})]


@pytest.fixture(scope="module")
def opened(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A page as it opens from a folder, without a server."""
    stem = str(request.param)
    with visit(chromium, HELD[stem].as_uri(), offline=True) as seen:
        seen.page.evaluate("() => window.MathJax?.startup?.promise.then(() => null)")
        waiting = seen.page.locator("figure.live:not([data-state=running])")
        expect(waiting).to_have_count(0)
        yield seen
        assert seen.errors == [] and seen.outside == []


def stem_of(seen: Visit) -> str:
    return Path(seen.page.url).stem


def ask_first(page: Page) -> Locator:
    """Open the card of the first number in a text or table, by the keyboard."""
    mark = page.locator(".sourced[role=button]:visible").first
    mark.focus()
    page.keyboard.press("Enter")
    expect(page.locator(CARD)).to_be_visible()
    return mark


@pytest.mark.parametrize("opened", EACH, indirect=True)
def test_every_number_answers_with_what_numpy_makes_of_its_record(
    opened: Visit,
) -> None:
    numbers = records(stem_of(opened))["numbers"]
    asked = opened.page.evaluate(ASK_ALL)
    assert len(asked) >= len(numbers) - 1
    for key, text, card, above in asked:
        assert text.strip() in card
        record = numbers[key]
        if "formula" in record:
            formula = by_label()[record["formula"]]
            given = record["given"].items()
            known = {n: v[0] if isinstance(v, list) else v for n, v in given}
            value, unit = float(formula(**known)), said_unit(formula.result.unit)
            assert formula.title in card
            number, _, _ = si(value, unit, 4).partition(" ")
            assert number.partition("×")[0] in card.replace("{,}", ",")
        elif "source" in record:
            source = records(stem_of(opened))["sources"][record["source"]]
            assert source[1] in card and source[0] in card
        else:
            assert record["run"][0] in card
        if "source" not in record:
            stated = "No error band. " if "band" not in record else "Error band. "
            is_bare = above and BARE.fullmatch(text)
            timed = any(map(ABOVE.search, above)) if is_bare else TIMED.search(text)
            told = record.keys() & {"band", "p"}
            assert (stated in card) is bool(told or timed)
            assert (MODEL in card) is ("p" in record)
    assert opened.page.locator(CARD).count() == 0


@pytest.mark.parametrize("opened", EACH, indirect=True)
def test_a_step_on_the_way_to_a_number_comes_to_what_numpy_makes_of_it(
    opened: Visit,
) -> None:
    found = opened.page.evaluate(STEPS)
    assert len(found) == len(formula_steps(stem_of(opened)))
    for exact, value in found:
        given = exact["given"].items()
        known = {n: v[0] if isinstance(v, list) else v for n, v in given}
        expected = float(by_label()[exact["formula"]](**known))
        assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("opened", WITH_FIGURES, indirect=True)
def test_a_readout_answers_with_the_present_setting(opened: Visit) -> None:
    for drawn in opened.page.locator(RUNNING).all():
        cards = [compare_readouts(drawn)]
        for key in ("Home", "End"):
            for slider in drawn.locator("input[type=range]").all()[:2]:
                slider.press(key)
            cards.append(compare_readouts(drawn))
        for select in drawn.locator("select").all()[:2]:
            options = select.locator("option:not([disabled])")
            for end in (0, options.count() - 1):
                value = options.nth(end).get_attribute("value")
                select.select_option(value=value)
                cards.append(compare_readouts(drawn))
        assert not cards[0] or any(cards[0] != other for other in cards[1:])
        drawn.locator(".live-reset").evaluate("button => button.click()")


def compare_readouts(drawn: Locator) -> list[str]:
    """What the cards compute is what the figure shows; the texts of the cards."""
    found = drawn.evaluate(ASK_READOUTS)
    for name, shown, computed, text, card in found:
        assert computed == pytest.approx(shown, rel=1e-9), name
        assert text in card
        assert not TIMED.search(text) or "rror band. " in card or found_as_set(card)
    return [card for *_, card in found]


def found_as_set(card: str) -> bool:
    """Whether a number is one that the reader set, which predicts nothing."""
    return "A setting of this figure" in card


def test_two_hundred_numbers_are_compared_with_their_formula() -> None:
    """Only those that the tests above compute again: a formula's."""
    marks = [
        key
        for stem, path in HELD.items()
        for key in re.findall(r' data-sourced="([\w-]+)"', path.read_text("utf8"))
        if "formula" in records(stem)["numbers"].get(key, {})
    ]
    readouts = [
        name
        for stem in HELD
        for figure in records(stem).get("figures", {}).values()
        for name, bound in figure["readouts"].items()
        if isinstance(bound, dict)
    ]
    steps = [each for stem in HELD for each in formula_steps(stem)]
    print(len(marks), "marks,", len(readouts), "readouts,", len(steps), "steps")
    assert len(marks) + len(readouts) + len(steps) > 220


@pytest.mark.parametrize("opened", EACH[:2], indirect=True)
def test_the_keyboard_opens_walks_through_and_closes_the_card(opened: Visit) -> None:
    page = opened.page
    mark = ask_first(page)
    card = page.locator(CARD)
    assert card.get_attribute("role") == "dialog"
    assert mark.get_attribute("aria-expanded") == "true"
    labelled = page.locator(f"#{card.get_attribute('aria-labelledby')}")
    expect(labelled).to_contain_text(mark.text_content() or "?")
    for key in ("Tab", "Tab", "Tab", "Shift+Tab", "Tab", "Tab", "Tab", "Tab", "Tab"):
        page.keyboard.press(key)
        assert page.evaluate(f"!!document.activeElement.closest('{CARD}')")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(mark).to_be_focused()
    page.keyboard.press("Space")
    expect(card).to_be_visible()
    page.mouse.click(5, 5)
    expect(card).to_have_count(0)


@pytest.mark.parametrize("opened", EACH[:1], indirect=True)
def test_a_table_is_one_stop_and_arrows_go_from_number_to_number(
    opened: Visit,
) -> None:
    table = opened.page.locator("table.catalog:has(.sourced[role=button])").first
    marks = table.locator(".sourced[role=button]")
    stops = marks.evaluate_all("all => all.map(mark => mark.tabIndex)")
    assert stops[0] == 0 and set(stops[1:]) <= {-1}
    marks.first.focus()
    opened.page.keyboard.press("ArrowRight")
    expect(marks.nth(1)).to_be_focused()
    opened.page.keyboard.press("ArrowLeft")
    expect(marks.first).to_be_focused()


@pytest.mark.parametrize("opened", EACH[:1], indirect=True)
def test_on_paper_no_card_and_no_mark_is_seen(opened: Visit) -> None:
    ask_first(opened.page)
    opened.page.emulate_media(media="print")
    expect(opened.page.locator(CARD)).to_be_hidden()
    decorated = opened.page.locator(".sourced").first.evaluate(
        "mark => getComputedStyle(mark).textDecorationLine"
    )
    assert decorated == "none"
    opened.page.emulate_media(media="screen")
    opened.page.keyboard.press("Escape")


@pytest.mark.parametrize("opened", EACH[:3], indirect=True)
def test_axe_finds_nothing_in_an_open_card(opened: Visit) -> None:
    ask_first(opened.page)
    own = [found for found in opened.axe() if "origin" in found or "sourced" in found]
    opened.page.keyboard.press("Escape")
    assert own == []


@pytest.mark.parametrize("opened", EACH[:3], indirect=True)
def test_a_card_fits_a_phone(opened: Visit) -> None:
    page = opened.page
    page.set_viewport_size({"width": 390, "height": 800})
    ask_first(page)
    box = page.locator(CARD).bounding_box()
    assert box is not None and box["x"] >= 0 and box["width"] <= 390
    assert box["y"] + box["height"] <= 801
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_every_formula_of_a_card_has_its_entry_in_how_this_book_is_checked() -> None:
    text = (PAGES / "chapters" / "how_checked.html").read_text("utf8")
    for stem in HELD:
        for label in records(stem).get("formulas", {}):
            assert f'id="check-{label.replace("_", "-").lower()}"' in text, label


def test_without_scripts_a_number_is_plain_text(chromium: Browser) -> None:
    address = next(iter(HELD.values())).as_uri()
    with visit(chromium, address, java_script_enabled=False) as quiet:
        assert quiet.page.locator("[data-sourced]").count() > 0
        assert quiet.page.locator("[data-sourced][role], .origin-ask").count() == 0
