"""The package's own lines on the page: as they run, coloured, folded when long."""

import html
import inspect
import re

import pytest

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.units import convert, units
from llmserve_lab.page import engines
from llmserve_lab.page.source import SHOWN_LINES, highlighted, source
from llmserve_lab.page.step.content import StepContent


def text_of(page: str) -> str:
    """What a reader reads in a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def code_of(page: str) -> str:
    """The lines of code in a piece of HTML, folded ones included."""
    blocks = re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    return "\n".join(text_of(block) for block in blocks)


@pytest.mark.parametrize(
    "obj", [convert, StepContent.values, StepContent, units, StepContent.inks]
)
def test_the_page_shows_the_lines_that_run(obj: object) -> None:
    shown = source(obj)
    found = inspect.unwrap(getattr(obj, "func", obj))  # type: ignore[arg-type]
    lines = inspect.getsource(found).rstrip().splitlines()
    width = len(lines[0]) - len(lines[0].lstrip())
    assert shown.code.splitlines() == [line[width:] for line in lines]
    assert code_of(shown.html()) == shown.code
    assert shown.code in repr(shown)


def test_what_is_long_is_folded() -> None:
    page = source(StepContent).html()
    first = code_of(page.split("<details>")[0])
    rest = len(source(StepContent).code.splitlines()) - SHOWN_LINES
    assert len(first.splitlines()) == SHOWN_LINES
    assert f"<summary>{rest} more lines</summary>" in page
    assert "<details>" not in source(convert).html()


def test_a_string_over_several_lines_is_coloured_line_by_line() -> None:
    lines = highlighted(['x = """one', "", 'two"""  # <three>'])
    assert len(lines) == 3
    assert all(line.count("<span") == line.count("</span>") for line in lines)
    assert text_of("\n".join(lines)) == 'x = """one\n\ntwo"""  # <three>'


def test_the_name_in_the_engine_stands_below() -> None:
    shown = source(convert, "scheduler")
    known = engines.named("scheduler")
    assert f"In vLLM {engines.VERSION}: Scheduler.schedule()" in repr(shown)
    assert f'href="{known.url}"' in shown.html()
    assert engines.VERSION in known.url


def test_what_is_not_the_packages_own_is_refused() -> None:
    with pytest.raises(TypeError, match="obj must be of llmserve_lab, got"):
        source(re.compile)
    with pytest.raises(ValueError, match=r"concept must be one of engine-loop, .*'no'"):
        source(Formula, "no")


def test_each_name_of_the_engine_has_a_file_and_a_plain_note() -> None:
    for named in engines.NAMES.values():
        assert named.path.startswith("vllm/") and named.path.endswith(".py")
        assert named.note == named.note.strip().rstrip(".")
