"""The first picture of a taught chapter comes early, and its page has an end.

Each page is light: what a browser reads, and what is sent to it.
"""

import re
from gzip import compress
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from page_budget import LONGER, MOST_HEIGHT, MOST_TOP, PICTURE, WIDTH
from tests.browser.limits import LONG_LISTS, MOST_BYTES, MOST_SENT
from tests.house.test_page_budget import TAUGHT

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html" / "chapters"
BUILT = sorted(path.stem for path in PAGES.glob("*.html"))
MOST_RECORDS = 40_000  # what all numbers of a page have to say of themselves
RECORDS = re.compile(rb'class="provenance-data">(.*?)</script>', re.DOTALL)


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


@pytest.mark.parametrize("stem", BUILT)
def test_a_built_page_is_light(stem: str) -> None:
    html = (PAGES / f"{stem}.html").read_bytes()
    assert len(html) <= LONG_LISTS.get(stem, MOST_BYTES)
    assert len(compress(html, 6)) <= MOST_SENT
    assert sum(map(len, RECORDS.findall(html))) <= MOST_RECORDS
