"""The built pages in a real browser, as readers meet them: offline, large and small."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.question.judge import scale_of
from llmserve_lab.page.question.question import questions
from tests.browser.browser import RUNNING, Visit, served, shown, visit

PAGES = Path(__file__).resolve().parents[2] / "_build" / "html"
CHAPTERS = sorted(path.stem for path in PAGES.glob("chapters/*.html"))
THEME_ALONE = "genindex.html"  # a page of the theme with none of our pieces
OF_THE_LOOK = ("color-contrast", "scrollable-region-focusable", "target-size")
OURS_BYTES = 225_000  # of the model chapter; four step figures bring three stills each
OURS = re.compile(
    r'<figure [^>]*class="(?:live|static|step)".*?</figure>'
    r'|<div [^>]*class="question".*?</details>',
    re.DOTALL,
)
RAW_TEX = r"""() => [...document.querySelectorAll("article :is(p, li, th, td, span)")]
  .filter(e => !e.closest("pre, code") && /\\\(|\\\[|\$\$/.test(e.innerText))
  .map(e => e.innerText)"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@cache
def figures() -> dict[str, LiveFigure]:
    """Every live figure of the package by the name that it bears on the page."""
    made = (make() for make in registry.figures().values())
    return {figure.name: figure for figure in made}


# A page is opened by one worker, whichever that is.
EACH = [pytest.param(stem, marks=pytest.mark.xdist_group(stem)) for stem in CHAPTERS]


@pytest.fixture(scope="module", params=EACH)
def chapter(request: pytest.FixtureRequest) -> str:
    """The name of a page in the folder of chapters."""
    return str(request.param)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served(PAGES) as address:
        yield address


@pytest.fixture(scope="module")
def unzipped(chromium: Browser, chapter: str) -> Iterator[Visit]:
    """The page as it opens from a folder, without a server."""
    with visit(chromium, f"{PAGES.as_uri()}/chapters/{chapter}.html") as seen:
        ready(seen)
        yield seen


@pytest.fixture(scope="module")
def online(chromium: Browser, server: str, chapter: str) -> Iterator[Visit]:
    """The page as a web server gives it out."""
    with visit(chromium, f"{server}/chapters/{chapter}.html") as seen:
        ready(seen)
        yield seen


@pytest.fixture(scope="module")
def theme(chromium: Browser, server: str) -> set[str]:
    """What axe-core says of the theme alone."""
    with visit(chromium, f"{server}/{THEME_ALONE}") as seen:
        return set(seen.axe())


def ready(seen: Visit) -> None:
    """Wait until mathematics is set and every live figure has been drawn."""
    seen.page.evaluate("() => window.MathJax?.startup?.promise.then(() => null)")
    waiting = seen.page.locator(":is(.live, .step):not([data-state=running])")
    expect(waiting).to_have_count(0)


def show(page: Page, width: int, scheme: Literal["light", "dark"]) -> None:
    """Show the page on a screen of this width, by day or by night."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector(f"html[data-theme={scheme}]")


def whole(seen: Visit) -> None:
    """In every look: nothing missing, nothing sticking out, no complaint."""
    show(seen.page, 390, "light")
    assert seen.page.evaluate(WIDER) <= 0, "the page scrolls sideways"
    show(seen.page, 390, "dark")
    show(seen.page, 1280, "dark")
    assert seen.page.evaluate(WIDER) <= 0, "the page scrolls sideways"
    show(seen.page, 1280, "light")
    assert seen.page.evaluate(RAW_TEX) == [], "mathematics is not typeset"
    assert seen.page.locator("mjx-merror").count() == 0
    assert seen.errors == [] and seen.outside == []


def test_a_page_is_whole_when_opened_from_a_folder(unzipped: Visit) -> None:
    whole(unzipped)


def test_axe_finds_nothing_that_the_theme_alone_does_not(
    online: Visit, theme: set[str]
) -> None:
    assert set(online.axe()) - theme == set()
    show(online.page, 390, "dark")
    online.page.wait_for_timeout(500)  # the theme makes what now scrolls focusable
    assert set(online.axe(*OF_THE_LOOK)) - theme == set()


def test_a_page_is_whole_when_opened_from_a_server(online: Visit) -> None:
    assert online.page.evaluate(WIDER) <= 0, "the page scrolls sideways"
    assert online.page.evaluate(RAW_TEX) == [], "mathematics is not typeset"
    assert online.errors == [] and online.outside == []


def test_what_a_figure_draws_is_not_searched_for_icons(unzipped: Visit) -> None:
    """It took half of the time of a step; the theme's icons are drawn by then."""
    icons = "[typeof FontAwesome, FontAwesome.config.observeMutations]"
    assert unzipped.page.evaluate(icons) == ["object", False]
    assert unzipped.page.locator("i[class^='fa']").count() == 0
    assert unzipped.page.locator("svg.svg-inline--fa").count() > 5


def test_each_slider_shows_the_values_that_numpy_gives(unzipped: Visit) -> None:
    for drawn in unzipped.page.locator(RUNNING).all():
        name = drawn.locator(".live-data").evaluate("e => JSON.parse(e.text).name")
        turn_every_slider(drawn, figures()[name])
    assert unzipped.errors == []


def turn_every_slider(drawn: Locator, figure: LiveFigure) -> None:
    """Move each slider by keyboard, and compare every number at every place."""
    for slider in figure.sliders:
        at, last = slider.stops.index(slider.default), len(slider.stops) - 1
        drawn.locator(f"input[name={slider.name}]").focus()
        for key, stop in (("ArrowLeft", max(at - 1, 0)), ("End", last)):
            drawn.page.keyboard.press(key)
            agree(drawn, figure, slider, slider.stops[stop])
        drawn.locator(".live-reset").evaluate("button => button.click()")


def test_each_choice_shows_the_values_that_numpy_gives(unzipped: Visit) -> None:
    for drawn in unzipped.page.locator(RUNNING).all():
        name = drawn.locator(".live-data").evaluate("e => JSON.parse(e.text).name")
        for choice in figures()[name].controls:
            if isinstance(choice, Choice):
                choose_every_option(drawn, figures()[name], choice)
    assert unzipped.errors == []


def test_an_edge_that_is_dragged_takes_its_slider_along(unzipped: Visit) -> None:
    for drawn in unzipped.page.locator(RUNNING).all():
        name = drawn.locator(".live-data").evaluate("e => JSON.parse(e.text).name")
        figure = figures()[name]
        sliders = [slider for slider in figure.sliders if slider.name in figure.drag]
        wide = {slider.name for slider in sliders if slider.default > 0}
        pulled = {drag(drawn, figure, sliders, i / 16) for i in range(15) if wide}
        assert wide <= pulled
    assert unzipped.errors == []


def drag(
    drawn: Locator, figure: LiveFigure, sliders: list[Slider], share: float
) -> str | None:
    """Take what is nearest to a place on the picture, pull it aside, and compare."""
    picture, mouse = drawn.locator(".live-picture"), drawn.page.mouse
    picture.scroll_into_view_if_needed()
    box = picture.locator("svg").bounding_box()
    assert box is not None
    x, y = box["x"] + share * box["width"], box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 60, y)
    mouse.up()
    mouse.move(x - 60, y)  # nobody holds it any more
    for slider in sliders:
        turned = drawn.locator(f"input[name={slider.name}]").input_value()
        if slider.stops[int(turned)] != slider.default:
            agree(drawn, figure, slider, slider.stops[int(turned)])
            drawn.locator(".live-reset").evaluate("button => button.click()")
            return slider.name
    return None


def choose_every_option(drawn: Locator, figure: LiveFigure, choice: Choice) -> None:
    """Choose each option, and compare; one that does not exist cannot be chosen."""
    select = drawn.locator(f"select[name={choice.name}]")
    for index, option in enumerate(choice.options):
        try:
            figure.values(**{choice.name: option})
        except ValueError:
            assert select.locator("option").nth(index).is_disabled()
        else:
            select.select_option(index=index)
            agree(drawn, figure, choice, option)
    drawn.locator(".live-reset").evaluate("button => button.click()")


def agree(
    drawn: Locator, figure: LiveFigure, control: Slider | Choice, setting: float | str
) -> None:
    """Numbers in full, numbers as printed, and the sentence: all as NumPy has them."""
    found, known = shown(drawn), figure.values(**{control.name: setting})
    want = {name: known[name] for name in found.values}
    state = f"{figure.name} at {control.name} = {setting}"
    assert found.values == pytest.approx(want, rel=1e-9), state
    assert found.texts == {name: figure.shown(name, want[name]) for name in want}, state
    assert found.caption == figure.caption(**{control.name: setting})


def test_each_question_takes_its_answer_and_unfolds(unzipped: Visit) -> None:
    for asked in unzipped.page.locator(".question[data-state=running]").all():
        question = questions()[asked.get_attribute("data-name") or ""]
        expect(asked.locator("details")).to_be_hidden()
        if question.choices:
            chosen = asked.locator(f"[type=radio][value='{question.right:.0f}']")
            chosen.press(" ")
        else:
            scale = scale_of(question.shown_unit, question.unit)
            asked.locator("[type=text]").fill(f"{question.right / scale:.6g}")
        asked.locator("[type=submit]").press("Enter")
        said = asked.locator("[role=status]").inner_text()
        right = ("Right.", "You said")
        assert said.startswith(right[question.kind == "predict"])
        assert asked.get_attribute("data-done") == "true"
        assert asked.locator("details[open] p").first.is_visible()
    unzipped.page.wait_for_function(f"() => ({RAW_TEX})().length === 0", timeout=5000)
    count = unzipped.page.locator(".question").count()
    if count:
        mark = unzipped.page.locator("nav.bd-links .progress-mark")
        expect(mark).to_contain_text(re.compile(r"^ \d+ of "))
        done, _, asks = mark.inner_text().split()  # goals that sliders met count, too
        assert count <= int(done) <= int(asks)
        expect(unzipped.page.locator("article .progress-count")).to_be_visible()
    assert unzipped.errors == []


def test_each_step_figure_goes_through_its_frames(unzipped: Visit) -> None:
    for played in unzipped.page.locator("figure.step").all():
        data = json.loads(played.locator(".step-data").text_content() or "")
        slider, say = played.locator("input[name=frame]"), played.locator(".step-say")
        for log, known in enumerate(data["logs"]):
            if len(data["logs"]) > 1:
                played.locator(".step-logs input").nth(log).check()
            for key, frame in (("Home", 0), ("ArrowRight", 1), ("End", -1)):
                slider.press(key)
                expect(say).to_have_text(known["say"][frame])
                assert (
                    played.locator("output").all_inner_texts() == known["count"][frame]
                )
    assert unzipped.errors == []


def test_paper_is_white_for_who_reads_in_the_dark(online: Visit) -> None:
    show(online.page, 1280, "dark")
    theme = "document.documentElement.dataset.theme"
    for event, seen in (("beforeprint", "light"), ("afterprint", "dark")):
        online.page.evaluate(f"window.dispatchEvent(new Event('{event}'))")
        assert online.page.evaluate(theme) == seen


def test_without_scripts_each_figure_is_a_picture_with_its_sentence(
    chromium: Browser, chapter: str
) -> None:
    address = f"{PAGES.as_uri()}/chapters/{chapter}.html"
    with visit(chromium, address, java_script_enabled=False) as seen:
        pictures = "figure.live, figure.static:not(.words)"  # a tree of words is none
        for drawn in seen.page.locator(pictures).all():
            expect(drawn.locator("[role=img] > svg")).to_be_visible()
            sentence = drawn.locator("figcaption").inner_text()
            image = drawn.locator("[role=img]")
            assert sentence == image.get_attribute("aria-label") != ""
        for still in seen.page.locator(".step-still").all():
            expect(still.locator("[role=img] > svg")).to_be_visible()
            sentence = still.locator("p").last.inner_text()
            assert sentence == still.locator("[role=img]").get_attribute("aria-label")
        controls = ":is(figure, .question) :is(input, select, button):visible"
        assert seen.page.locator(controls).count() == 0


def test_what_is_ours_on_a_page_is_light(chapter: str) -> None:
    page = (PAGES / "chapters" / f"{chapter}.html").read_text("utf8")
    assert sum(len(piece.encode()) for piece in OURS.findall(page)) < OURS_BYTES
