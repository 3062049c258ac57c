"""The inks: legible on both pages, and in one place only."""

from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.page.palette import (
    BLUE,
    HATCH,
    INKS,
    MEANINGS,
    REQUESTS,
    Ink,
    on_paper,
    themed,
    variables,
)

STYLES = (Path(__file__).resolve().parents[2] / "assets").glob("*.css")
PAGES = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#121212", "#14181e", "#222832")}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# How colours look to readers without one kind of cone (Machado et al. 2009, table 1,
# severity 1), in linear RGB: all three kinds, no long, no middle wavelengths.
SEEN = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
APART = 14  # CIE76; about 2.3 is just noticed


def lab(colour: str, eye: str) -> np.ndarray:
    """CIELAB of a colour as an eye sees it, under daylight (D65)."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SEEN[eye]) @ linear, 0, 1)
    ratio = np.array(XYZ) @ seen / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eye", SEEN)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_six_requests_are_told_apart_by_every_eye(theme: str, eye: str) -> None:
    places = [lab(getattr(ink, theme), eye) for ink in REQUESTS]
    pairs = [(a, b) for i, a in enumerate(places) for b in places[:i]]
    assert min(float(np.linalg.norm(a - b)) for a, b in pairs) > APART


def test_one_colour_has_one_meaning() -> None:
    drawn = [ink.css for ink in MEANINGS.values()]
    assert len(set(drawn)) == len(drawn)
    assert [name for name, ink in MEANINGS.items() if ink.css == HATCH] == ["idle"]
    assert [name for name in MEANINGS if len(name) == 1] == list("ABCDEF")


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
    css = "".join(path.read_text("utf8") for path in STYLES)
    assert css.count(variables(dark=False)) == 2  # the page, and paper
    assert css.count(variables(dark=True)) == 1
    assert css.count("--fig-ink:") == 3


def test_a_drawing_goes_to_the_page_and_back_to_paper() -> None:
    svg = f'<path style="stroke: {BLUE.light}"/>'
    assert on_paper(themed(svg)) == svg != themed(svg)
