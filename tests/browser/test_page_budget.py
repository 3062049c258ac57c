"""The first picture of a taught chapter comes early, and its page has an end."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from page_budget import LONGER, MOST_HEIGHT, MOST_TOP, PICTURE, WIDTH
from tests.house.test_page_budget import TAUGHT

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html" / "chapters"


@pytest.mark.parametrize("stem", TAUGHT)
def test_a_taught_page_keeps_its_budget(chromium: Browser, stem: str) -> None:
    page = chromium.new_page(viewport={"width": WIDTH, "height": 900})
    page.goto((PAGES / f"{stem}.html").as_uri())
    page.locator("[data-state=running]:visible").first.wait_for()
    page.wait_for_timeout(1500)  # mathematics is typeset, figures have their size
    first = page.locator(PICTURE).first
    assert first.evaluate("e => e.getBoundingClientRect().top + scrollY") <= MOST_TOP
    most = LONGER.get(stem, MOST_HEIGHT)
    article = page.locator("article").first
    assert article.evaluate("e => e.scrollHeight") <= most
    page.close()
