"""Every predicted time, rate and cost says how far off it is, or that nobody knows."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.live.registry import figures
from llmserve_lab.page.table import BAND, Table
from tests.page.records import notebook_of

CHAPTERS = Path(__file__).parents[2] / "chapters"
# Units of what a server or a part of it is predicted to take, make or cost. Bytes are
# counted from shapes, but for the room that is left for the cache.
PREDICTED = re.compile(r"s|s/\w+|(token|request|byte)/s|dollar/\w+")
LEFT = {"cache_bytes", "batch_fits"}

# A table that names one of these units, in its caption, its headings or a cell, ...
TIMED = re.compile(
    r"(?<![\w'’])(?:\d+\s)?(?:ms|µs|(?:tokens|requests|Requests)/s|[Dd]ollars|"
    r"milliseconds)(?![\w/])|\d s(?!\w)|\$"
)
# ... has a band, or says in its caption, headings or notes what stands beside it.
SAYS = re.compile(rf"{BAND}|measured|[Ee]rror|\boff\b|published|bound")
CAPTION = re.compile("<caption>(.*?)</caption>")
SHOWN = "on runs like this"  # in a cell
REFERENCE = {"catalog", "notation", "sources", "how_wrong"}  # inputs, claims, scores
NO_PREDICTION = {
    "The paper's recipe: Attention decides": "cycles of the paper's own machine",
    "Coefficients of Ascend 910C": "what the paper fitted",
    "What the paper leaves open: 4,000 requests per instance": "its own machine",
    "8A–1F with two batches in flight: one setting, six rates": "its own machine",
    "Prices of rented GPUs": "prices",
    (
        "The GPUs of this page, SXM (modules on a server's board): memory and its "
        "bandwidth, arithmetic, price"
    ): "inputs",
    "What each GPU could do, and what the twin takes": "inputs",
    "Start of vLLM 0.11.0, Llama-3.1-8B on one H100": "a log",
    "The panels as queries (PromQL)": "queries",
    (
        "What varlen counts for prompts of 100, 200, 500 and 1,200 tokens, per layer "
        "and head"
    ): "counted pairs",
}


def predicted(figure: LiveFigure) -> list[Readout]:
    """Readouts whose unit says that they are predictions."""
    numbers = [each for each in figure.readouts if isinstance(each, Readout)]
    return [
        each
        for each in numbers
        if PREDICTED.fullmatch(figure.units.get(each.name, "")) or each.name in LEFT
    ]


@pytest.mark.parametrize("name", figures())
def test_a_predicted_number_under_a_figure_has_a_band_or_says_why_not(
    name: str,
) -> None:
    assert not [r.label for r in predicted(figures()[name]()) if r.band is None]


def test_predictions_are_told_by_their_units() -> None:
    found = {
        name: [r.name for r in predicted(make())] for name, make in figures().items()
    }
    assert sum(map(len, found.values())) > 30
    assert "busy_cost" in found["capacity.cost_latency"]
    assert not found["roofline.roofline"]  # intensities


def tables(path: Path) -> Iterator[str]:
    """The text of each table that a chapter stores."""
    for cell in notebook_of(path)["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            caption = CAPTION.search("".join(data.get("text/html", "")))
            if caption:  # a picture may stand before the table
                text = "".join(data.get("text/plain", ""))
                yield text[text.rindex(unescape(caption[1])) :]


def unstated(text: str) -> bool:
    """Whether a table names a time, a rate or a price and says nothing of its error."""
    caption, _, heads, _, *rest = text.split("\n")
    notes = "\n".join(line for line in rest if line.startswith(("[", BAND)))
    bare = not SAYS.search(f"{caption}\n{heads}\n{notes}") and SHOWN not in text
    return bool(TIMED.search(text)) and bare and caption not in NO_PREDICTION


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(CHAPTERS.glob("*.ipynb")) if path.stem not in REFERENCE],
    ids=lambda path: path.stem,
)
def test_a_table_of_times_says_how_far_off_they_are(path: Path) -> None:
    assert not [text.split("\n")[0] for text in tables(path) if unstated(text)]


def test_a_table_without_a_word_of_its_error_is_found() -> None:
    bare = Table("Two servers", ("server", "TPOT, ms"), [("a", "12.1")])
    with_one = Table(
        "Two servers", bare.columns, bare.rows, band=Unmeasured("none was run")
    )
    assert unstated(repr(bare)) and not unstated(repr(with_one))
    assert not unstated(repr(Table("Rows", ("batch", "rows"), [("a", "12")])))


def test_no_table_is_excused_that_is_gone() -> None:
    shown = {t.split("\n")[0] for p in CHAPTERS.glob("*.ipynb") for t in tables(p)}
    assert set(NO_PREDICTION) <= shown
