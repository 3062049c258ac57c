"""A gain, a ratio or a share in a table is the quotient of the cells that it compares.

Which cells those are stands in :data:`OF`, read from the headings: above the line, and
the larger of those below it. A time or a size is better when it is less, so that the
better of two times stands below the line.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.records import CHAPTERS
from tests.page.test_recomputed import Compared, Ends, compared, ends

Sides = tuple[str, tuple[str, ...]]  # above the line, below it
OF: dict[tuple[str, str], Sides] = {
    ("attention_ffn", "gain"): ("split", ("group",)),
    ("attention_ffn", "lead"): ("split", ("group",)),
    ("capacity", "p90 / mean"): ("p90 TPOT, ms", ("mean TPOT, ms",)),
    ("capacity", "ratio"): ("engine", ("closed form",)),
    ("deepseek_twin", "plain / absorbed"): ("FLOPs, plain", ("FLOPs, absorbed",)),
    ("disaggregation", "lead [1]"): ("two pools", ("8,192", "512, replayed")),
    ("disaggregation", "if one by one"): ("two pools", ("8,192", "512, one by one")),
    ("flash_attention", "gain"): ("A100: one block, µs", ("splits, µs",)),
    ("flash_attention", "gain of splits"): ("H100: one split, µs", ("best, µs",)),
    ("mixture_of_experts", "layer share"): ("layer touched", ("layer stored",)),
    ("mixture_of_experts", "model share"): ("model touched", ("model stored",)),
    ("quantization", "saved"): ("if each head had its own", ("a token",)),
    ("roofline", "ratio"): ("counted", ("closed form",)),
    ("roofline", "measured / bound"): ("measured", ("bound",)),
    ("tensor_parallel", "gain"): ("TP 8", ("2 × TP 4",)),
    ("varlen_batching", "measured factor"): ("padded", ("packed",)),
}
QUOTIENT = re.compile(r"^(?:gain|ratio|saved)\b|\bshare$|factor$|^lead\b|^\w+ / \w+$")
OTHERS = {  # heads that read alike and are no quotient of two cells beside them
    ("attention_ffn", "ratio"),  # of machines, as it is chosen or computed
    ("catalog", "prompt / output"),
    ("kv_memory", "share"),
    ("how_wrong", "TPOT factor"),
    ("how_wrong", "vLLM’s factor"),
    ("varlen_batching", "predicted factor"),  # its two times are not printed
}
PRICES = "load, or list"  # its ratio is written 1 : 9, see below
TIME = re.compile(r", (?:ms|µs|s)$")
UNITS = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SCALED = re.compile(r"^[-−+]?[\d.,]+ ([nµmkMGT])(?:s|B|FLOP|B/s|FLOP/s)$")


def span(cell: str) -> Ends | None:
    """Between what a printed number lies, in its unit without a prefix."""
    found, scaled = ends(cell), SCALED.match(cell)
    unit = UNITS[scaled[1]] if scaled else 1.0
    return found and (found[0] * unit, found[1] * unit)


def quotient(above: Ends, below: Ends) -> Ends:
    """Between what the quotient of two such numbers lies."""
    return above[0] / below[1], above[1] / below[0]


def fits(table: Compared, row: list[str], head: str, of: Sides) -> bool | None:
    """Whether a printed quotient is that of its two cells; None where one is a dash."""
    cells = dict(zip(table.heads, row, strict=True))
    above, below = span(cells[of[0]]), [span(cells[each]) for each in of[1]]
    text = cells[head].rstrip("×")
    printed = ends(text, rounded=False)
    if not (above and printed and all(below)):
        return None
    most = max(each for each in below if each)
    if TIME.search(row[0]):  # of a time, not of a rate
        above, most = most, above
    low, high = quotient(above, most)
    if "%" in text:
        low, high = ((100 * x - (100 if text[0] in "+-−0" else 0)) for x in (low, high))
    return low <= printed[1] and printed[0] <= high


def named(path: Path) -> Iterator[tuple[Compared, str]]:
    """Columns of a chapter's tables whose heads read like a quotient."""
    for table in compared(path):
        for head in table.heads[1:]:
            if QUOTIENT.search(head) and table.heads[0] != PRICES:
                yield table, head


def checked(path: Path) -> Iterator[tuple[list[str], bool]]:
    """Every row with a quotient that can be computed again, and whether it agrees."""
    for table in compared(path):
        for (chapter, head), of in OF.items():
            if chapter == path.stem and {head, of[0], *of[1]} <= set(table.heads):
                for row in table.rows:
                    right = fits(table, row, head, of)
                    if right is not None:
                        yield row, right


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_quotient_is_that_of_the_cells_that_it_compares(path: Path) -> None:
    assert [row for row, right in checked(path) if not right] == []


def test_many_quotients_in_every_chapter_that_has_them_are_computed_again() -> None:
    count = {path.stem: len([*checked(path)]) for path in CHAPTERS}
    assert {chapter for chapter, _ in OF} == {stem for stem in count if count[stem]}
    assert sum(count.values()) > 60, count


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_head_that_reads_like_a_quotient_was_read(path: Path) -> None:
    known = {head for chapter, head in {*OF, *OTHERS} if chapter == path.stem}
    assert {head for _, head in named(path)} <= known


def test_every_quotient_that_was_read_is_in_a_table() -> None:
    shown = {
        (path.stem, head)
        for path in CHAPTERS
        for table in compared(path)
        for head in table.heads
    }
    assert {*OF, *OTHERS} <= shown


def test_input_is_to_output_as_their_prices() -> None:
    """One to so many, whole: the second price over the first."""
    (capacity,) = (path for path in CHAPTERS if path.stem == "capacity")
    (table,) = (each for each in compared(capacity) if each.heads[0] == PRICES)
    for _, first, second, ratio, *_ in table.rows:
        low, high = quotient(*(ends(cell) or (0, 0) for cell in (second, first)))
        assert low - 0.5 <= float(ratio.removeprefix("1 : ")) <= high + 0.5


@pytest.mark.parametrize(
    ("row", "right"),
    [
        (["prompt, ms", "67.2", "92.0", "1.37"], True),
        (["prompt, ms", "67.2", "92.0", "0.73"], False),
        (["tokens/s", "67.2", "92.0", "0.73"], True),
        (["tokens/s", "67.2", "92.0", "−27%"], True),
        (["tokens/s", "4.12 ms", "515 µs", "8.0"], True),
        (["tokens/s", "4.12 ms", "515 µs", "125 %"], False),
    ],
)
def test_a_quotient_upside_down_is_found(row: list[str], right: bool) -> None:
    table = Compared("", ["what", "one", "two", "gain"], [row])
    assert fits(table, row, "gain", ("one", ("two",))) is right
