"""The book's pieces on a bare page: they move, they tell, they do without scripts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from llmserve_lab.formula.text import si
from llmserve_lab.page.live.controls import Choice
from llmserve_lab.page.question.judge import EMPTY, UNCHOSEN, judge
from tests.browser.browser import RUNNING, Visit, served, shown, visit
from tests.browser.pieces import prepare, write
from tests.formula.example import BATCHES, BOUND, WEIGHTS, drawing, example


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with every piece, on disk."""
    folder = tmp_path_factory.mktemp("pieces")
    prepare(folder)
    pieces = (example(), WEIGHTS, BOUND, drawing())
    return write(folder, "index.html", *pieces).as_uri()


@pytest.fixture(scope="module")
def seen(chromium: Browser, address: str) -> Iterator[Visit]:
    with visit(chromium, address, offline=True) as opened:
        opened.page.wait_for_selector(RUNNING)
        yield opened


@pytest.fixture
def page(seen: Visit) -> Iterator[Page]:
    """The page as it was opened; afterwards it must have nothing to complain about."""
    seen.page.evaluate("localStorage.clear()")
    seen.page.reload()
    seen.page.wait_for_selector(RUNNING)
    yield seen.page
    assert seen.errors == [] and seen.outside == []


def test_each_key_press_shows_the_value_that_numpy_gives(page: Page) -> None:
    figure = page.locator("figure.live")
    slider = figure.get_by_label("requests in one batch")
    slider.focus()
    for key, stop in (("ArrowRight", 6), ("ArrowRight", 7), ("Home", 0), ("End", 8)):
        slider.press(key)
        want = example().values(batch=BATCHES[stop])
        found = shown(figure).values
        assert found == pytest.approx({n: want[n] for n in found}, rel=1e-9)
        output = figure.locator("output[data-readout=intensity]")
        expect(output).to_have_text(si(want["intensity"], "FLOP/byte"))
        assert slider.get_attribute("aria-valuetext") == si(BATCHES[stop], "request")


def test_the_sentence_and_the_alternative_text_follow(page: Page) -> None:
    figure = page.locator("figure.live")
    figure.get_by_label("model").select_option("large")
    want = example().caption(model="large")
    expect(figure.locator("figcaption")).to_have_text(want)
    expect(figure.locator(".live-picture")).to_have_attribute("aria-label", want)


def test_the_drawing_moves_with_the_slider(page: Page) -> None:
    mark = page.locator(".live-picture .mark-symbol path")
    before = mark.get_attribute("transform")
    page.get_by_label("requests in one batch").press("End")
    expect(mark).not_to_have_attribute("transform", before or "")


def test_reset_returns_to_the_stored_state(page: Page) -> None:
    figure = page.locator("figure.live")
    stored = shown(figure)
    figure.get_by_label("requests in one batch").press("End")
    figure.get_by_label("device").select_option("old")
    assert shown(figure) != stored
    figure.get_by_role("button", name="Reset").click()
    assert shown(figure) == stored


def test_a_combination_that_does_not_exist_cannot_be_taken(page: Page) -> None:
    page.get_by_label("device").select_option("old")
    option = page.get_by_label("precision").locator("option").nth(1)
    assert option.is_disabled() and option.inner_text() == "8 bit (not with old)"
    page.get_by_label("device").select_option("new")
    assert option.is_enabled() and option.inner_text() == "8 bit"


def test_colours_follow_the_theme_without_drawing_again(page: Page) -> None:
    colour = "getComputedStyle(document.querySelector('.mark-line path')).stroke"
    assert page.evaluate(colour) == "rgb(0, 103, 165)"
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(colour) == "rgb(95, 180, 236)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(0, 103, 165)"
    expect(page.locator(".live-controls input").first).to_be_hidden()
    expect(page.locator(".live-value").first).to_have_text("32 requests")
    page.emulate_media(media="screen")


