"""Numbers are given when the book is built: a chapter more, and all else follows."""

import json
import re
import shutil
from pathlib import Path

import pytest

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.quantity import Coefficient
from llmserve_lab.formula.registry import formulas
from llmserve_lab.page.build.letters import marked, marked_html, meanings
from llmserve_lab.page.build.numbers import Place, displayed, places
from llmserve_lab.page.build.references import Page
from llmserve_lab.roofline import formulas as roofline
from llmserve_lab.varlen import formulas as varlen
from tests.formula.example import drawing
from tests.page.minibook import Shown, build, contents, html, write

PARAMS = {"bytes_weight": 2, "params_read": 7e9, "params_active": 6.6e9}
EXERCISE = "```{exercise} Work\n:label: work\nDo it.\n```"
CHAPTERS: dict[str, list[Shown]] = {
    "end_to_end": [
        "# End to end",
        html(roofline.N_ROWS),
        "See [intensity](#eq-intensity), [the ridge](roofline.ipynb#eq-ridge), "
        "[roofline](roofline.ipynb) and [the next one](roofline.ipynb), "
        "[work](#work), [295 FLOP/byte](#num-ridge).",
    ],
    "roofline": [
        "# The roofline",
        "Take $B$ requests and $\\ell$ tokens, in [n_rows](#eq-n_rows).",
        html(roofline.INTENSITY),
        html(roofline.RIDGE),
        html(roofline.RIDGE_ROWS.worked(PARAMS, ridge=295)),
        html(roofline.N_ROWS),
        EXERCISE,
        "As [work](#work) asks, and | [moe.x](#eq-ridge)",
    ],
}  # fmt: skip
BETWEEN: list[Shown] = ["# Between", html(varlen.PADDING_SHARE), "[ridge](#eq-ridge)"]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    write(folder, {**CHAPTERS, "between": BETWEEN}, [["end_to_end"], ["roofline"]])
    (folder / "chapters" / "between.ipynb").rename(folder / "kept.json")
    return folder


def text(pages: Path, name: str) -> str:
    return (pages / f"{name}.html").read_text("utf8")


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def numbers(page: str) -> list[str]:
    return re.findall(r'<a class="eq-number"[^>]*>([^<]*)</a>', page)


@pytest.fixture(scope="module")
def two(book: Path) -> Path:
    pages, warned = build(book)
    assert warned == ""
    return pages


def test_numbers_run_in_the_order_of_the_page(two: Path) -> None:
    assert numbers(text(two, "end_to_end")) == ["(1.1)"]
    # What the first chapter has shown keeps its number when it is shown again.
    assert numbers(text(two, "roofline")) == ["(2.1)", "(2.2)", "(1.1)"]


def test_a_name_becomes_a_number_and_other_words_are_kept(two: Path) -> None:
    seen = plain(text(two, "end_to_end"))
    assert (
        "See (2.1), the ridge (2.2), chapter 2 and the next one, exercise 2.1, "
        "295 FLOP/byte." in seen
    )
    assert "As exercise 2.1 asks" in plain(text(two, "roofline"))


def test_a_reference_leads_to_the_equation_on_its_page(two: Path) -> None:
    assert 'href="roofline.html#eq-intensity"' in text(two, "end_to_end")
    assert 'href="end_to_end.html#eq-n_rows"' in text(two, "roofline")
    for name in CHAPTERS:
        page = text(two, name)
        anchors = re.findall(r'\sid="([^"]*)"', page)
        assert len(anchors) == len(set(anchors))
        for address, target in re.findall(r'href="([\w.]*)#(eq-[\w.-]+)"', page):
            where = text(two, address.removesuffix(".html")) if address else page
            assert f'id="{target}"' in where


def test_a_printed_number_keeps_the_name_of_its_record(two: Path) -> None:
    mark = '<span class="sourced" data-sourced="ridge">295 FLOP/byte</span>'
    assert mark in text(two, "end_to_end")


def test_each_letter_is_marked_and_its_meaning_is_on_the_page(two: Path) -> None:
    page = text(two, "roofline")
    found = re.findall(r"<script[^>]*class=\"letters\">(.*?)</script>", page)
    assert len(found) == 1
    known = json.loads(found[0])
    used = set(re.findall(r"\\class\{q-(\w+)\}", page))
    assert used == set(known)
    assert {"batch", "context", "intensity", "peak_flops", "eff_mem"} <= used
    assert known["batch"] == ["requests in one batch", "request"]


def test_a_chapter_is_inserted_by_its_line_in_the_contents_alone(
    book: Path, two: Path, tmp_path: Path
) -> None:
    before = {path.name: path.read_bytes() for path in book.glob("chapters/*.ipynb")}
    shutil.copytree(book / "chapters", tmp_path / "chapters")
    shutil.copy(book / "intro.md", tmp_path)
    shutil.copy(book / "kept.json", tmp_path / "chapters" / "between.ipynb")
    contents(tmp_path, [["end_to_end"], ["between", "roofline"]])
    pages, warned = build(tmp_path)
    assert warned == ""
    assert numbers(text(pages, "between")) == ["(2.1)"]
    assert numbers(text(pages, "roofline")) == ["(3.1)", "(3.2)", "(1.1)"]
    seen = plain(text(pages, "end_to_end"))
    assert "See (3.1), the ridge (3.2), chapter 3 and" in seen
    assert "exercise 3.1" in seen
    after = {p.name: p.read_bytes() for p in (tmp_path / "chapters").glob("*.ipynb")}
    assert before.items() <= after.items()


