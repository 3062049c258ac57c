"""Each number of a page says where it is from, and that comes to the number."""

import ast
import json
import re
from functools import cache, partial
from pathlib import Path

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog import Cited, machine
from llmserve_lab.catalog.records.cited import KINDS
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.origin import CellRun, Sourced
from llmserve_lab.formula.registry import formulas
from llmserve_lab.formula.text import plain, said, si
from llmserve_lab.page.build.number_cards import ELEMENT
from llmserve_lab.page.cell import this_argument, this_run
from llmserve_lab.page.html import compact
from llmserve_lab.page.number_record import Provenance, merged
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import formulas as f
from tests.page.records import (
    CHAPTERS,
    Browser,
    marks_of,
    notebook_of,
    readouts_of,
    records_of,
    stored_html,
)

every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
H100 = machine(catalog.accelerator("h100-sxm"))
EVIL = '<img src=x onerror="alert(1)">'
evil = partial(Cited, kind="paper", source=EVIL, note="</script>" + EVIL)


@cache
def by_label() -> dict[str, Formula]:
    return {formula.label: formula for formula in formulas()}


def ways(value: float, unit: str, digits: int) -> tuple[str, ...]:
    """How a page may print a number to so many digits."""
    return said(value, unit, digits), si(value, unit, digits), plain(value, digits)


def given_of(record: dict[str, object]) -> dict[str, float]:
    """The arguments of a stored number, without their sources."""
    given = record["given"]
    assert isinstance(given, dict)
    return {n: v[0] if isinstance(v, list) else v for n, v in given.items()}


def agrees(path: Path) -> int:
    """Compare a chapter's numbers and readouts with NumPy; how many there were."""
    records = records_of(path)
    numbers = records.get("numbers", {})
    computed = {key: each for key, each in numbers.items() if "formula" in each}
    browser = Browser(records)
    for key, record in computed.items():
        want = float(by_label()[record["formula"]](**given_of(record)))
        assert browser.number(key) == pytest.approx(want, rel=1e-9), record
    found = 0
    for figure, name, value in readouts_of(path):
        if name in records["figures"][figure]["readouts"]:
            found += 1
            shown = browser.readout(figure, name)
            assert shown == pytest.approx(value, rel=1e-9), (figure, name)
    return len(computed) + found


@every_chapter
def test_what_a_number_says_of_itself_comes_to_that_number(path: Path) -> None:
    agrees(path)


def test_there_are_more_than_two_hundred_such_numbers() -> None:
    computed = sum(map(agrees, CHAPTERS))
    cited = sum(
        "source" in each
        for path in CHAPTERS
        for each in records_of(path).get("numbers", {}).values()
    )
    assert computed + cited > 200 and min(computed, cited) > 100


@every_chapter
def test_every_mark_leads_to_a_record_and_every_key_to_its_source(path: Path) -> None:
    records = records_of(path)
    numbers, sources = records.get("numbers", {}), records.get("sources", {})
    assert {key for key, _ in marks_of(path)} <= set(numbers)
    for record in numbers.values():
        assert record.get("band") in (None, *records.get("bands", ()))
        assert len(record.keys() & {"formula", "source", "run"}) == 1
        cited = [v[1] for v in record.get("given", {}).values() if isinstance(v, list)]
        own = {record["source"]} if "source" in record else set()
        assert {*cited, *own} <= set(sources)
    for kind, source, *rest in sources.values():
        assert kind in KINDS and source.strip()
        assert not rest or rest[0] == "" or rest[0].startswith("https://")


