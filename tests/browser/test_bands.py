"""A prediction answers how far off such predictions were, at the present setting."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from llmserve_lab.deepseek.page.bands import at_setting
from llmserve_lab.formula.band import Band
from tests.browser.browser import Visit, visit
from tests.browser.test_provenance import CARD, PAGES

TWIN = PAGES / "chapters" / "deepseek_twin.html"
AFD = PAGES / "chapters" / "attention_ffn.html"
ROOFLINE = PAGES / "chapters" / "roofline.html"
STEP = "figure.live:has(output[data-readout=attn_phase_s])"


@pytest.fixture(scope="module", params=[1280, 390])
def twin(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    with visit(chromium, TWIN.as_uri(), offline=True, width=request.param) as seen:
        seen.page.evaluate("() => window.MathJax?.startup?.promise.then(() => null)")
        waiting = seen.page.locator("figure.live:not([data-state=running])")
        expect(waiting).to_have_count(0)
        yield seen
        assert seen.errors == [] and seen.outside == []


def step_tile(page: Page) -> Locator:
    return page.locator(STEP).locator(".live-readout:has(output[data-readout=turn_s])")


def test_a_tile_follows_the_sliders(twin: Visit) -> None:
    page = twin.page
    figure, band = page.locator(STEP), step_tile(page).locator("small.band")
    step = step_tile(page).locator("output")

    def said(requests: float) -> str:
        here = at_setting(gpu_requests=requests, ep=72.0, device="H100 SXM")
        assert isinstance(here, Band)
        value = float(step.get_attribute("data-value") or 0)
        return f"error band: {here.beside(value, 's')}"

    expect(band).to_have_text(said(256.0))
    assert "if it errs as others did: 98.3 to 152 ms" in said(256.0)
    requests = figure.locator("input[name=gpu_requests]")
    requests.press("End")
    expect(band).to_have_text("error band: outside everything measured")
    requests.press("Home")
    expect(band).not_to_have_text("error band: outside everything measured")
    expect(band).to_have_text(said(1.0))
    figure.locator(".live-reset").click()
    expect(step).to_have_text(re.compile("121"))
    expect(band).to_have_text(said(256.0))


def test_the_card_says_the_runs_and_where_the_measured_value_would_lie(
    twin: Visit,
) -> None:
    page = twin.page
    ask = step_tile(page).locator(".origin-ask")
    ask.focus()
    page.keyboard.press("Enter")
    said = page.locator(f"{CARD} .origin-band")
    here = at_setting(gpu_requests=256.0, ep=72.0, device="H100 SXM")
    assert isinstance(here, Band)
    expect(said).to_contain_text(f"all {here.n} measured runs")
    expect(said).to_contain_text(here.regime)
    value = float(step_tile(page).locator("output").get_attribute("data-value") or 0)
    found = re.search(r"would be ([\d.]+) ms to ([\d.]+) ms", said.text_content() or "")
    assert found is not None
    low, high = (float(each) / 1e3 for each in found.groups())
    assert (low, high) == pytest.approx(here.around(value), rel=2e-3)
    page.keyboard.press("Escape")
    expect(ask).to_be_focused()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_cell_and_its_band_are_read_one_after_the_other(
    chromium: Browser, width: int
) -> None:
    with visit(chromium, ROOFLINE.as_uri(), offline=True, width=width) as seen:
        page = seen.page
        expect(page.locator("figure.live:not([data-state=running])")).to_have_count(0)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        cells = page.locator("td:has(> small.band)")
        cell = cells.filter(has_text="on runs like this").first
        assert re.fullmatch(
            r"[\d,.]+ error band: [−+]?\d+…[−+]?\d+ % on runs like this",
            " ".join((cell.text_content() or "").split()),
        )
        mark = cell.locator(".sourced[role=button]")
        mark.focus()
        page.keyboard.press("Enter")
        said = page.locator(f"{CARD} .origin-band")
        expect(said).to_contain_text("Error band. On runs")
        own = [found for found in seen.axe() if "origin" in found or "band" in found]
        assert own == []


def test_on_a_phone_no_band_leaves_its_tile(twin: Visit) -> None:
    for tile in twin.page.locator(".live-readout:has(small.band)").all():
        outer, inner = tile.bounding_box(), tile.locator("small.band").bounding_box()
        assert outer is not None and inner is not None
        assert inner["x"] >= outer["x"]
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 0.5


def test_what_nobody_measured_says_so(chromium: Browser) -> None:
    with visit(chromium, AFD.as_uri(), offline=True) as seen:
        page = seen.page
        expect(page.locator("figure.live:not([data-state=running])")).to_have_count(0)
        number = page.locator(".sourced[data-sourced=split_rate]").first
        number.click()
        said = page.locator(f"{CARD} .origin-band")
        expect(said).to_contain_text("no split of this model on these GPUs")
