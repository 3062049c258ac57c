"""What a reader waits for on a page with live figures, and how much of it is ours.

Measured in chromium on the built pages, opened from the folder. Bytes are the same
everywhere; milliseconds are those of this machine, as busy as it is just now.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import compress
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright
from tests.browser.browser import FLAGS, RUNNING, step_times, visit
from tests.browser.limits import MOST_BYTES, MOST_SENT

from benchmarks import Line

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "_build" / "html" / "chapters"
OPENINGS = 5
STEP_MS, DRAWN_S = 4.0, 1.0
FRAME_MS = 16.0  # a choice, or a step of a step figure, takes no more than a frame

# Milliseconds since the reader asked for the page, noted when a figure first runs.
NOTE_FIRST = """new MutationObserver((_, watch) => {
  if (!document.querySelector("figure.live[data-state=running]")) return;
  window.firstDrawn = performance.now();
  watch.disconnect();
}).observe(document, {subtree: true, attributeFilter: ["data-state"]});"""


def with_figures() -> list[Path]:
    """The chapters' pages that have a live figure."""
    pages = sorted(CHAPTERS.glob("*.html"))
    return [page for page in pages if 'class="live"' in page.read_text("utf8")]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window.

    Raises:
        FileNotFoundError: chromium is not installed.
    """
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise FileNotFoundError("the pages are measured in chromium: install it first")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def drawn_s(browser: Browser, page: Path) -> float:
    """Median over fresh visits: seconds from the request to the first drawn chart."""
    times = []
    for _ in range(OPENINGS):
        context = browser.new_context()
        context.add_init_script(NOTE_FIRST)
        tab = context.new_page()
        tab.goto(page.as_uri())
        tab.wait_for_function("window.firstDrawn")
        times.append(float(tab.evaluate("window.firstDrawn")) / 1e3)
        context.close()
    return median(times)


def steps(browser: Browser, page: Path) -> Iterator[Line]:
    """For each figure the median time of a slider's step, a choice, or a frame."""
    with visit(browser, page.as_uri()) as seen:
        waiting = seen.page.locator(":is(.live, .step):not([data-state=running])")
        waiting.wait_for(state="detached")
        for figure in seen.page.locator(RUNNING).all():
            slides = figure.locator("input[type=range]").count()
            kind, limit = ("slider step", STEP_MS) if slides else ("choice", FRAME_MS)
            title = f"{page.stem}: {kind}, this machine, {figure.get_attribute('id')}"
            yield Line(title, median(step_times(figure)), limit, "ms")
        for figure in seen.page.locator("figure.step").all():
            title = f"{page.stem}: step, this machine, {figure.get_attribute('id')}"
            yield Line(title, median(step_times(figure)), FRAME_MS, "ms")


def size(page: Path) -> Iterator[Line]:
    """Kilobytes of a page's HTML, as a browser reads it and as a server sends it."""
    html = page.read_bytes()
    yield Line(f"{page.stem}: HTML", len(html) / 1e3, MOST_BYTES / 1e3, "kB")
    sent = len(compress(html, 6))
    yield Line(f"{page.stem}: HTML as sent", sent / 1e3, MOST_SENT / 1e3, "kB")


def main() -> Iterator[Line]:
    """Yield waiting times, slider steps and size of every page with live figures."""
    with chromium() as browser:
        for page in with_figures():
            name = page.stem
            yield Line(
                f"{name}: first chart, this machine",
                drawn_s(browser, page),
                DRAWN_S,
                "s",
            )
            yield from steps(browser, page)
            yield from size(page)
