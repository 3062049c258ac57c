"""Two pages that link to each other, and what tests of what is kept do on them."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from llmserve_lab.page.live.goal import Goal
from tests.browser.browser import RUNNING
from tests.browser.pieces import prepare, write
from tests.formula.example import BOUND, READ, WEIGHTS, example
from tests.page.steps import steps

RIDGE = Goal(
    "bring decode to the ridge",
    lambda intensity, ridge: intensity >= ridge,
    {"batch": 256.0, "context": 1.0, "device": "old"},
)
LINKS = """<nav class="bd-links">
<a class="reference internal" href="index.html">This</a>
<a class="reference internal" href="other.html">Other</a></nav>"""
REFUSED = """Object.defineProperty(window, "localStorage", {get() {
  throw new DOMException("The operation is insecure.", "SecurityError");
}});"""
FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError");
};"""
ALONE = """{
  const kept = {};
  for (const [name, does] of Object.entries({
    getItem: (k) => kept[k] ?? null, setItem: (k, v) => { kept[k] = String(v); },
    removeItem: (k) => { delete kept[k]; }, clear() {},
  })) Object.defineProperty(kept, name, {value: does});
  Object.defineProperty(window, "localStorage", {value: kept});
}"""
NO_CLIPBOARD = 'Object.defineProperty(navigator, "clipboard", {value: undefined});'
# The version of the data that a piece brings along.
VERSION = "e => JSON.parse(e.textContent).version"
BAD = "cannot be read"
OLD = "another version"


def write_pages(folder: Path) -> str:
    """Three pages that link to each other; returns the address of the first."""
    prepare(folder)
    anchor = '<p style="height: 2000px">text</p><h2 id="below">Below</h2>'
    pieces = (example(goal=RIDGE), steps(), WEIGHTS, BOUND, anchor)
    write(folder, "other.html", READ, navigation=LINKS)
    write(folder, "plain.html", "<p>Nothing is asked.</p>", navigation=LINKS)
    return write(folder, "index.html", *pieces, navigation=LINKS).as_uri()


def ready(page: Page) -> None:
    page.wait_for_selector(RUNNING)
    page.wait_for_selector("figure.step[data-state=running]")


def opened(page: Page, address: str) -> None:
    """Open an address as a new page, not as a jump within this one."""
    page.goto("about:blank")
    page.goto(address)
    ready(page)


def moved(page: Page) -> str:
    """Move both figures; return the address that they write."""
    page.get_by_label("requests in one batch").press("End")
    page.get_by_label("model").select_option("large")
    page.get_by_role("radio", name="continuous").check()
    page.locator("input[name=frame]").press("End")
    page.wait_for_function("location.hash.includes('frame=8')")
    return str(page.evaluate("location.href"))


def answer(page: Page, question: Any, text: str) -> Locator:
    """Answer a question, by letter where it has choices."""
    asked = page.locator(f"#question-{question.name}")
    if question.choices:
        asked.get_by_label(f"({text})").check()
    else:
        asked.locator("input").fill(text)
    asked.get_by_role("button", name="Check").click()
    return asked
