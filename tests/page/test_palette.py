"""The inks: legible on both pages, and in one place only."""

from pathlib import Path

import pytest

from llmserve_lab.page.palette import BLUE, INKS, Ink, on_paper, themed, variables

STYLE = Path(__file__).resolve().parents[2] / "assets" / "book.css"
PAGES = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#121212", "#14181e", "#222832")}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "ink", [i for i in INKS if i.name != "grid"], ids=lambda i: i.name
)
def test_every_ink_is_legible_by_day_and_by_night(ink: Ink) -> None:
    assert min(contrast(ink.light, page) for page in PAGES["light"]) >= 4.5
    assert min(contrast(ink.dark, page) for page in PAGES["dark"]) >= 4.5


def test_the_style_sheet_holds_these_inks_and_no_others() -> None:
    css = STYLE.read_text("utf8")
    assert css.count(variables(dark=False)) == 2  # the page, and paper
    assert css.count(variables(dark=True)) == 1
    assert css.count("--fig-ink:") == 3


def test_a_drawing_goes_to_the_page_and_back_to_paper() -> None:
    svg = f'<path style="stroke: {BLUE.light}"/>'
    assert on_paper(themed(svg)) == svg != themed(svg)
