"""A chapter opened in JupyterLab: from any root, before it is trusted or run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browser import visit
from tests.browser.lab import PROGRAM, in_the_dark, lab, read_through, trust

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "chapters" / "varlen_batching.ipynb"
RAW = ("{cite", "{exercise", "{solution", "{admonition", "{bibliography", ":label:")
# Of the tests that share a server all run in one process.
pytestmark = pytest.mark.xdist_group("lab")

# Where a class's server may stand: the clone, a folder above it behind a base URL as
# JupyterHub gives, the folder of the chapters; each trusted or not, light or dark.
PLACES = {
    "clone": (ROOT, "/", False, False),
    "above": (ROOT.parent, "/user/reader/", False, True),
    "chapters": (NOTEBOOK.parent, "/", True, False),
}
ALIVE = """(selector) => { const all = [...document.querySelectorAll(selector)];
  return all.length && all.every((each) => each.dataset.state === "running"); }"""
CONTRAST = """(selector) => {
  const shade = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.03928
    ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const page = shade(numbers(getComputedStyle(document.querySelector(".jp-Notebook"))
    .backgroundColor));
  return [...document.querySelectorAll(selector)].map((each) => {
    const ink = shade(numbers(getComputedStyle(each).color));
    return (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
  });
}"""


LINK = """(cell, href) => {
  const link = Object.assign(document.createElement("a"), { href, textContent: href });
  cell.append(link);
  link.click();
}"""
IN_SIGHT = """(id) => {
  const { top, height } = document.getElementById(id)?.getBoundingClientRect() ?? {};
  return height > 0 && top >= 0 && top < 400;
}"""


@pytest.fixture(scope="module", params=PLACES)
def opened(
    request: pytest.FixtureRequest,
    chromium: Browser,
    optional: Callable[[str, object], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Page, list[str], list[str]]]:
    """The chapter, read to its end; what went wrong and what was asked for in vain."""
    optional("JupyterLab is not installed", PROGRAM.is_file())
    root, base, is_trusted, is_dark = PLACES[request.param]
    home = tmp_path_factory.mktemp(request.param)
    if is_trusted:
        trust(home, NOTEBOOK)
    if is_dark:
        in_the_dark(home)
    address = NOTEBOOK.relative_to(root).as_posix()
    missing: list[str] = []
    with lab(home, root, base) as tree, visit(chromium, "about:blank") as seen:
        page = seen.page
        page.on("response", lambda it: missing.extend(_lost(it.url, it.status)))
        page.goto(f"{tree}{address}?reset")
        page.locator(".jp-Notebook h1").wait_for(timeout=60_000)
        read_through(page)
        yield page, seen.errors, missing


def _lost(url: str, status: int) -> list[str]:
    return [url] if status >= 400 and "llmserve" in url else []


def test_figures_and_questions_are_alive(
    opened: tuple[Page, list[str], list[str]],
) -> None:
    page, errors, missing = opened
    for selector in ("figure.live, figure.step", ".question"):
        page.wait_for_function(ALIVE, arg=selector, timeout=20_000)
    assert not missing and not errors


def test_a_slider_moves_its_figure(
    opened: tuple[Page, list[str], list[str]],
) -> None:
    page, _, _ = opened
    figure = page.locator("figure.live").first
    figure.scroll_into_view_if_needed()
    before = figure.locator("figcaption").inner_text()
    figure.locator("input[type=range]").first.press("End")
    expect(figure.locator("figcaption")).not_to_have_text(before)


def test_nothing_is_read_raw(opened: tuple[Page, list[str], list[str]]) -> None:
    page, _, _ = opened
    texts = page.locator(".jp-RenderedMarkdown").all_inner_texts()
    raw = [(mark, text[:80]) for text in texts for mark in RAW if mark in text]
    assert texts and not raw


def test_solutions_are_folded_over_their_cells(
    opened: tuple[Page, list[str], list[str]],
) -> None:
    page, _, _ = opened
    fold = page.locator("details.fold", has_text="Solution").first
    fold.scroll_into_view_if_needed()
    cell = page.locator(".jp-Cell", has=fold).first
    behind = cell.locator("xpath=following-sibling::*[1]")
    hidden = behind.evaluate("each => each.classList.contains('lm-mod-hidden')")
    fold.locator("summary").click()
    shown = behind.evaluate("each => each.classList.contains('lm-mod-hidden')")
    assert (hidden, shown) == (True, False)


def test_a_link_leads_into_a_closed_fold(
    opened: tuple[Page, list[str], list[str]],
) -> None:
    page, errors, _ = opened
    there = page.locator('[id="eq-mean_prompt"]')
    before = there.is_visible()
    page.locator(".jp-RenderedMarkdown").first.evaluate(LINK, "#eq-mean_prompt")
    page.wait_for_function(IN_SIGHT, arg="eq-mean_prompt", timeout=20_000)
    assert not before and not errors


def test_small_print_can_be_read(
    opened: tuple[Page, list[str], list[str]],
) -> None:
    page, _, _ = opened
    small = ".live-label, .live-readout, .question-kind, figcaption, .live-title"
    contrasts = page.evaluate(CONTRAST, small)
    assert contrasts and min(contrasts) >= 4.5
