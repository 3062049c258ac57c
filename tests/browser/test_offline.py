"""The built pages load no script, style, font or picture from another host."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from alternative_text import without_alternative

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html"
BUILT = sorted(PAGES.glob("*.html")) + sorted(PAGES.glob("chapters/*.html"))
LOADS = {"audio", "embed", "iframe", "img", "link", "object", "script", "video"}
LINKS_TO_FOLLOW = {"author", "canonical", "license", "next", "prev", "search"}
REMOTE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


def styled(css: str) -> list[str]:
    """Addresses that a piece of CSS loads."""
    return [url or imported for url, imported in STYLE_URL.findall(css)]


class Loads(HTMLParser):
    """Collects every address that a browser fetches to show the page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this tag loads; a link to follow loads nothing."""
        values = dict(attrs)
        if tag in LOADS and (values.get("rel") or "") not in LINKS_TO_FOLLOW:
            for key in ("src", "href", "data", "poster", "srcset"):
                self.addresses.append(values.get(key) or "")
        self.addresses += styled(values.get("style") or "")


def loads(html: str) -> list[str]:
    """Addresses that `html` loads from another host."""
    walk = Loads()
    walk.feed(html)
    return [address for address in walk.addresses if REMOTE.match(address)]


def test_pages_are_built() -> None:
    assert len(BUILT) > 3, "no pages to look at: run `make book` first"


@pytest.mark.parametrize("page", BUILT, ids=lambda page: page.stem)
def test_a_page_loads_nothing_from_outside(page: Path) -> None:
    assert loads(page.read_text("utf8")) == []


@pytest.mark.parametrize("page", BUILT, ids=lambda page: page.stem)
def test_what_a_page_loads_is_there(page: Path) -> None:
    walk = Loads()
    walk.feed(page.read_text("utf8"))
    local = {re.split("[?#]", a)[0] for a in walk.addresses if a[:5] != "data:"}
    missing = {a for a in local - {""} if not (page.parent / a).exists()}
    assert missing == set()


@pytest.mark.parametrize("page", BUILT, ids=lambda page: page.stem)
def test_every_picture_on_a_page_is_described(page: Path) -> None:
    article = page.read_text("utf8").partition("<article")[2].partition("</article")[0]
    assert without_alternative(article) == []


def test_no_style_loads_from_outside() -> None:
    styles = [path.read_text("utf8") for path in PAGES.rglob("*.css")]
    assert styles
    assert [url for css in styles for url in styled(css) if REMOTE.match(url)] == []


def test_a_remote_load_is_found() -> None:
    assert loads('<script src="https://cdn.example/x.js"></script>')
    assert loads('<link rel="stylesheet" href="//fonts.example/f.css">')
    assert loads('<p style="background: url(http://a.example/b.png)">')
    assert not loads('<a href="https://example.org">read on</a>')
