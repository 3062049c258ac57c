"""Numbers that sentences of the pages print: of a size that their unit is meant for."""

import re
from pathlib import Path

import nbformat
import pytest

from named_links import glued

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [*sorted((ROOT / "chapters").glob("*.ipynb")), ROOT / "intro.ipynb"]
# Beyond these a reader is told the next larger unit, so a larger number is a mistake.
LARGEST = {
    **{"ns": 1e4, "µs": 1e5, "ms": 1e4},
    **{"kB": 1e5, "KB": 1e5, "MB": 1e5, "GB": 1e5, "TB": 1e4},
}
# Whole numbers that name something and count nothing, and what a log prints as it is.
NAMES = {
    "card",  # RTX 4090
    "dt_deepep",  # a month of a year
    "dt_when",
    "four_bits",  # digits of binary numbers
    "log_mean",  # in a line of an engine's log
    "log_most",
    "master_port",
    "users_port",
}
UNGROUPED = re.compile(r"(?<![\d.,])\d{4,}")
MEASURED = re.compile(rf"(\d[\d,]*(?:\.\d+)?)\s?({'|'.join(LARGEST)})\b")


def printed(path: Path) -> dict[str, str]:
    """What the notebook hands to its sentences, by name."""
    return glued(nbformat.read(path, as_version=4))


def absurd(text: str) -> list[str]:
    """What is larger than its unit is meant for, or has no separator of thousands."""
    found: list[str] = UNGROUPED.findall(text)
    for each in MEASURED.finditer(text):
        if float(each[1].replace(",", "")) > LARGEST[each[2]]:
            found.append(each[0])
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_number_of_a_sentence_has_a_size_that_its_unit_is_meant_for(
    path: Path,
) -> None:
    found = {name: text for name, text in printed(path).items() if absurd(text)}
    assert {name: text for name, text in found.items() if name not in NAMES} == {}


@pytest.mark.parametrize(
    "text",
    ["1980048 ms", "1,980,048 ms", "123,456 MB", "10.5 ms to 20000 ms", "2048 tokens"],
)
def test_an_absurd_number_is_found(text: str) -> None:
    assert absurd(text)


@pytest.mark.parametrize(
    "text",
    ["129 ms", "26,703 tokens/s", "3,997,696 bytes", "0.00012", "10.3% to 19.3%"],
)
def test_a_number_of_a_usual_size_is_let_through(text: str) -> None:
    assert absurd(text) == []


def test_every_name_that_is_let_through_needs_it() -> None:
    """An exception that no page needs would hide the next wrong number."""
    texts = {name: text for path in CHAPTERS for name, text in printed(path).items()}
    assert all(absurd(texts[name]) for name in NAMES)


@pytest.mark.parametrize(
    ("said", "was", "off"),
    [
        ("dt_older_said_rate", "dt_older_rate", "dt_three_lone"),
        ("dt_as_run_rate", "dt_measured", "dt_as_run_off"),
    ],
)
def test_an_error_is_that_of_the_two_rates_beside_it(
    said: str, was: str, off: str
) -> None:
    """Predicted over measured, less one, with the older library."""
    texts = printed(ROOT / "chapters" / "deepseek_twin.ipynb")
    made, real = (
        float(texts[name].split()[0].replace(",", "")) for name in (said, was)
    )
    error = float(re.sub(r"\s|%", "", texts[off]).replace("−", "-"))
    assert made / real - 1 == pytest.approx(error / 100, abs=0.006)
