"""A server may forbid the scripts that stand in a page: all else works as before."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Error, expect

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html"
FOLDS = ".toggle-button, .toggle-hidden"


class Strict(SimpleHTTPRequestHandler):
    """Lets a page run scripts that are files of this server, and no other."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", "script-src 'self'")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def strict() -> Iterator[str]:
    """Address of a server with that policy."""
    handler = partial(Strict, directory=str(PAGES))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _keep(faults: list[Error], fault: Error) -> None:
    faults.append(fault)


def test_mathematics_figures_and_folds_need_no_script_in_the_page(
    chromium: Browser, strict: str
) -> None:
    found = []
    for home in (PAGES.as_uri(), strict):
        page, faults = chromium.new_page(), list[Error]()
        page.on("pageerror", partial(_keep, faults))
        page.goto(f"{home}/chapters/roofline.html")
        page.locator("[data-state=running]:visible").first.wait_for()
        formulas = page.locator("span.math, div.math")
        expect(page.locator("mjx-container")).to_have_count(formulas.count())
        assert formulas.count() > 100 and faults == []
        found.append((formulas.count(), page.locator(FOLDS).count()))
        page.close()
    assert found[0] == found[1] and found[0][1] > 0
