"""The state of each figure stands in the address, and a link can be copied."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browser import Visit, served, shown, visit
from tests.browser.kept import (
    BAD,
    NO_CLIPBOARD,
    OLD,
    VERSION,
    moved,
    opened,
    ready,
    write_pages,
)
from tests.browser.pieces import write
from tests.page.steps import steps


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages in it, whichever test asks first."""
    made = tmp_path_factory.mktemp("kept")
    write_pages(made)
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> str:
    return (folder / "index.html").as_uri()


@pytest.fixture
def seen(chromium: Browser, address: str) -> Iterator[Visit]:
    """A fresh browser on the page; afterwards it must not have complained."""
    with visit(chromium, address) as opened:
        ready(opened.page)
        yield opened
        assert opened.errors == [] and opened.outside == []


@pytest.fixture
def page(seen: Visit) -> Page:
    return seen.page


def test_the_address_brings_both_figures_back(page: Page) -> None:
    address = moved(page)
    before = shown(page.locator("figure.live"))
    opened(page, address)
    assert shown(page.locator("figure.live")) == before
    expect(page.get_by_label("model")).to_have_value("1")
    expect(page.get_by_role("radio", name="continuous")).to_be_checked()
    expect(page.locator(".step-at")).to_have_text("9 of 9")
    expect(page.locator(".live-notice:visible")).to_have_count(0)


def test_an_address_works_from_a_server_too(chromium: Browser, folder: Path) -> None:
    with (
        served(folder) as home,
        visit(chromium, f"{home}/index.html") as online,
    ):
        ready(online.page)
        address = moved(online.page)
        opened(online.page, address)
        expect(online.page.locator(".step-at")).to_have_text("9 of 9")


def test_a_link_within_the_page_sets_the_figures(page: Page) -> None:
    address = moved(page)
    page.locator("figure.live .live-reset").click()
    page.locator("input[name=frame]").press("Home")
    page.wait_for_function("location.hash.includes('frame=0')")
    page.evaluate("hash => { location.hash = hash; }", address.split("#")[1])
    expect(page.locator(".step-at")).to_have_text("9 of 9")
    expect(page.get_by_label("model")).to_have_value("1")


def test_a_link_opens_at_its_figure_even_in_a_fold(
    chromium: Browser, folder: Path
) -> None:
    above = '<p style="height: 2000px">text</p><details><summary>More</summary>'
    write(folder, "fold.html", above, steps(), "</details>")
    page = (folder / "fold.html").as_uri()
    with visit(chromium, page) as folded:
        version = folded.page.locator(".step-data").evaluate(VERSION)
        folded.page.goto("about:blank")
        folded.page.goto(f"{page}#fig=static-or-continuous.{version}:log=0,frame=3")
        figure = folded.page.locator("figure.step")
        expect(figure).to_be_in_viewport()
        expect(figure.locator(".step-at")).to_have_text("4 of 13")
        wide = figure.locator(".live-picture").first.bounding_box()
        drawn = figure.locator(".live-picture svg").first.bounding_box()
        assert wide and drawn and abs(wide["width"] - drawn["width"]) < 2


def test_anchors_work_beside_figures(page: Page, address: str) -> None:
    page.evaluate("location.hash = 'below'")
    state = moved(page)
    assert state.startswith(f"{address}#below&fig=")
    opened(page, f"{address}#below")
    assert (
        page.evaluate("document.querySelector('#below').getBoundingClientRect().top")
        < 900
    )
    expect(page.locator(".step-at")).to_have_text("1 of 13")
    opened(page, state)
    expect(page.locator(".step-at")).to_have_text("9 of 9")


