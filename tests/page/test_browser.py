"""What the page's scripts know is what the package knows."""

from pathlib import Path

import pytest

from llmserve_lab import __version__
from llmserve_lab.formula.units import DEFINITIONS, units
from llmserve_lab.page.browser import atoms, prefixes, script
from tests.formula.javascript import evaluate

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def test_the_file_of_tables_is_the_one_that_the_tool_writes() -> None:
    assert (ASSETS / "tables.js").read_text("utf8") == script(__version__), (
        "run tools/browser_tables.py"
    )


def test_prefixes_are_those_of_the_registry() -> None:
    found = prefixes()
    assert found["Mi"] == 2**20 and found["mebi"] == 2**20 and found["T"] == 1e12
    for name, factor in found.items():
        if name not in ("K", "μ"):  # written by readers, not by the book
            assert units().Quantity(1.0, f"{name}byte").to("byte").magnitude == factor


def test_units_are_those_of_the_registry() -> None:
    found = atoms()
    assert found["hour"] == ["s", 3600.0] and found["bit"] == ["byte", 0.125]
    assert found["GPU"] == ["device", 1.0] and found["%"] == ["", 0.01]
    assert all([dimension] in ([""], *_bases()) for dimension, _ in found.values())


def _bases() -> list[list[str]]:
    """The registry's base units, as they are said."""
    names = [line.split(" ")[0] for line in DEFINITIONS.splitlines() if "= [" in line]
    return [["s" if name == "second" else name] for name in names]


def test_the_version_is_that_of_the_book() -> None:
    assert evaluate("window.llmserveTables.version") == __version__


@pytest.mark.parametrize(
    ("hash_", "anchor", "states"),
    [
        ("", "", {}),
        ("#below", "below", {}),
        ("#fig=a.0f:x=1,y=-2.5", "", {"a": {"x": "1", "y": "-2.5"}}),
        ("#be%20low&fig=a.0f:", "be low", {"a": {}}),
        ("#fig=a.0f:x=1&fig=b.1:frame=3", "", {"a": {"x": "1"}, "b": {"frame": "3"}}),
        ("#fig=a.0f:x=1;alert(1)", "", {"a": None}),
        ("#fig=a", "", {"a": None}),
        ("#fig=A.0f:x=1", "", {}),
        ("#fig=<img>", "", {}),
        ("#%E0%A4%A&fig=a.0g:", "%E0%A4%A", {"a": None}),
    ],
)
def test_an_address_is_read_part_by_part(
    hash_: str, anchor: str, states: dict[str, dict[str, str] | None]
) -> None:
    source = """(() => {
      const { anchor, states } = window.llmserveAddress.parseHash(hash);
      const settings = ([name, found]) => [name, found && found.settings];
      return [anchor, [...states].map(settings)];
    })()"""
    found, pairs = evaluate(source, hash=hash_)
    assert found == anchor and dict(pairs) == states


def test_a_state_is_written_as_it_is_read() -> None:
    settings = {"batch": 32, "context": 65536.5, "small": 1e-9, "model": 1}
    source = """(() => {
      const { parseHash, formatState } = window.llmserveAddress;
      return parseHash("#" + formatState("a-b", "0f1e", settings)).states.get("a-b");
    })()"""
    found = evaluate(source, settings=settings)
    assert found["version"] == "0f1e"
    read = {name: float(text) for name, text in found["settings"].items()}
    assert read == settings
