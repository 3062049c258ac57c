"""What a still calls measured lies where the records have it, and what else does not.

Points and lines that are measured and predicted can change their names, their inks or
their numbers. The measured ones are worked out here from what was published alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.packing import UNPADDED
from llmserve_lab.catalog.evidence.speculation import BATCH_RUNS, HEAD_RUNS
from llmserve_lab.how_wrong import decision, example
from llmserve_lab.how_wrong.pairs import fullest
from tests.each import numbers, stored
from tests.page import drawn, seen
from tests.page.seen import notes
from tests.page.stills import STILLS

MEASURED, PREDICTED = re.compile(r"\bmeasured\b"), re.compile(r"\bpredicted\b")
Points = dict[float, float]
Named = tuple[str, Points, str, str]  # the words, the points, kind of line, of mark


def of_run(words: str) -> str:
    """What of a label stands before the comma."""
    return words.partition(",")[0]


def unpadded(_: str) -> Points:
    """Time with padding over time without."""
    return {
        row.batch * row.stretched: float(row.padded_s) / float(row.packed_s)
        for row in UNPADDED
    }


def rounds(words: str) -> Points:
    """A round has its tokens, each of which has its time."""
    (run,) = (each for each in HEAD_RUNS if each.name == of_run(words))
    return {k: tokens * run.tpot_ms[k] for k, tokens in run.tokens.items()}


def gains(words: str) -> Points:
    """As they are published."""
    (run,) = (each for each in BATCH_RUNS if each.task == of_run(words))
    return {batch: float(gain) for batch, gain in run.gains.items()}


def clients(of: Callable[[], Any], name: str, times: float) -> Callable[[str], Points]:
    """One number of measured rows, by how many clients there were."""
    return lambda _: {row.clients: times * getattr(row, name) for row in of()}


# How many labels say "measured", and what they stand for.
WHERE: dict[str, tuple[int, Callable[[str], Points]]] = {
    "how_wrong.pictures.band": (1, clients(example.rows, "tpot_s", 1e3)),
    "how_wrong.pictures.end_of_the_cache": (1, clients(fullest, "ttft_s", 1)),
    "speculative.stills.batches": (2, gains),
    "speculative.stills.heads": (2, rounds),
    "varlen.stills.unpadded": (1, unpadded),
}
# Their axes and panels are called so, and tests of the chapters read them.
AXES = {"quantization.stills.gains", "tensor_parallel.stills.gains"}
# The one bar of one row, with its number beside it.
BARS = {"how_wrong.pictures.token"}


def labelled(panel: Any) -> Iterator[Named]:
    """Each word with its line: the one that ends at it, or has its ink alone."""
    for text in panel.texts:
        words = " ".join(text.get_text().split())
        if MEASURED.search(words) or PREDICTED.search(words):
            ink = seen._name(text.get_color())
            mine = [each for each in panel.lines if seen._name(each.get_color()) == ink]
            end = pytest.approx(getattr(text, "xy", ()))
            ending = [each for each in mine if tuple(each.get_xydata()[-1]) == end]
            for line in ending or mine:
                points = {float(x): float(y) for x, y in line.get_xydata()}
                yield words, points, line.get_linestyle(), line.get_markerfacecolor()


@cache
def panel_of(still: str) -> Any:
    """The one panel of a still, which takes seconds to draw."""
    (panel,) = drawn.panels(STILLS[still])
    return panel


@pytest.mark.parametrize("still", WHERE)
def test_what_is_called_measured_lies_where_it_was_published(still: str) -> None:
    many, of = WHERE[still]
    found = list(labelled(panel_of(still)))
    measured = [each for each in found if MEASURED.search(each[0])]
    assert len(measured) == len({words for words, *_ in measured}) == many
    for words, points, *_ in measured:
        assert points == pytest.approx(of(words))
    for words, points, *_ in found:
        if PREDICTED.search(words):
            truth = of(measured[0][0] if many == 1 else words)
            assert points != pytest.approx(truth, rel=1e-3), words


def test_a_prediction_is_dashed_and_open_as_the_sentence_says() -> None:
    """Of both pictures that show runs and their predictions in one ink."""
    said = "open marks and dashed lines are predictions"
    assert said in STILLS["speculative.stills.heads"]().sentence
    for still in ("speculative.stills.heads", "speculative.stills.batches"):
        (panel,) = drawn.panels(STILLS[still])
        looks = {
            (bool(PREDICTED.search(words)), line, face == "none")
            for words, _, line, face in labelled(panel)
        }
        assert looks == {(True, "--", True), (False, "-", False)}


def test_every_still_with_the_word_was_read() -> None:
    called = {
        name
        for chapter in {each.split(".")[0] for each in STILLS}
        for name, note in notes(chapter).items()
        for panel in note.get("panels", ())
        if any(
            MEASURED.search(words)
            for words in (*panel["axes"], *panel["words"], *panel["ticks"])
        )
    }
    assert called == {*WHERE, *AXES, *BARS}


def longest_of(lines: Iterable[drawn.Points]) -> list[tuple[float, float]]:
    """The line of an ink with the most points: its plan is a point by itself."""
    return sorted((list(line) for line in lines), key=len)[-1]


def test_lines_of_a_band_have_the_inks_of_their_names() -> None:
    """Each factor's line ends at its plan's clients, just below the promise."""
    panel = panel_of("how_wrong.pictures.band")
    inks = {t.get_text(): seen._name(t.get_color()) for t in panel.texts}
    lines = drawn.lines(panel)
    names = {
        plan: next(each for each in inks if each.startswith(name))
        for plan, name in (
            ("book’s band", "engine not known"), ("vLLM’s factor", "engine known")
        )
    }  # fmt: skip
    assert len({inks[each] for each in (*names.values(), "predicted")}) == 3
    (made,) = lines[inks["predicted"]]
    shown = {
        line["quantity"]: line for line in stored("how_wrong", "Plans for the same")
    }
    for plan, name in names.items():
        clients = int(shown["clients"][plan])
        points = longest_of(lines[inks[name]])
        below = np.interp([x for x, _ in points], *np.transpose(list(made)))
        assert all(y > low for (_, y), low in zip(points, below, strict=True))
        last, longest = points[-1]
        assert last == clients and longest <= 1e3 * decision.TPOT_S
        ms, factor = numbers(shown["TPOT, ms, × factor"][plan])
        assert longest == pytest.approx(ms * factor, rel=2e-3)
        assert numbers(name) == [clients]
    high, engine = (dict(longest_of(lines[inks[name]])) for name in names.values())
    assert all(y > engine[x] for x, y in high.items())
    (promise,) = (t for t in panel.texts if t.get_text().startswith("promise"))
    levels = [
        line for points in lines[seen._name(promise.get_color())] for line in points
    ]
    assert {y for _, y in levels} == {1e3 * decision.TPOT_S}
    assert numbers(promise.get_text()) == [1e3 * decision.TPOT_S]


def test_lines_of_the_end_of_the_cache_have_the_inks_of_their_names() -> None:
    """By the table beside it: what is predicted, and what with an endless cache."""
    panel = panel_of("how_wrong.pictures.end_of_the_cache")
    inks = {
        " ".join(t.get_text().split()): seen._name(t.get_color()) for t in panel.texts
    }
    unit = {"ms": 1e-3, "s": 1.0}
    heads = {"measured": "measured", "predicted": "predicted",
             "predicted, endless cache": "endless"}  # fmt: skip
    assert set(inks) == set(heads)
    for words, head in heads.items():
        ((points),) = drawn.lines(panel)[inks[words]]
        for line in stored("how_wrong", "TTFT of Llama-3.1-70B"):
            want = numbers(line[head])[0] * unit[line[head].split()[-1]]
            (there,) = {y for x, y in points if x == int(line["clients"])}
            assert there == pytest.approx(want, rel=6e-3), words
