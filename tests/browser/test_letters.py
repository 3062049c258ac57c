"""Letters that explain themselves, and mathematics that is never cut off."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from llmserve_lab.formula.breaking import DIGITS, width
from llmserve_lab.formula.registry import formulas
from llmserve_lab.roofline import formulas as roofline
from tests.browser.browser import Visit, visit
from tests.page.minibook import ASSETS, Shown, build, html, write

LONG = max(formulas(), key=lambda formula: width(formula.latex))
WIDE = [formula for formula in formulas() if width(formula.latex) > 0.6 * DIGITS]
LOADED: dict[str, Any] = {
    "html_static_path": [str(ASSETS)],
    "html_css_files": ["book.css", "text.css", "lists.css"],
    "html_js_files": [
        [name, {"defer": "defer"}] for name in ("hover_card.js", "letters.js")
    ],
    "mathjax_path": "mathjax/es5/tex-mml-chtml.js",
    "mathjax3_config": {
        "loader": {"load": ["[tex]/html"]},
        "tex": {"packages": {"[+]": ["html"]}},
    },
    "html_sidebars": {"**": []},
    "html_theme_options": {"nosidebar": True},
}
TYPESET = "() => window.MathJax?.startup?.promise?.then(() => true)"
OVERFLOW = """() => [...document.querySelectorAll(".formula-math")]
  .filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.closest("[id^=eq-]")?.id)"""
COVERED = """() => [...document.querySelectorAll(".formula-math")]
  .filter(e => e.querySelector("mjx-math").getBoundingClientRect().right
             > e.getBoundingClientRect().right + 1)
  .filter(e => e.scrollWidth <= e.clientWidth
             || !getComputedStyle(e).backgroundAttachment.includes("local")).length"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with prose, an equation, and every long equation of the book."""
    folder = tmp_path_factory.mktemp("letters")
    prose = "Take $B$ requests with $\\ell$ tokens each, and no $W_k$."
    cells: list[Shown] = ["# Letters", prose, html(roofline.RIDGE), *map(html, WIDE)]
    write(folder, {"letters": cells}, [["letters"]])
    pages, warned = build(folder, **LOADED)
    assert warned == ""
    return (pages / "letters.html").as_uri()


@pytest.fixture(scope="module")
def seen(chromium: Browser, address: str) -> Iterator[Visit]:
    with visit(chromium, address, offline=True) as opened:
        opened.page.wait_for_function(TYPESET)
        yield opened


@pytest.fixture
def page(seen: Visit) -> Iterator[Page]:
    """The page with no card open; afterwards it must have nothing to complain about."""
    seen.page.set_viewport_size({"width": 1280, "height": 900})
    seen.page.keyboard.press("Escape")
    seen.page.mouse.move(0, 0)
    yield seen.page
    assert seen.errors == [] and seen.outside == []


def test_a_letter_says_what_it_means_when_it_is_pointed_at(page: Page) -> None:
    card = page.locator(".letters-card")
    expect(card).to_be_hidden()
    for where, name, want in (
        ("#eq-ridge .formula-math", "hbm_bw", "datasheet memory bandwidth B/s"),
        ("#eq-ridge .legend", "eff_mem", "share of memory bandwidth reached"),
        ("h1 + p", "batch", "requests in one batch request"),
    ):
        page.locator(f"{where} .q-{name}").first.hover()
        expect(card).to_be_visible()
        assert " ".join(card.inner_text().split()).endswith(want)
        box, width = card.bounding_box(), 1280
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


def test_the_card_can_be_reached_and_dismissed(page: Page) -> None:
    card = page.locator(".letters-card")
    page.locator("#eq-ridge .q-eff_mem").first.hover()
    card.hover()
    page.wait_for_timeout(400)
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.locator("#eq-ridge .q-eff_mem").first.hover()
    page.mouse.move(2, 2)
    expect(card).to_be_hidden()


def test_the_keyboard_gets_every_letter_of_a_formula(page: Page) -> None:
    formula = page.locator("#eq-ridge .formula-math mjx-container")
    formula.focus()
    card = page.locator(".letters-card")
    expect(card.locator("p")).to_have_count(5)
    assert formula.get_attribute("aria-describedby") == card.get_attribute("id")
    expect(card).to_have_attribute("role", "tooltip")
    page.keyboard.press("Tab")
    assert formula.get_attribute("aria-describedby") is None


def test_what_is_not_in_the_notation_has_no_card(page: Page) -> None:
    prose = page.locator("h1 + p")
    marks = prose.locator("mjx-container [class^=q-]").evaluate_all(
        "all => all.map(e => e.className)"
    )
    assert marks == ["q-batch", "q-context"]


def test_the_legend_is_there_without_scripts_and_on_paper(
    chromium: Browser, address: str, page: Page
) -> None:
    with visit(chromium, address, java_script_enabled=False) as quiet:
        legend = quiet.page.locator("#eq-ridge .legend")
        expect(legend).to_be_visible()
        expect(legend).to_contain_text("datasheet memory bandwidth (B/s)")
    page.locator("#eq-ridge .q-eff_mem").first.hover()
    page.emulate_media(media="print")
    expect(page.locator(".letters-card")).to_be_hidden()
    expect(page.locator("#eq-ridge .legend")).to_be_visible()
    page.emulate_media(media="screen")


def test_no_equation_is_wider_than_a_column_of_the_book(page: Page) -> None:
    page.add_style_tag(content=".formula { max-width: 688px }")
    assert page.evaluate(OVERFLOW) == []


def test_on_a_phone_what_is_cut_scrolls_and_shows_that_it_does(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate(OVERFLOW) != []
    assert page.evaluate(COVERED) == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_tap_shows_the_card_within_the_page(chromium: Browser, address: str) -> None:
    with visit(chromium, address, width=390, has_touch=True, is_mobile=True) as phone:
        phone.page.wait_for_function(TYPESET)
        phone.page.locator("#eq-ridge .formula-math .q-eff_mem").first.tap()
        card = phone.page.locator(".letters-card")
        expect(card).to_be_visible()
        box = card.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
        phone.page.locator("h1").tap()
        expect(card).to_be_hidden()


def test_axe_finds_nothing_in_what_is_ours(page: Page, seen: Visit) -> None:
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        paper = "#121212" if theme == "dark" else "#fff"
        page.evaluate(f"document.body.style.background = '{paper}'")
        page.locator("#eq-ridge .q-eff_mem").first.hover()
        ours = re.compile(r"formula|eq-|legend|letters-card")
        assert [fault for fault in seen.axe() if ours.search(fault)] == []


def test_the_script_is_small() -> None:
    scripts = ("letters.js", "hover_card.js")
    assert sum(len((Path(ASSETS) / name).read_bytes()) for name in scripts) < 8_000
