"""The reference pages answer: the filter, terms in the text, progress on the front."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.house.test_page_budget import TAUGHT

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html"
CHAPTERS = len(TAUGHT)


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page that fails the test if its scripts throw."""
    faults: list[str] = []
    opened = chromium.new_page()
    opened.on("pageerror", lambda error: faults.append(str(error)))
    yield opened
    opened.close()
    assert faults == []


@pytest.mark.parametrize("word", ["TPOT", "ITL", "TBT", "GQA", "MFU", "intensity"])
def test_the_filter_finds_a_letter_by_what_others_call_it(
    page: Page, word: str
) -> None:
    page.goto(f"{PAGES.as_uri()}/chapters/notation.html")
    all_of_them = page.locator(".filtered").count()
    page.get_by_label("Find among").fill(word)
    shown = page.locator(".filtered:visible").count()
    assert 0 < shown < all_of_them
    expect(page.locator(".filter [role=status]")).to_contain_text(f"{shown} of")
    page.keyboard.press("Escape")
    assert page.locator(".filtered:visible").count() == 0  # folded again
    expect(page.locator(".filter [role=status]")).to_be_empty()


def test_a_link_to_a_formula_opens_its_fold(page: Page) -> None:
    page.goto(f"{PAGES.as_uri()}/chapters/notation.html#formula-iteration_s")
    expect(page.locator("#formula-iteration_s")).to_be_visible()


def test_an_equation_leads_to_the_list_and_the_list_to_it(page: Page) -> None:
    page.goto(f"{PAGES.as_uri()}/chapters/roofline.html")
    link = page.locator(".formula .in-index").first
    address = link.get_attribute("href") or ""
    page.goto(f"{PAGES.as_uri()}/chapters/{address}")
    entry = page.locator(f"#{address.partition('#')[2]}")
    expect(entry).to_be_visible()
    back = entry.locator("a").first.get_attribute("href") or ""
    assert back.startswith("roofline.html#eq-")


def test_a_table_of_the_catalog_is_sorted_by_size_and_by_name(page: Page) -> None:
    """Whatever the prefix of a unit, and what has no number last."""
    page.goto(f"{PAGES.as_uri()}/chapters/catalog.html")
    table = page.locator("table.catalog", has_text="TFLOP/s, and memory bandwidth")
    of = "rows => rows.map(row => row.cells[{}].textContent.trim())"
    for _ in range(2):
        table.get_by_role("button", name="bandwidth").click()
        cells = table.locator("tbody tr").evaluate_all(of.format(4))
        scale = {"TB/s": 1000.0, "GB/s": 1.0}
        known = [cell.split() for cell in cells if not cell.startswith("–")]
        sizes = [float(size) * scale[unit] for size, unit, *_ in known]
        falls = table.locator("[aria-sort=descending]").count() == 1
        assert sizes == sorted(sizes, reverse=falls) and len({*sizes}) > 5
        assert all(cell.startswith("–") for cell in cells[len(known) :])
    table.get_by_role("button", name="accelerator").click()
    names = table.locator("tbody tr").evaluate_all(of.format(0))
    assert names == sorted(names, key=str.lower)


def test_the_glossary_is_filtered_too(page: Page) -> None:
    page.goto(f"{PAGES.as_uri()}/chapters/glossary.html")
    page.get_by_label("Find among").fill("in-flight")
    shown = page.locator(".filtered:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("continuous batching")


def test_a_term_explains_itself_to_pointer_and_keyboard(page: Page) -> None:
    page.goto(f"{PAGES.as_uri()}/intro.html")
    term, card = page.locator("a.term").first, page.locator("#terms-card")
    term.hover()
    expect(card).to_be_visible()
    assert term.get_attribute("aria-describedby") == "terms-card"
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.locator("a.term").nth(1).focus()
    expect(card).to_be_visible()
    address = page.locator("a.term").nth(1).get_attribute("href") or ""
    page.goto(f"{PAGES.as_uri()}/{address}")
    expect(page.locator(f"#{address.partition('#')[2]}")).to_be_visible()


def test_the_front_page_shows_what_is_done_on_the_others(page: Page) -> None:
    assert page.context.browser
    reader = page.context.browser.new_context()
    chapter, front = reader.new_page(), reader.new_page()
    chapter.goto(f"{PAGES.as_uri()}/chapters/roofline.html")
    expect(chapter.locator(".book-progress .progress-count")).to_be_visible()
    # A tab of its own: chromium may end a left page before what it kept is written.
    # What one tab has written reaches the next a moment later: open it until then.
    for _ in range(10):
        front.goto(f"{PAGES.as_uri()}/intro.html")
        if f"1 of {CHAPTERS}" in front.locator(".book-total").inner_text():
            break
        front.wait_for_timeout(500)
    expect(front.locator(".book-total")).to_contain_text(
        f"1 of {CHAPTERS} chapters opened"
    )
    marks = front.locator("table.book-contents .progress-mark")
    expect(marks).to_have_count(1)
    reader.close()


def test_the_front_page_follows_what_is_done_in_another_tab(page: Page) -> None:
    assert page.context.browser
    reader = page.context.browser.new_context()
    front, other = reader.new_page(), reader.new_page()
    front.goto(f"{PAGES.as_uri()}/intro.html")
    total = front.locator(".book-total")
    expect(total).to_contain_text("appears here")
    other.goto(f"{PAGES.as_uri()}/chapters/roofline.html")
    expect(total).to_contain_text(f"1 of {CHAPTERS} chapters opened")
    expect(total).to_have_count(1)
    other.get_by_role("button", name="Clear my answers").click()
    expect(total).to_contain_text(f"0 questions and goals done, 1 of {CHAPTERS}")
    reader.close()


@pytest.mark.parametrize("word", ["TPOT", "ITL", "inflight", "GQA", "MFU", "TBT"])
def test_the_search_of_the_book_knows_the_synonym(page: Page, word: str) -> None:
    index = (PAGES / "searchindex.js").read_text("utf8")
    assert f'"{word.lower()}"' in index


@pytest.mark.parametrize("name", ["notation", "glossary", "catalog"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off(page: Page, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{PAGES.as_uri()}/chapters/{name}.html")
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    assert page.evaluate(f"{root}.scrollHeight") <= (
        20_000 if width == 1280 else 30_000
    )
    if width == 1280:
        cut = "e => e.filter(x => x.scrollWidth > x.clientWidth + 1).length"
        assert page.locator(".table-wrap").evaluate_all(cut) == 0