WRONG = {
    "fig=example.VERSION:batch=3": BAD,
    "fig=example.VERSION:batch=999999999": BAD,
    "fig=example.VERSION:batch=1e999,model=0": BAD,
    "fig=example.VERSION:model=7": BAD,
    "fig=example.VERSION:unknown=1": BAD,
    "fig=example.VERSION:device=0,precision=1": BAD,
    "fig=example.VERSION:batch=1;model=1": BAD,
    "fig=example.VERSION:__proto__=1": BAD,
    "fig=example": BAD,
    "fig=example.%E0%A4%A:batch=1": BAD,
    "fig=example.VERSION:batch=<img src=x onerror=alert(1)>": BAD,
    "fig=example.VERSION:batch=%3Cimg%20src=x%3E": BAD,
    "fig=example.ffff:batch=1": OLD,
}


def test_a_wrong_address_gives_the_usual_state_and_says_so(
    page: Page, address: str
) -> None:
    figure, notice = (
        page.locator("figure.live"),
        page.locator("figure.live .live-notice"),
    )
    usual, version = shown(figure), page.locator(".live-data").evaluate(VERSION)
    for wrong, want in WRONG.items():
        figure.get_by_label("model").select_option("large")
        hash_ = wrong.replace("VERSION", version)
        page.evaluate("hash => { location.hash = hash; }", hash_)
        expect(notice).to_contain_text(want)
        assert shown(figure) == usual, wrong
        page.evaluate("hash => { location.hash = hash; }", f"fig=example.{version}:")
        expect(notice).to_be_hidden()
    assert page.locator("img:not(.alone)").count() == 0
    expect(page.locator("figure.step .live-notice")).to_be_hidden()
    opened(page, f"{address}#fig=example.{version}:batch=3")
    expect(notice).to_contain_text(BAD)
    assert shown(figure) == usual


def test_a_frame_that_is_not_there_is_not_shown(page: Page, address: str) -> None:
    version = page.locator(".step-data").evaluate(VERSION)
    for wrong in ("frame=13", "log=2,frame=1", "frame=-1", "log=1", "log=1,frame=9"):
        page.locator("input[name=frame]").press("End")
        hash_ = f"fig=static-or-continuous.{version}:{wrong}"
        page.evaluate("hash => { location.hash = hash; }", hash_)
        expect(page.locator("figure.step .live-notice")).to_contain_text(BAD)
        expect(page.locator(".step-at")).to_have_text("1 of 13")


def test_what_is_for_no_figure_here_is_left_alone(page: Page, address: str) -> None:
    for strange in ("nothing=1&&", "fig=no-such.ab12:x=1", "%", "&"):
        opened(page, f"{address}#{strange}")
        expect(page.locator(".live-notice:visible")).to_have_count(0)


def test_copy_link_selects_the_text_where_there_is_no_clipboard(
    chromium: Browser, address: str
) -> None:
    with visit(chromium, "about:blank") as bare:
        bare.page.add_init_script(NO_CLIPBOARD)
        bare.page.goto(address)
        ready(bare.page)
        moved(bare.page)
        figure = bare.page.locator("figure.step")
        figure.get_by_role("button", name="Copy link").click()
        expect(figure.get_by_text("Copy the selected link.")).to_be_visible()
        field = figure.get_by_label("Link to this figure as it is set")
        link = field.input_value()
        assert bare.page.evaluate("getSelection().toString()") == link
        assert re.search(r"#fig=static-or-continuous\.\w+:log=1,frame=8$", link)
        opened(bare.page, link)
        expect(bare.page.locator(".step-at")).to_have_text("9 of 9")


def test_copy_link_writes_to_the_clipboard(chromium: Browser, folder: Path) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    with (
        served(folder) as home,
        visit(chromium, f"{home}/index.html", permissions=allowed) as online,
    ):
        ready(online.page)
        figure = online.page.locator("figure.live")
        figure.get_by_role("button", name="Copy link").click()
        expect(figure.get_by_text("Link copied.")).to_be_visible()
        link = online.page.evaluate("navigator.clipboard.readText()")
        assert link.startswith(f"{home}/index.html#fig=example.")