def test_a_chapter_is_moved_by_its_line_alone(book: Path, tmp_path: Path) -> None:
    shutil.copytree(book / "chapters", tmp_path / "chapters")
    shutil.copy(book / "intro.md", tmp_path)
    contents(tmp_path, [["roofline", "end_to_end"]])
    pages, warned = build(tmp_path)
    assert warned == ""
    assert numbers(text(pages, "roofline")) == ["(1.1)", "(1.2)", "(1.3)"]
    assert numbers(text(pages, "end_to_end")) == ["(1.3)"]


@pytest.mark.parametrize(
    "shown",
    [
        "[no such equation](#eq-nothing)",
        "[nothing](page.ipynb#eq-nothing)",
        {"text/html": '<p><a class="named" href="#eq-nothing">nothing</a></p>'},
        "[fig](#fig-roofline.nothing)",
    ],
)
def test_a_reference_to_nothing_is_a_warning(shown: Shown, tmp_path: Path) -> None:
    write(tmp_path, {"page": ["# A page", shown]}, [["page"]])
    assert "nothing in the book is named" in build(tmp_path)[1]


def test_a_figure_has_its_number_in_its_title(tmp_path: Path) -> None:
    shown = drawing()
    write(
        tmp_path,
        {"page": ["# A page", html(shown), f"See [it](#fig-{shown.name})."]},
        [["page"]],
    )
    pages, warned = build(tmp_path)
    seen = plain(text(pages, "page"))
    assert warned == "" and "Figure 1.1" in seen and "See it (figure 1.1)." in seen


def test_a_label_in_a_docstring_that_is_shown_leads_to_its_equation() -> None:
    known = {"eq-ridge": Place("roofline", "2.3")}
    page = Page("other", known, lambda name: f"{name}.html")
    shown = page.html('<span class="sd">"""By ``ridge``, not ``rigde``."""</span>')
    assert shown == (
        '<span class="sd">"""By <a class="named" href="roofline.html#eq-ridge" '
        'title="(2.3)">``ridge``</a>, not ``rigde``."""</span>'
    )


def test_what_no_chapter_shows_has_a_place_and_no_number() -> None:
    shown = {"a": ["eq-x", "fig-y", "eq-x"], "index": ["eq-x", "eq-z"]}
    found = places(["index", "a"], shown, {"a": 1})
    assert found == {
        "eq-x": Place("a", "1.1"),
        "fig-y": Place("a", "1.1"),
        "eq-z": Place("index"),
    }
    page = Page("b", found, lambda name: f"{name}.html")
    assert page.link("eq-z", "z") == ("index.html#eq-z", "z")
    assert page.link("eq-x", "x") == ("a.html#eq-x", "(1.1)")
    assert page.link("fig-y", "the bars") == ("a.html#fig-y", "the bars (figure 1.1)")
    assert page.missing == []
    assert displayed('<a id="eq-x"></a><p id="x">') == ["eq-x"]


@pytest.mark.parametrize("formula", formulas(), ids=lambda formula: formula.label)
def test_every_letter_of_a_formula_is_recognised_and_no_other(formula: Formula) -> None:
    found = set[str]()
    shown = marked(formula.latex, found)
    terms = [formula.result, *formula.terms.values()]
    letters = [term for term in terms if not isinstance(term, Coefficient)]
    # A sum over the drafts of a chain: its index is the place, and no argument.
    index = {"draft_place"} if r"\sum_{v=0}" in formula.latex else set()
    assert found - index == {term.name for term in letters} - index
    assert index <= found
    for term in letters:
        shown = shown.replace(rf"\class{{q-{term.name}}}{{{term.symbol}}}", term.symbol)
    for name in index:
        shown = shown.replace(rf"\class{{q-{name}}}{{v}}", "v")
    assert shown == formula.latex


@pytest.mark.parametrize(
    ("latex", "names"),
    [
        ("h_{\\mathrm{kv}}", {"n_kv_heads"}),
        ("h", {"n_heads"}),
        ("\\mathrm{B} + \\text{a B}", set()),
        ("W_k", set()),
        ("B^2 = 4", {"batch"}),
        ("\\min\\left(B, n\\right)", {"batch", "n_rows"}),
        ("\\ell\\cdot B", {"context", "batch"}),
        ("\\overline{B} = n", {"n_rows"}),
        ("n \\\\[4pt] B", {"n_rows", "batch"}),
        ("\\begin{aligned}B &= 2\\end{aligned}", {"batch"}),
        (r"\bar u - \hat{B}", set()),  # with an accent, braces or none
    ],
)
def test_a_letter_is_one_of_ours_only_where_it_stands_alone(
    latex: str, names: set[str]
) -> None:
    found = set[str]()
    marked(latex, found)
    assert found == names


def test_letters_are_marked_between_tags_and_nowhere_else() -> None:
    found = set[str]()
    text = (
        '<p aria-label="\\(B\\)">\\(B \\lt n\\)</p><script>"\\(B\\)"</script>'
        "\\[c &amp; B\\] B"
    )
    batch, rows = "\\class{q-batch}{B}", "\\class{q-n_rows}{n}"
    assert marked_html(text, found) == (
        f'<p aria-label="\\(B\\)">\\({batch} \\lt {rows}\\)</p>'
        f'<script>"\\(B\\)"</script>\\[\\class{{q-chunk}}{{c}} &amp; {batch}\\] B'
    )
    assert found == {"batch", "n_rows", "chunk"}
    assert list(meanings(found)) == ["batch", "chunk", "n_rows"]
