"""What a browser keeps for its reader: settings in the address, answers, progress."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.question.judge import judge
from tests.browser.browser import RUNNING, Visit, served, shown, visit
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
BAD = "cannot be read"
OLD = "another version"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages that link to each other, with two figures and three questions."""
    found = tmp_path_factory.mktemp("kept")
    prepare(found)
    anchor = '<p style="height: 2000px">text</p><h2 id="below">Below</h2>'
    pieces = (example(goal=RIDGE), steps(), WEIGHTS, BOUND, anchor)
    write(found, "index.html", *pieces, navigation=LINKS)
    write(found, "other.html", READ, navigation=LINKS)
    write(found, "plain.html", "<p>Nothing is asked.</p>", navigation=LINKS)
    return found


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


# ---- The address


def test_the_address_brings_both_figures_back(page: Page) -> None:
    address = moved(page)
    before = shown(page.locator("figure.live"))
    opened(page, address)
    assert shown(page.locator("figure.live")) == before
    expect(page.get_by_label("model")).to_have_value("1")
    expect(page.get_by_role("radio", name="continuous")).to_be_checked()
    expect(page.locator(".step-at")).to_have_text("8 of 8")
    expect(page.locator(".live-notice:visible")).to_have_count(0)


def test_an_address_works_from_a_server_too(chromium: Browser, folder: Path) -> None:
    with (
        served(folder) as home,
        visit(chromium, f"{home}/index.html") as online,
    ):
        ready(online.page)
        address = moved(online.page)
        opened(online.page, address)
        expect(online.page.locator(".step-at")).to_have_text("8 of 8")


def test_a_link_within_the_page_sets_the_figures(page: Page) -> None:
    address = moved(page)
    page.locator("figure.live .live-reset").click()
    page.locator("input[name=frame]").press("Home")
    page.wait_for_function("location.hash.includes('frame=0')")
    page.evaluate("hash => { location.hash = hash; }", address.split("#")[1])
    expect(page.locator(".step-at")).to_have_text("8 of 8")
    expect(page.get_by_label("model")).to_have_value("1")


def test_anchors_work_beside_figures(page: Page, address: str) -> None:
    page.evaluate("location.hash = 'below'")
    state = moved(page)
    assert state.startswith(f"{address}#below&fig=")
    opened(page, f"{address}#below")
    assert (
        page.evaluate("document.querySelector('#below').getBoundingClientRect().top")
        < 900
    )
    expect(page.locator(".step-at")).to_have_text("0 of 12")
    opened(page, state)
    expect(page.locator(".step-at")).to_have_text("8 of 8")


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
VERSION = "e => JSON.parse(e.textContent).version"


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
    assert page.locator("img").count() == 0
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
        expect(page.locator(".step-at")).to_have_text("0 of 12")


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
        expect(bare.page.locator(".step-at")).to_have_text("8 of 8")


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


# ---- Goals


def test_the_page_says_when_a_goal_is_reached_and_remembers_it(page: Page) -> None:
    goal = page.locator("figure.live .live-goal")
    expect(goal).to_contain_text("bring decode to the ridge")
    expect(goal.get_by_role("status")).to_have_text("")
    page.get_by_label("requests in one batch").press("End")
    page.locator("input[name=context]").press("Home")
    page.get_by_label("device").select_option("old")
    assert RIDGE.met(example().values(**RIDGE.example))
    expect(goal.get_by_role("status")).to_have_text("You are there.")
    page.locator(".live-reset").click()
    expect(goal.get_by_role("status")).to_have_text("You have been there.")
    page.reload()
    ready(page)
    expect(goal.get_by_role("status")).to_have_text("You have been there.")
    expect(page.locator(".progress-count")).to_have_text("1 of 4 done")


def test_the_goal_of_a_step_figure_is_a_frame(page: Page) -> None:
    status = page.locator("figure.step .live-goal").get_by_role("status")
    slider = page.locator("input[name=frame]")
    slider.press("End")
    expect(status).to_have_text("")
    for _ in range(3):
        slider.press("ArrowLeft")
    expect(status).to_have_text("You are there.")


# ---- Answers and progress


def test_answers_are_there_again_and_count(page: Page) -> None:
    expect(page.locator(".progress-count")).to_have_text("0 of 4 done")
    answer(page, WEIGHTS, "7")
    expect(page.locator(".progress-count")).to_have_text("0 of 4 done")
    answer(page, BOUND, "b")
    expect(page.locator(".progress-count")).to_have_text("1 of 4 done")
    page.reload()
    ready(page)
    asked = page.locator("#question-example-weights")
    expect(asked.locator("input")).to_have_value("7")
    expect(asked.get_by_role("status")).to_contain_text("One byte")
    expect(asked.locator("details")).to_be_hidden()
    guessed = page.locator("#question-example-bound")
    expect(guessed.get_by_label("(b) compute")).to_be_checked()
    expect(guessed.get_by_role("status")).to_have_text(judge(BOUND, "b").text)
    expect(guessed.locator("details")).to_be_visible()
    expect(page.locator(".progress-count")).to_have_text("1 of 4 done")


