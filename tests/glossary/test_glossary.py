"""Each term stands for one thing, its chapter exists, and the page lists them all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document

import contents
import glossary as page
from llmserve_lab.glossary import Term, terms
from llmserve_lab.page.build.terms import keywords, mark, meanings

BOLD = re.compile(r"\*\*([A-Za-z][A-Za-z–/ -]+)\*\*(?= \(([A-Z][A-Za-z]+)\))")


def test_every_term_is_explained_in_a_chapter_of_the_book(root: Path) -> None:
    numbered = {p for _, pages in contents.parts(root) for p, n in pages.items() if n}
    assert {term.chapter for term in terms()} == numbered
    assert len({term.anchor for term in terms()}) == len(terms()) >= 100
    names = {term.name for term in terms()}
    assert all(near in names for term in terms() for near in term.near)


def test_the_page_is_written_from_the_terms() -> None:
    assert page.PAGE.read_text("utf8") == page.page(), "make run writes it again"


@pytest.mark.parametrize(
    "name",
    [
        "TPOT", "ITL", "TBT", "TTFT", "MFU", "MBU", "GQA", "MLA", "MoE", "SLO",
        "in-flight batching", "continuous batching", "chunked prefill",
        "PagedAttention", "disaggregated serving",
    ],
)  # fmt: skip
def test_what_a_reader_searches_for_leads_to_a_chapter(name: str) -> None:
    (term,) = (t for t in terms() if name in t.names)
    assert name in keywords(term.chapter)


def test_an_abbreviation_that_a_chapter_spells_out_has_an_entry(root: Path) -> None:
    known = {name.lower() for term in terms() for name in term.words}
    absent = set()
    for path in (root / "chapters").glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf8"))["cells"]:
            if cell["cell_type"] == "markdown":
                found = BOLD.findall("".join(cell["source"]))
                absent |= {pair for pair in found if pair[1].lower() not in known}
    assert absent == set()


def document(*texts: str) -> nodes.document:
    made = new_document("page")
    for text in texts:
        made += nodes.paragraph("", text)
    return made


def test_the_first_mention_is_marked_and_no_other() -> None:
    made = document(
        "Prefill fills the KV cache.", "The KV cache grows; prefill is over."
    )
    found = mark(made, "roofline", "glossary.html")
    links = [(n.astext(), n["refuri"]) for n in made.findall(nodes.reference)]
    assert links == [
        ("Prefill", "glossary.html#term-prefill"),
        ("KV cache", "glossary.html#term-kv-cache"),
    ]
    assert made.astext().startswith("Prefill fills the KV cache.")
    assert set(meanings(found)) == {"term-prefill", "term-kv-cache"}


def test_a_chapter_does_not_mark_what_it_explains_itself() -> None:
    assert mark(document("Prefill, then decode."), "end_to_end", "g") == []


def test_code_links_headings_and_parts_of_words_are_left_alone() -> None:
    made = document("A prefilled row, non-prefill, all-reduces/s.")
    made += nodes.paragraph("", "", nodes.literal("", "prefill"))
    made += nodes.title("", "Prefill")
    made += nodes.paragraph("", "", nodes.reference("", "prefill", refuri="x"))
    assert mark(made, "roofline", "g") == []


def test_a_term_needs_a_name_and_a_sentence() -> None:
    with pytest.raises(ValueError, match="meaning must be a sentence, got 'no stop'"):
        Term("a", "no stop", "roofline")
    with pytest.raises(ValueError, match="name must say something"):
        Term(" ", "Yes.", "roofline")
