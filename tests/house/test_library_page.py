"""The page "The library" is what the package and its docstrings are."""

import doctest
import re

import pytest

import library
import llmserve_lab
from llmserve_lab import engine, validation, workloads


@pytest.fixture(scope="module")
def text() -> str:
    return library.PAGE.read_text("utf8")


def test_it_is_what_the_docstrings_say_today(text: str) -> None:
    assert text == library.page(), "make run writes it again"


def test_every_name_at_the_top_leads_to_its_entry(text: str) -> None:
    for name in llmserve_lab.__all__:
        target = library.anchor(name, getattr(llmserve_lab, name))
        assert text.count(f"(#{target})") == 1
        assert f"({target})=\n**{name}**\n" in text


def test_an_address_is_used_once(text: str) -> None:
    found = re.findall(r"^\((library-[\w-]+)\)=$", text, re.M)
    assert len(found) == len(set(found)) > 80


@pytest.mark.parametrize("room", [engine, workloads], ids=lambda each: each.__name__)
def test_every_public_name_of_a_room_has_an_entry(room: object, text: str) -> None:
    for name in room.__all__:  # type: ignore[attr-defined]
        assert f"\n**{name}**\n" in text


def test_an_entry_has_arguments_docstring_and_members(text: str) -> None:
    start = text.index("(library-class-report)=")
    entry = text[start : text.index("\n(library-", start)]
    assert ": `Report(id, arrival_s, " in entry
    for name in ("percentile", "to_json", "to_csv", "num_requests"):
        assert f"- `{name}`: " in entry
    assert "ValueError" in text[text.index("(library-class-request)=") :]
    assert library.summary(validation.band) in text


def test_the_examples_run_as_they_stand(text: str) -> None:
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(code) >= len(library.SECTIONS) - 1
    names: dict[str, object] = {}
    test = doctest.DocTestParser().get_doctest("\n".join(code), names, "page", "", 0)
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried > 15 and failed == 0


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("A ``x`` of :class:`~llmserve_lab.engine.Pool`.", "A `x` of `Pool`."),
        ("Costs $2 | a < b", r"Costs \$2 \| a \< b"),
    ],
)
def test_a_docstring_is_markdown(docstring: str, markdown: str) -> None:
    assert library.inline(docstring) == markdown


def test_errors_are_a_list() -> None:
    told = "\n".join(
        library.markdown("Do.\n\nRaises:\n    ValueError: it is\n        no.")
    )
    assert "Raises:\n\n- `ValueError`: it is no." in told