def test_the_navigation_counts_each_page(page: Page, folder: Path) -> None:
    answer(page, WEIGHTS, "14")
    answer(page, BOUND, "a")
    marks = page.locator(".progress-mark")
    expect(marks).to_have_text([" 2 of 4"])
    page.goto((folder / "other.html").as_uri())
    page.locator(".question[data-state=running]").wait_for()
    expect(marks).to_have_text([" 2 of 4", " 0 of 1"])
    note = page.locator(".progress-note")
    expect(note).to_have_text("Kept in this browser only; nothing is sent.")
    answer(page, READ, "400")
    expect(marks).to_have_text([" 2 of 4", " 1 of 1"])
    page.goto((folder / "plain.html").as_uri())
    expect(marks).to_have_text([" 2 of 4", " 1 of 1"])
    expect(page.locator(".progress-bar")).to_have_count(0)


def test_one_button_clears_everything(page: Page, folder: Path) -> None:
    page.evaluate("localStorage.setItem('of another book', 'stays')")
    answer(page, WEIGHTS, "14")
    answer(page, BOUND, "b")
    page.get_by_role("button", name="Clear my answers").click()
    expect(page.locator(".progress-count")).to_have_text("0 of 4 done")
    asked = page.locator("#question-example-weights")
    expect(asked.locator("input")).to_have_value("")
    expect(asked.get_by_role("status")).to_have_text("")
    expect(page.locator(".question details:visible")).to_have_count(0)
    keys = page.evaluate("Object.keys(localStorage).sort()")
    assert keys == ["llmserve_lab/0.1.0/pages", "of another book"]
    page.reload()
    ready(page)
    expect(page.locator(".progress-count")).to_have_text("0 of 4 done")
    expect(asked.locator("input")).to_have_value("")


UNFIT = [
    '{"version":"old","answer":"14","tries":1,"open":true}',
    '{"version":"VERSION","answer":14,"tries":1,"open":true}',
    '{"version":"VERSION","answer":"about 14","tries":1,"open":true}',
    '{"version":"VERSION","answer":"14","tries":-1,"open":true}',
    '{"version":"VERSION","answer":"<img src=x>","tries":1,"open":true}',
    '"<img src=x onerror=alert(1)>"', '["14"]', "null", "14", "{", "",
]  # fmt: skip


def test_a_stored_answer_that_no_longer_fits_is_dropped(page: Page) -> None:
    asked = page.locator("#question-example-weights")
    version = asked.locator(".question-data").evaluate(VERSION)
    key = "llmserve_lab/0.1.0/question/example-weights"
    for stored in UNFIT:
        text = stored.replace("VERSION", version)
        page.evaluate("([k, v]) => localStorage.setItem(k, v)", [key, text])
        page.evaluate("localStorage['llmserve_lab/0.1.0/pages'] = '{\"x\": 3}'")
        page.reload()
        ready(page)
        expect(asked.locator("input")).to_have_value("")
        expect(asked.get_by_role("status")).to_have_text("")
        expect(page.locator(".progress-count")).to_have_text("0 of 4 done")
    assert page.locator("img").count() == 0


def test_an_index_of_no_choice_is_dropped(page: Page) -> None:
    data = page.locator("#question-example-bound .question-data")
    version = data.evaluate(VERSION)
    stored = {"version": version, "answer": "7", "tries": 1, "open": True}
    key = "llmserve_lab/0.1.0/question/example-bound"
    page.evaluate(
        "([k, v]) => localStorage.setItem(k, JSON.stringify(v))", [key, stored]
    )
    page.reload()
    ready(page)
    expect(page.locator("#question-example-bound input:checked")).to_have_count(0)
    assert page.evaluate("k => localStorage.getItem(k)", key) is None


@pytest.mark.parametrize("script", [REFUSED, FULL], ids=["refused", "full"])
def test_where_nothing_can_be_stored_all_works_until_the_page_is_closed(
    chromium: Browser, address: str, script: str
) -> None:
    with visit(chromium, "about:blank") as bare:
        bare.page.add_init_script(script)
        bare.page.goto(address)
        ready(bare.page)
        note = bare.page.locator(".progress-note")
        expect(note).to_contain_text("until you close it")
        answer(bare.page, BOUND, "a")
        expect(bare.page.locator(".progress-count")).to_have_text("1 of 4 done")
        bare.page.get_by_role("button", name="Clear my answers").click()
        expect(bare.page.locator(".progress-count")).to_have_text("0 of 4 done")
        assert bare.errors == []


def test_where_pages_share_no_storage_the_page_says_so(
    chromium: Browser, folder: Path
) -> None:
    with visit(chromium, "about:blank") as bare:
        bare.page.add_init_script(ALONE)
        for name, count in (
            ("index.html", "0 of 4 done"),
            ("other.html", "0 of 1 done"),
        ):
            bare.page.goto((folder / name).as_uri())
            expect(bare.page.locator(".progress-count")).to_have_text(count)
            note = bare.page.locator(".progress-note")
            expect(note).to_contain_text("for this page")
            expect(bare.page.locator(".progress-mark")).to_have_count(1)


def test_axe_finds_nothing_with_everything_open(seen: Visit) -> None:
    answer(seen.page, BOUND, "b")
    answer(seen.page, WEIGHTS, "14")
    seen.page.locator("figure.step").get_by_role("button", name="Copy link").click()
    assert seen.axe() == []
    seen.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert seen.axe() == []