def same_digits(text: str, value: float) -> bool:
    """Whether a text has the digits of a value, told in per cent or another prefix."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    digits = (
        found.group().replace(",", "").replace(".", "").lstrip("0") if found else ""
    )
    whole = digits.rstrip("0") or digits  # 1,360 may be three digits or four
    exact = {f"{abs(value):.{n - 1}e}".replace(".", "") for n in range(1, 17)}
    return any(each.partition("e")[0] in (digits, whole) for each in exact)


def test_the_text_on_the_page_is_the_number_of_its_record() -> None:
    differ, same = [], 0
    for path in CHAPTERS:
        numbers = records_of(path).get("numbers", {})
        for key, text in marks_of(path):
            record = numbers[key]
            if "formula" not in record:
                continue
            formula = by_label()[record["formula"]]
            value, unit = float(formula(**given_of(record))), formula.result.unit
            if any(text in ways(value, unit, digits) for digits in range(2, 7)) or (
                same_digits(text, value)
            ):
                same += 1
            else:
                differ.append((path.stem, key, text))  # a share in per cent, say
    assert same > 50 and len(differ) <= 5, differ


@every_chapter
def test_a_worked_line_names_its_sources_and_can_be_asked(path: Path) -> None:
    for piece in stored_html(notebook_of(path)):
        if piece.startswith('<div class="worked">'):
            assert 'class="worked-sources"' in piece and 'data-sourced="' in piece


def test_the_sources_stand_under_the_substitution() -> None:
    text = f.RIDGE.worked(H100)._repr_html_()
    small = text.partition('<p class="worked-sources">')[2]
    assert "NVIDIA H100 Tensor Core GPU datasheet</a> (datasheet)" in small
    assert 'href="https://www.nvidia.com/en-us/data-center/h100/"' in small
    assert "the datasheet peak (convention)" in small
    assert ">295 FLOP/byte</span>" in small
    alone = f.N_ROWS.worked(batch=2.0, chunk=3.0)._repr_html_()
    assert "all values are chosen here" in alone


def test_a_number_given_in_another_unit_is_recorded_in_that_of_its_letter() -> None:
    book = Provenance()
    fast = Cited(2, "TB/s", "paper", "a paper")
    key = book.number(f.RIDGE.computed(H100, hbm_bw=fast))
    value, source = book.data["numbers"][key]["given"]["hbm_bw"]
    assert value == 2e12 and book.data["sources"][source] == ["paper", "a paper"]


def test_the_same_number_is_recorded_once_and_the_same_way() -> None:
    one, other = Provenance(), Provenance()
    keys = [book.number(f.RIDGE.computed(H100)) for book in (one, one, other)]
    assert len(set(keys)) == 1 and one.data == other.data
    assert merged(one.data, other.data) == one.records()
    assert list(one.data["numbers"]) == keys[:1]


def test_a_result_that_was_handed_in_is_given_and_not_computed() -> None:
    book = Provenance()
    number = f.INTENSITY.computed(iteration_flops=6.0, iteration_bytes=3.0)
    key = book.number(number)
    browser = Browser(book.records())
    assert browser.number(key) == 2.0
    assert set(book.data["numbers"][key]["given"]) == {
        "iteration_flops",
        "iteration_bytes",
    }


def test_markup_in_a_name_stays_text() -> None:
    table = Table(EVIL, ("a", "b"), [(EVIL, evil(2, "byte").shown())], [EVIL])
    known = {"peak_flops": evil(1e15, "FLOP/s"), "hbm_bw": evil(1e12, "byte/s")}
    worked = f.RIDGE.worked(known, eff_compute=1.0, eff_mem=1.0)
    for text in (table._repr_html_(), worked._repr_html_()):
        assert "<img" not in text
        assert text.count("</script>") == 1


def test_a_cell_that_is_sourced_is_marked_and_reads_as_before() -> None:
    cell = f.RIDGE.said(H100)
    plain = Table("Ridge", ("what", "where"), [("H100", str(cell))])
    marked = Table("Ridge", ("what", "where"), [("H100", cell)])
    assert repr(plain) == repr(marked)
    assert isinstance(cell, Sourced) and "data-sourced" not in plain._repr_html_()
    assert 'data-sourced="' in marked._repr_html_()
    (records,) = map(json.loads, ELEMENT.findall(marked._repr_html_()))
    assert records["formulas"]["ridge"]["title"] == f.RIDGE.title


def test_outside_a_notebook_no_run_is_made_up() -> None:
    assert this_run() is None and this_argument("ridge") is None


def test_the_settings_of_a_run_are_recorded_with_their_sources() -> None:
    book = Provenance()
    settings = {"slots": 8, "bandwidth": H100["hbm_bw"]}
    key = book.number(CellRun("simulate(...)", "Serve.", settings))
    call, does, shown = book.data["numbers"][key]["run"]
    assert (call, does, shown["slots"]) == ("simulate(...)", "Serve.", "8")
    assert shown["bandwidth"][0] == "3.35 TB/s"
    assert book.data["sources"][shown["bandwidth"][1]][0] == "datasheet"


@every_chapter
def test_no_record_holds_what_the_build_takes_for_a_reference(path: Path) -> None:
    text = compact(records_of(path))
    assert "`" not in text and "](#" not in text


def test_a_run_names_what_its_cells_name() -> None:
    for path in CHAPTERS:
        code = "\n".join(
            "".join(cell["source"])
            for cell in notebook_of(path)["cells"]
            if cell["cell_type"] == "code"
        )
        known = names_in(code)
        for record in records_of(path).get("numbers", {}).values():
            if "run" in record and not record["run"][0].endswith("…"):
                assert names_in(record["run"][0]) <= known, record


def names_in(code: str) -> set[str]:
    """Names and attributes of a text of Python."""
    tree = [*ast.walk(ast.parse(code))]
    plain = {node.id for node in tree if isinstance(node, ast.Name)}
    return plain | {node.attr for node in tree if isinstance(node, ast.Attribute)}


def test_most_numbers_say_more_than_the_text_of_their_expression() -> None:
    bare, told = 0, 0
    for path in CHAPTERS:
        for record in records_of(path).get("numbers", {}).values():
            bare += len(record.get("run", ["", ""])) == 1
            told += len(record.get("run", ["", ""])) > 1
    assert told > 1500 and bare < told / 20, (bare, told)


def test_every_step_behind_a_number_is_recorded_with_its_own_origin() -> None:
    steps = 0
    for path in CHAPTERS:
        records = records_of(path)
        for record in records.get("numbers", {}).values():
            run = [*record.get("run", ())]
            for key in run[3] if run[3:] else ():
                step = records["steps"][key]
                steps += 1
                assert step[0] and all(isinstance(each, dict) for each in step[2:])
                for exact in step[3:]:
                    label = exact.get("formula")
                    assert label is None or label in records["formulas"]
                    assert label or exact["source"] in records["sources"]
    assert steps > 1500
