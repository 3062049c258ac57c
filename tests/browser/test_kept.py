"""What a browser keeps for its reader: answers, goals, progress."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from llmserve_lab.page.question.judge import judge
from tests.browser.browser import Visit, visit
from tests.browser.kept import (
    ALONE,
    FULL,
    REFUSED,
    RIDGE,
    VERSION,
    answer,
    ready,
    write_pages,
)
from tests.formula.example import BOUND, READ, WEIGHTS, example

DONE, DONE_1 = "of 4 questions and goals done", "0 of 1 questions and goals done"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    expect(page.locator(".progress-count")).to_have_text(f"1 {DONE}")


def test_the_goal_of_a_step_figure_is_a_frame(page: Page) -> None:
    status = page.locator("figure.step .live-goal").get_by_role("status")
    slider = page.locator("input[name=frame]")
    slider.press("End")
    expect(status).to_have_text("")
    for _ in range(3):
        slider.press("ArrowLeft")
    expect(status).to_have_text("You are there.")


def test_answers_are_there_again_and_count(page: Page) -> None:
    expect(page.locator(".progress-count")).to_have_text(f"0 {DONE}")
    answer(page, WEIGHTS, "7")
    expect(page.locator(".progress-count")).to_have_text(f"0 {DONE}")
    answer(page, BOUND, "b")
    expect(page.locator(".progress-count")).to_have_text(f"1 {DONE}")
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
    expect(page.locator(".progress-count")).to_have_text(f"1 {DONE}")


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
    expect(page.locator(".book-progress")).to_have_count(0)


def test_one_button_clears_everything(page: Page, folder: Path) -> None:
    page.evaluate("localStorage.setItem('of another book', 'stays')")
    answer(page, WEIGHTS, "14")
    answer(page, BOUND, "b")
    page.get_by_role("button", name="Clear my answers").click()
    expect(page.locator(".progress-count")).to_have_text(f"0 {DONE}")
    asked = page.locator("#question-example-weights")
    expect(asked.locator("input")).to_have_value("")
    expect(asked.get_by_role("status")).to_have_text("")
    expect(page.locator(".question details:visible")).to_have_count(0)
    keys = page.evaluate("Object.keys(localStorage).sort()")
    assert keys == ["llmserve_lab/0.1.0/pages", "of another book"]
    page.reload()
    ready(page)
    expect(page.locator(".progress-count")).to_have_text(f"0 {DONE}")
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
        expect(page.locator(".progress-count")).to_have_text(f"0 {DONE}")
    assert page.locator("img:not(.alone)").count() == 0


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
        expect(bare.page.locator(".progress-count")).to_have_text(f"1 {DONE}")
        bare.page.get_by_role("button", name="Clear my answers").click()
        expect(bare.page.locator(".progress-count")).to_have_text(f"0 {DONE}")
        assert bare.errors == []


def test_where_pages_share_no_storage_the_page_says_so(
    chromium: Browser, folder: Path
) -> None:
    with visit(chromium, "about:blank") as bare:
        bare.page.add_init_script(ALONE)
        for name, count in (
            ("index.html", f"0 {DONE}"),
            ("other.html", DONE_1),
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
