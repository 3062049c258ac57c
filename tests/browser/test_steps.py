"""Step figures in a real browser: stepping, playing, keys, paper, no scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from llmserve_lab.page.step.figure import StepFigure
from tests.browser.browser import Visit, step_times, visit
from tests.browser.pieces import prepare, write
from tests.page.steps import ringed, steps

PLAYING = "figure.step[data-state=running]"
MARKS = "path.mark-rect, .mark-rect path"


@pytest.fixture(scope="module")
def figure() -> StepFigure:
    return steps()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, figure: StepFigure) -> str:
    folder = tmp_path_factory.mktemp("steps")
    prepare(folder)
    return write(folder, "index.html", figure, ringed()).as_uri()


@pytest.fixture(scope="module")
def seen(chromium: Browser, address: str) -> Iterator[Visit]:
    with visit(chromium, address, offline=True) as opened:
        opened.page.wait_for_selector(PLAYING)
        yield opened


@pytest.fixture
def page(seen: Visit, address: str) -> Iterator[Page]:
    """The page as it was opened; afterwards it must have nothing to complain about."""
    seen.page.evaluate("localStorage.clear()")
    seen.page.goto("about:blank")
    seen.page.goto(address)
    expect(seen.page.locator(PLAYING)).to_have_count(2)
    yield seen.page
    assert seen.errors == [] and seen.outside == []


@pytest.fixture
def player(page: Page) -> Locator:
    return page.locator("figure.step").first


def at(player: Locator, figure: StepFigure, log: str, frame: int) -> None:
    """The player shows this frame: slider, counters, sentence, and so many cells."""
    known = figure.frame(log, frame)
    expect(player.locator(".step-say")).to_have_text(known.sentence)
    found = player.locator("output").all_inner_texts()
    assert found == figure.shown(known)
    last = len(figure.logs[log].frames) - 1
    expect(player.locator(".step-at")).to_have_text(f"{frame + 1} of {last + 1}")
    slider = player.locator("input[name=frame]")
    expect(slider).to_have_attribute(
        "aria-valuetext", f"step {frame + 1} of {last + 1}"
    )
    assert slider.input_value() == str(frame)
    cells = [row for row in figure.logs[log].tables["cells"] if row["start"] < frame]
    expect(player.locator(".step-player .mark-rect path")).to_have_count(len(cells))


def test_every_frame_shows_what_its_log_holds(
    player: Locator, figure: StepFigure
) -> None:
    for log in figure.logs:
        player.get_by_label(log).check()
        player.locator("input[name=frame]").press("Home")
        for frame in range(len(figure.logs[log].frames)):
            at(player, figure, log, frame)
            player.locator(".step-forward").click(force=True)


def test_steps_go_back_and_stop_at_the_ends(
    player: Locator, figure: StepFigure
) -> None:
    back = player.get_by_role("button", name="One step back")
    expect(back).to_have_attribute("aria-disabled", "true")
    back.click(force=True)
    at(player, figure, "static", 0)
    player.get_by_role("button", name="One step forward").click()
    expect(back).to_have_attribute("aria-disabled", "false")
    back.click()
    at(player, figure, "static", 0)
    slider = player.locator("input[name=frame]")
    slider.press("End")
    at(player, figure, "static", 12)
    slider.press("ArrowRight")
    at(player, figure, "static", 12)


def test_keys_step_from_the_slider_and_from_the_buttons(
    player: Locator, figure: StepFigure
) -> None:
    places = [player.locator("input[name=frame]"), player.locator(".step-back")]
    for place in [*places, player.locator(".step-play")]:
        for key, frame in (("End", 12), ("ArrowLeft", 11), ("Home", 0)):
            place.press(key)
            at(player, figure, "static", frame)
        place.press("ArrowRight")
        at(player, figure, "static", 1)


def test_another_log_keeps_the_frame_or_ends_where_it_ends(
    player: Locator, figure: StepFigure
) -> None:
    slider = player.locator("input[name=frame]")
    slider.press("End")
    player.get_by_label("continuous").check()
    at(player, figure, "continuous", 8)
    slider.press("ArrowLeft")
    player.get_by_label("static").check()
    at(player, figure, "static", 7)
    player.get_by_label("continuous").check()
    slider.press("End")
    at(player, figure, "continuous", 8)
    player.get_by_label("static").check()
    at(player, figure, "static", 12)  # what has ended is shown ended, however long


def test_play_runs_to_the_end_and_is_silent_meanwhile(
    page: Page, player: Locator, figure: StepFigure
) -> None:
    slider, play = player.locator("input[name=frame]"), player.locator(".step-play")
    slider.press("End")
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    slider.press(" ")
    expect(play).to_have_text("Pause")
    expect(player.locator(".step-say")).to_have_attribute("aria-live", "off")
    expect(play).to_have_text("Play")
    at(player, figure, "static", 12)
    expect(player.locator(".step-say")).to_have_attribute("aria-live", "polite")
    play.click()
    at(player, figure, "static", 0)
    play.click()
    page.wait_for_timeout(1500)
    at(player, figure, "static", 0)


def test_nothing_moves_by_itself(chromium: Browser, address: str) -> None:
    with visit(chromium, address, reduced_motion="reduce") as calm:
        calm.page.wait_for_selector(PLAYING)
        calm.page.wait_for_timeout(1500)
        expect(calm.page.locator(".step-at").first).to_have_text("1 of 13")


def test_the_picture_has_the_sentence_as_its_alternative(
    player: Locator, figure: StepFigure
) -> None:
    player.locator("input[name=frame]").press("ArrowRight")
    want = figure.frame("static", 1).sentence
    picture = player.get_by_role("img", name=want)
    expect(picture.locator("svg")).to_be_attached()
    group = player.get_by_role("group", name="Steps: ")
    expect(group).to_be_visible()


def test_a_step_is_quick(player: Locator, record_property: object) -> None:
    times = step_times(player)
    assert len(times) == 60
    assert callable(record_property)
    record_property("report", f"a step takes {times[30]:.1f} ms (median)")


def test_what_is_idle_is_hatched_in_both_themes(page: Page, player: Locator) -> None:
    player.locator("input[name=frame]").press("End")
    fills = player.locator(".step-player .mark-rect path").evaluate_all(
        "all => all.map(e => getComputedStyle(e).fill)"
    )
    hatched = [fill for fill in fills if fill.startswith("url(")]
    assert len(hatched) == 9
    name = hatched[0].split("#")[1].rstrip('")')
    pattern = f"document.getElementById('{name}').querySelector('path')"
    stroke = f"getComputedStyle({pattern}).stroke"
    light = page.evaluate(stroke)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(stroke) != light
    page.evaluate("document.documentElement.dataset.theme = 'light'")


def test_on_paper_three_stills_stand_side_by_side(page: Page, player: Locator) -> None:
    stills = player.locator(".step-still")
    expect(stills.first).to_be_hidden()
    page.emulate_media(media="print")
    expect(stills).to_have_count(3)
    boxes = [still.bounding_box() for still in stills.all()]
    assert all(boxes) and len({round(b["y"]) for b in boxes if b}) == 1
    expect(player.locator(".step-player")).to_be_hidden()
    page.emulate_media(media="screen")


def test_without_scripts_there_are_stills_with_their_sentences(
    chromium: Browser, address: str, figure: StepFigure
) -> None:
    with visit(chromium, address, java_script_enabled=False) as quiet:
        first = quiet.page.locator("figure.step").first
        for still, place in zip(
            first.locator(".step-still").all(), figure.stills, strict=True
        ):
            sentence = figure.frame(*place).sentence
            expect(still.locator("svg")).to_be_visible()
            expect(still.get_by_role("img", name=sentence)).to_be_visible()
            expect(still.locator("p").last).to_have_text(sentence)
        controls = quiet.page.locator("input:visible, button:visible")
        expect(controls).to_have_count(0)


def test_on_a_phone_nothing_sticks_out_and_targets_are_large(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    heights = page.locator(".step-controls :is(button, input)").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    page.set_viewport_size({"width": 1280, "height": 900})


def test_axe_finds_nothing(page: Page, seen: Visit) -> None:
    assert seen.axe() == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert seen.axe() == []
    page.evaluate("document.documentElement.dataset.theme = 'light'")


def test_without_the_runtime_the_stills_stay(chromium: Browser, address: str) -> None:
    with visit(chromium, "about:blank") as empty:
        empty.page.route("**/vega.js", lambda route: route.abort())
        empty.page.goto(address)
        expect(empty.page.locator(".step-still svg").first).to_be_visible()
        expect(empty.page.locator(".step-player").first).to_be_hidden()
