"""A drawing: the same bytes every time, at home on the page, and described."""

import re

import pytest

from alternative_text import without_alternative
from llmserve_lab.page.glue import glue
from llmserve_lab.page.svg import tidy
from tests.formula.example import drawing


def test_a_drawing_is_the_same_every_time() -> None:
    assert drawing()._repr_mimebundle_() == drawing()._repr_mimebundle_()


def test_text_plain_is_the_sentence() -> None:
    bundle = drawing()._repr_mimebundle_()
    assert bundle["text/plain"] == "Two lines, the higher at π."
    assert 'aria-label="Two lines, the higher at π."' in bundle["text/html"]
    assert without_alternative(bundle["text/html"]) == []


def test_nothing_of_a_drawing_reaches_the_rest_of_the_page() -> None:
    html = drawing().html()
    assert "<style" not in html and "<?xml" not in html and "<metadata" not in html
    identifiers = re.findall(r'\bid="([^"]+)"', html)
    assert all(i.startswith(("static-", "fig-example.")) for i in identifiers)
    used = re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", html)
    assert set(used) <= set(identifiers)


def test_colours_follow_the_theme_and_text_stays_text() -> None:
    html = drawing().html()
    assert "var(--fig-blue, #0067a5)" in html and "var(--fig-grey," in html
    assert "up and down 3.14159<" in html


NS = 'xmlns="http://www.w3.org/2000/svg"'


def test_tidying_rounds_coordinates_but_not_words() -> None:
    inner = '<path d="M1.23456 -0.00001"/><text>1.23456</text>'
    svg = f'<?xml version="1.0"?><svg {NS}>{inner}</svg>'
    tidied = tidy(svg, prefix="p", decimals=1)
    assert '<path d="M1.2 0" />' in tidied and "<text>1.23456</text>" in tidied


def test_tidying_keeps_what_is_used_and_drops_what_is_idle() -> None:
    kept = '<g id="c"><text>x</text></g>'
    inner = f'<g id="a"><g><path id="b" d=""/><use href="#c"/></g></g>{kept}'
    tidied = tidy(f"<svg {NS}><style>*</style>{inner}</svg>", prefix="p", decimals=1)
    want = '<use href="#p-c" />' + kept.replace("c", "p-c", 1)
    assert re.sub(' style="[^"]*"', "", tidied) == (
        f'<svg {NS} aria-hidden="true">{want}</svg>'
    )


def test_glue_stores_text_under_the_name_that_the_page_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[object, object]] = []
    monkeypatch.setattr("IPython.display.display", lambda d, **k: seen.append((d, k)))
    glue(ridge=(295.2, "FLOP/byte"), count="26,703")
    prefix = "application/papermill.record/"
    names = [k["metadata"]["scrapbook"] for _, k in seen]  # type: ignore[index]
    assert [data for data, _ in seen] == [
        {f"{prefix}text/plain": "'295 FLOP/byte'"},
        {f"{prefix}text/plain": "'26,703'"},
    ]
    assert names == [{"name": n, "mime_prefix": prefix} for n in ("ridge", "count")]


def test_glue_refuses_a_bare_number() -> None:
    with pytest.raises(
        TypeError, match=r"ridge must be a result, a text or \(value, unit\), got 295"
    ):
        glue(ridge=295.2)  # type: ignore[arg-type]
