"""The page of claims answers: filter by verdict and source, sort, anchors, keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from llmserve_lab.claims import CLAIMS, FALSE, OFF

PAGE = Path(__file__).resolve().parents[2] / "_build" / "html/chapters/sources.html"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """The page, which fails the test if its scripts throw."""
    faults: list[str] = []
    opened = chromium.new_page()
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.goto(PAGE.as_uri())
    yield opened
    opened.close()
    assert faults == []


def test_a_verdict_and_a_source_may_be_chosen(page: Page) -> None:
    for word, source in ((OFF, "article 05"), (FALSE, "AFD paper")):
        page.get_by_label("verdict", exact=True).select_option(word)
        page.get_by_label("source", exact=True).select_option(source)
        own = [c for c in CLAIMS.values() if (c.word, c.source.name) == (word, source)]
        expect(page.locator("tr.filtered:visible")).to_have_count(len(own))
    for label in ("verdict", "source"):
        page.get_by_label(label, exact=True).select_option("")
    off = [claim for claim in CLAIMS.values() if claim.word == OFF]
    expect(page.locator("tr.filtered:visible")).to_have_count(len(off))  # as it began


def test_the_headings_sort_by_keyboard(page: Page) -> None:
    table = page.locator("table.claims").first
    ids = "rows => rows.map(row => row.dataset.id)"
    before = table.locator("tbody tr").evaluate_all(ids)
    table.get_by_role("button", name="source").focus()
    page.keyboard.press("Enter")
    after = table.locator("tbody tr").evaluate_all(ids)
    assert after == sorted(before) != before
    expect(table.locator("th[data-sort=id]")).to_have_attribute(
        "aria-sort", "ascending"
    )
    table.get_by_role("button", name="off by").click()
    assert table.locator("tbody tr").first.get_attribute("data-id") == before[0]


@pytest.mark.parametrize("name", ["06-24", "05-29", "003-21", "01-03b"])
def test_a_link_to_a_claim_opens_its_list(page: Page, name: str) -> None:
    page.goto(f"{PAGE.as_uri()}#claim-{name}")
    row = page.locator(f"#claim-{name}")
    expect(row).to_be_visible()
    expect(row).to_be_in_viewport()


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("for (const e of document.querySelectorAll('details')) e.open = true")
    wide = page.evaluate("document.documentElement.scrollWidth")
    cut = page.locator("table.claims :is(th, td)").evaluate_all(
        "cells => cells.filter(c => c.scrollWidth > c.clientWidth + 1).length"
    )
    assert (wide, cut) == (width, 0)


def test_without_scripts_every_claim_can_be_read(chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(PAGE.as_uri())
    for fold in opened.locator("details.index-part > summary").all()[1:]:
        fold.click()
    expect(opened.locator("tr.filtered:visible")).to_have_count(len(CLAIMS))
    expect(opened.locator(".filter")).to_be_hidden()
    context.close()
