"""Pages in a real browser: one chromium a session, no network, complaints kept."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    ViewportSize,
    sync_playwright,
)

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome"),
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
HOW_TO_GET_IT = "apt-get install chromium, or brew install --cask chromium"
AXE = Path(__file__).resolve().parents[1] / "vendor" / "axe.min.js"
RUNNING = "figure.live[data-state=running]"
UNFOLD = "document.querySelectorAll('details.further').forEach(d => { d.open = true; })"
# Docutils' citations and MyST-NB's folded cells are the theme's, wherever they stand.
AXE_RUN = """async (rules) => {
  const theirs = ".citation-list, details.hide > summary";
  const only = rules.length ? {runOnly: rules} : {};
  const options = {preload: false, resultTypes: ["violations"], ...only};
  const found = await axe.run(document, options);
  return found.violations.flatMap(v => v.nodes
    .filter(n => !document.querySelector(n.target[0])?.closest(theirs))
    .map(n => v.id + " " + n.target.join(" ")));
}"""
READ = """figure => [
  [...figure.querySelectorAll("output[data-readout]")].map(
    o => [o.dataset.readout, o.dataset.value, o.textContent]),
  figure.querySelector("figcaption").textContent]"""
STEP_TIMES = """async (figure) => {
  const input = figure.querySelector("input[type=range]")
    ?? figure.querySelector("select:last-of-type");
  const last = input.max ? Number(input.max) : input.options.length - 1, times = [];
  const painted = () => new Promise(done => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  });
  for (let i = 0; i < 61; i++) {
    const start = performance.now();
    input.value = String(i % (last + 1));
    input.dispatchEvent(new Event("input", {bubbles: true}));
    await painted();
    figure.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""


@dataclass
class Visit:
    """An open page, with what it complained about and what it asked the network for."""

    page: Page
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def watch(self, home: str) -> None:
        """Note console errors, exceptions and requests that leave `home`."""
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url, home))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _note(self, url: str, home: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and not url.startswith(home):
            self.outside.append(url)

    def axe(self, *rules: str) -> list[str]:
        """What axe-core objects to, as `rule selector`; of all rules, or of these."""
        if not self.page.evaluate("typeof axe === 'object'"):
            self.page.evaluate(AXE.read_text("utf8"))
        found: list[str] = self.page.evaluate(AXE_RUN, rules)
        return found


@pytest.fixture(scope="session")
def chromium(optional: Callable[[str, object], None]) -> Iterator[Browser]:
    """The one browser of the session."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    optional(f"chromium is not installed ({HOW_TO_GET_IT})", path)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: Browser, url: str, *, width: int = 1280, dark: bool = False, **options: Any
) -> Iterator[Visit]:
    """Open `url` in a fresh context; `options` go to Playwright's `new_context`."""
    context = browser.new_context(
        viewport=ViewportSize(width=width, height=900),
        color_scheme="dark" if dark else "light",
        **options,
    )
    try:
        seen = Visit(context.new_page())
        parts = urlsplit(url)
        seen.watch(f"{parts.scheme}://{parts.netloc}/")
        seen.page.goto(url)
        seen.page.evaluate(UNFOLD)  # what goes further is shown as a reader opens it
        yield seen
    finally:
        context.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A local web server for `folder`; yields its address."""
    handler = partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Shown:
    """What a figure shows: numbers in full and as printed, and its sentence."""

    values: dict[str, float]
    texts: dict[str, str]
    caption: str


def shown(figure: Locator) -> Shown:
    """Read a figure in one go."""
    outputs, caption = figure.evaluate(READ)
    values = {name: float(value) for name, value, _ in outputs}
    return Shown(values, {name: text for name, _, text in outputs}, caption)


def step_times(figure: Locator) -> list[float]:
    """Milliseconds from a control's input event to the drawn picture, sixty steps."""
    times: list[float] = figure.evaluate(STEP_TIMES)
    return sorted(times[1:])
