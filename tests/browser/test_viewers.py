"""Stored outputs alone, as nbviewer, VS Code, Colab and GitHub show them."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.browser import visit
from tests.browser.viewers import VIEWERS, glued, stored

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = [ROOT / "intro.ipynb", *sorted((ROOT / "chapters").glob("*.ipynb"))]
WITH_FIGURES = [path for path in NOTEBOOKS if stored(path, "<figure")]
# A figure of words alone has no id, and needs no picture.
SHOWN = """() => [...document.querySelectorAll("figure[id]")].map((figure) => {
  const pictures = [...figure.querySelectorAll("img, svg")].filter((each) => {
    const { width, height } = each.getBoundingClientRect();
    return width > 60 && height > 40 && (each.tagName !== "IMG" || each.naturalWidth);
  });
  return [figure.innerText.trim().split(/\\s+/).length, pictures.length];
})"""
LOADED = "() => [...document.images].every((each) => each.complete)"
CONTRASTS = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.03928
    ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const own = numbers(getComputedStyle(at).backgroundColor);
      if (own.length < 4 || own[3] > 0.5) return own;
    }
    return [255, 255, 255];
  };
  const found = [...document.querySelectorAll("p, li, td, figcaption")]
    .filter((each) => each.getClientRects().length && each.textContent.trim());
  return found.map((each) => {
    const style = getComputedStyle(each);
    const ink = light(numbers(style.color));
    const page = light(ground(each));
    const on = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
    return [on, each.textContent.slice(0, 40)];
  });
}"""


@pytest.mark.parametrize("path", WITH_FIGURES, ids=lambda path: path.stem)
def test_each_figure_is_a_picture_and_a_sentence(chromium: Browser, path: Path) -> None:
    outputs = stored(path, "<figure")
    drawn = sum(len(re.findall(r"<figure\b[^>]* id=", each)) for each in outputs)
    with visit(chromium, "about:blank") as seen:
        for name, viewer in VIEWERS.items():
            seen.page.set_content(viewer.page(outputs))
            seen.page.wait_for_function(LOADED)
            shown = seen.page.evaluate(SHOWN)
            assert len(shown) == drawn, name
            assert all(words > 5 and pictures for words, pictures in shown), name
            faint = [text for on, text in seen.page.evaluate(CONTRASTS) if on < 4.5]
            assert not faint, name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_runs_together(path: Path) -> None:
    found = {word for text in stored(path, "<") for word in glued(text)}
    assert not found