def test_a_phone_gets_a_narrow_chart_and_large_targets(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    chart = page.locator(".live-picture svg").first
    expect(chart).to_have_attribute("width", re.compile(r"^3\d\d$"))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    turns = page.locator("input[type=range], select, button:visible, input[type=text]")
    heights = turns.evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert len(heights) == 11 and min(heights) >= 44
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_wrong_guess_gets_its_hint_and_two_a_way_out(page: Page) -> None:
    question = page.locator("#question-example-weights")
    reason, field = question.locator("details"), question.locator("input")
    expect(reason).to_be_hidden()
    assert "14.0" not in question.inner_text()
    for given, want in (("7", "One byte"), ("28 GB", "factor of 2")):
        expect(question.get_by_text("Show the solution")).to_be_hidden()
        field.fill(given)
        field.press("Enter")
        expect(question.get_by_role("status")).to_contain_text(want)
        expect(reason).to_be_hidden()
    question.get_by_text("Show the solution").click()
    expect(reason).to_contain_text("the result is 14.0 GB")


def test_an_empty_answer_is_told_what_to_do(page: Page) -> None:
    for name, want in (("weights", EMPTY), ("bound", UNCHOSEN)):
        question = page.locator(f"#question-example-{name}")
        question.get_by_role("button", name="Check").click()
        expect(question.get_by_role("status")).to_have_text(want)
        expect(question.locator("details")).to_be_hidden()


def test_the_right_answer_unfolds_the_reason(page: Page) -> None:
    question = page.locator("#question-example-weights")
    question.locator("input").fill("14e9 B")
    question.get_by_role("button", name="Check").click()
    expect(question.get_by_role("status")).to_have_text("Right. 14 GB.")
    expect(question.locator("details")).to_have_attribute("open", "")


def test_a_prediction_unfolds_after_any_guess(page: Page) -> None:
    question = page.locator("#question-example-bound")
    expect(question.locator("details")).to_be_hidden()
    question.get_by_label("(b) compute").check()
    question.get_by_role("button", name="Check").click()
    expect(question.get_by_role("status")).to_have_text(judge(BOUND, "b").text)
    expect(question.locator("details")).to_contain_text("far below the ridge")


def test_on_paper_there_are_the_options_and_no_solution(page: Page) -> None:
    question = page.locator("#question-example-bound")
    question.get_by_label("(b) compute").check()
    question.get_by_role("button", name="Check").click()
    expect(question.locator("details")).to_be_visible()
    page.emulate_media(media="print")
    expect(question.locator("label").first).to_be_visible()
    expect(question.locator("details")).to_be_hidden()
    expect(question.get_by_role("status")).to_be_hidden()
    room = page.locator("#question-example-weights .question-room")
    expect(room).to_be_visible()
    page.emulate_media(media="screen")
    expect(room).to_be_hidden()


def test_axe_finds_nothing_in_either_theme(page: Page, seen: Visit) -> None:
    assert seen.axe() == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert seen.axe() == []


def test_without_scripts_there_is_a_picture_its_sentence_and_no_control(
    chromium: Browser, address: str
) -> None:
    with visit(chromium, address, java_script_enabled=False) as quiet:
        figure = quiet.page.locator("figure.live")
        expect(figure.locator(".live-picture > svg")).to_be_visible()
        expect(figure.locator("figcaption")).to_have_text(example().caption())
        expect(
            quiet.page.locator("input:visible, select:visible, button:visible")
        ).to_have_count(0)
        expect(quiet.page.locator("details summary").first).to_be_visible()
        expect(quiet.page.get_by_text("(b) compute")).to_be_visible()
        expect(quiet.page.locator(".question-room")).to_be_visible()


def test_markup_in_a_name_never_becomes_html(chromium: Browser, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    choice = Choice("device", evil, (evil, "new"), evil)
    parts = [choice if c.name == "device" else c for c in example().controls]
    asked = replace(BOUND, choices=("memory", evil), prompt=evil, why=evil)
    prepare(tmp_path)
    figure = example(controls=tuple(parts), title=evil)
    address = write(tmp_path, "evil.html", figure, asked).as_uri()
    with visit(chromium, address) as bad:
        bad.page.wait_for_selector(RUNNING)
        expect(bad.page.locator("figcaption")).to_contain_text(evil)
        answered = bad.page.locator(".question")
        answered.locator("input").last.check()
        answered.get_by_role("button", name="Check").click()
        expect(answered.get_by_role("status")).to_contain_text(evil)
        assert bad.page.locator("img:not(.alone)").count() == 0 and bad.errors == []


def test_without_the_runtime_the_picture_stays(chromium: Browser, address: str) -> None:
    with visit(chromium, "about:blank") as empty:
        empty.page.route("**/vega.js", lambda route: route.abort())
        empty.page.goto(address)
        expect(empty.page.locator(".live-picture > svg").first).to_be_visible()
        expect(empty.page.locator(".live-controls")).to_be_hidden()


def test_where_a_page_may_not_compile_the_figure_moves_all_the_same(
    chromium: Browser, address: str
) -> None:
    page = Path(urlsplit(address).path)
    policy = "script-src 'self' 'unsafe-inline'"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    strict = page.read_text("utf8").replace("<head>", f"<head>{meta}")
    page.with_name("strict.html").write_text(strict, "utf8")
    with (
        served(page.parent) as home,
        visit(chromium, f"{home}/strict.html") as seen,
    ):
        seen.page.wait_for_selector(RUNNING)
        drawn = seen.page.locator(RUNNING).first
        drawn.locator("input[name=batch]").press("End")
        known = example().values(batch=BATCHES[-1])
        assert shown(drawn).values["intensity"] == pytest.approx(known["intensity"])
