"""What a page's data repeat stands once, and is put back to the letter."""

from __future__ import annotations

import json
from pathlib import Path

import quickjs
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.page.build.phrases import DATA, packed
from llmserve_lab.page.html import data_script
from tests.page.data import HOLDER, held

SCRIPT = Path(__file__).resolve().parents[2] / "assets" / "phrases.js"
WORDS = (
    "attn_flops_per_pair",
    '"',
    "{",
    "max",
    "0.5",
    " ",
    "λ",
    "<b>",
    "\\",
    "\n",
    "x",
)
SAID = st.lists(st.sampled_from(WORDS), max_size=60).map("".join)
PAGE = """
const scripts = (texts) => texts.map((textContent) => ({ textContent }));
const holders = scripts(HOLDERS), datas = scripts(DATAS);
const document = { querySelectorAll: (s) => s.endsWith("phrases") ? holders : datas };
"""


def read(page: str) -> list[str]:
    """What scripts of a page read after ``phrases.js`` has run."""
    texts = [text for _, text, _ in DATA.findall(page)]
    start = PAGE.replace("HOLDERS", json.dumps(HOLDER.findall(page)))
    context = quickjs.Context()
    context.eval(start.replace("DATAS", json.dumps(texts)) + SCRIPT.read_text("utf8"))
    return [*json.loads(context.eval("JSON.stringify(datas.map(d => d.textContent))"))]


def page_of(*data: object) -> str:
    return "<p>И</p>".join(data_script(each, "live-data") for each in data)


@given(st.lists(SAID, min_size=1, max_size=4), st.integers(1, 8))
def test_data_are_read_as_they_were(texts: list[str], times: int) -> None:
    page = page_of(*texts * times)
    assert read(packed(page)) == [text for _, text, _ in DATA.findall(page)]


def test_what_is_said_often_stands_once() -> None:
    page = page_of({f"k{n}": {"attn_flops_per_pair": n} for n in range(50)})
    short = packed(page)
    assert short.count("attn_flops_per_pair") == 1
    assert len(short.encode()) < len(page.encode()) / 2
    assert held(short, "live-data") == held(page, "live-data")


def test_a_letter_that_data_write_stands_for_nothing() -> None:
    page = page_of(["Москва, attn_flops_per_pair"] * 9)
    short = packed(page)
    assert short != page
    assert read(short) == [text for _, text, _ in DATA.findall(page)]


def test_a_page_without_repeats_stays() -> None:
    page = page_of({"a": 1}) + "<p>attn attn attn attn attn attn attn attn attn</p>"
    assert packed(page) == page
