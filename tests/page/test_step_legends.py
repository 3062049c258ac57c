"""What a legend of a step figure says of an ink is true of its rows, frame by frame.

Two texts of a legend, or the inks of two kinds of rows, can change places, and every
row stays where it is. What comes to be is more at the end than at the beginning, what
is "not yet" is less; where nothing is, nothing is written; a request has the ink of its
letter. And of any two texts of a legend one would be wrong at the other's ink.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure
from tests.page.seen import alive

Row = dict[str, Any]
Counts = list[list[int]]  # of each log, how many rows of an ink each frame has


@dataclass(frozen=True)
class Inked:
    """The rows of one ink in a figure."""

    figure: StepFigure
    ink: str

    @property
    def rows(self) -> list[list[Row]]:
        """Of each log all of them, those that do not change as well."""
        fixed = (self.figure.scene.fixed or {}).values()
        return [
            [
                dict(row)
                for table in (*log.tables.values(), *fixed)
                for row in table
                if row.get("ink") == self.ink
            ]
            for log in self.figure.logs.values()
        ]

    @property
    def counts(self) -> Counts:
        return [
            [sum(alive(row, at) for row in rows) for at in range(len(log.frames))]
            for log, rows in zip(self.figure.logs.values(), self.rows, strict=True)
        ]


def grows(of: Inked) -> bool:
    """In some log there are more at the end, and in no log there are fewer."""
    ends = [(each[0], each[-1]) for each in of.counts]
    return all(one <= two for one, two in ends) and any(a < b for a, b in ends)


def only_grows(of: Inked) -> bool:
    """From frame to frame, too."""
    return grows(of) and all(a <= b for each in of.counts for a, b in pairwise(each))


def shrinks(of: Inked) -> bool:
    """There are fewer at the end, or none at either end but between."""
    return all(each[-1] < each[0] or each[-1] == 0 for each in of.counts) and any(
        of.rows
    )


def stays(of: Inked) -> bool:
    return all(len(set(each)) == 1 for each in of.counts) and any(of.rows)


def one_a_frame(of: Inked) -> bool:
    return all(set(each) == {1} for each in of.counts)


def comes(of: Inked) -> bool:
    """None in the first frame, and some later."""
    return all(not each[0] for each in of.counts) and any(map(any, of.counts))


def there(of: Inked) -> bool:
    """Some in the first frame and in the last."""
    return all(each[0] and each[-1] for each in of.counts)


def blank(of: Inked) -> bool:
    """Nothing is written in most of them."""
    texts = [str(row.get("text", "")).strip() for rows in of.rows for row in rows]
    return bool(texts) and 2 * len([*filter(None, texts)]) < len(texts)


def written(of: Inked) -> bool:
    """A text stands in each."""
    texts = [str(row.get("text", "")).strip() for rows in of.rows for row in rows]
    return bool(texts) and all(texts)


def followed(of: Inked) -> bool:
    """What begins where one ends, in its lane, has another ink."""
    begins = {
        (row["y"], row["x"])
        for log in of.figure.logs.values()
        for table in log.tables.values()
        for row in table
        if row.get("ink") != of.ink and "x" in row
    }
    rows = [row for rows in of.rows for row in rows]
    return len([row for row in rows if (row["y"], row["x2"]) in begins]) > len(rows) / 2


Rule = Callable[[Inked], bool]
RULES: dict[str, tuple[Rule, ...]] = {
    r"complete (numbers|sum)|sum of the outputs|, written to memory|^rounded": (grows,),
    r"FLOPs that differ|^forgotten|the check|words that stay|^merge": (only_grows,),
    r"of the new token|made from the cache|code that is stored|values, read$": (
        only_grows,
    ),
    r"^useful|for nothing|stations before|may look at|of the group": (only_grows,),
    r"nothing yet|still to come|not computed yet|not yet rounded": (shrinks,),
    r"^part of a sum": (comes,),
    r"row that looks|^sink|token that comes out": (one_a_frame,),
    r"contents kept|kept from earlier": (comes, blank),
    r"free and blank": (there,),
    r"idle|skipped|^waits|^waiting|wasted|^free block|without work": (blank,),
    r"on the other GPU|its queue|not needed|^not computed$": (blank,),
    r"^not computed$|^weight in|skipped|on the other GPU": (stays,),
    r"^weights$|^weight in|^fact that": (there,),
    r"that starts": (blank, followed),
    r"arrive per second|miss a target|^U,|^experts": (written,),
}
# One ink has one meaning in the whole book: what a text speaks of has this one.
MEANT = {
    "compute": r"made from the cache|on chip \(|not yet complete|residual|maximum, sum|"
    r"over the scale|own number|arrive per second",
    "cache": r"keys? and values (?!that)|keys and values,|in the cache|KV cache|"
    r"read from the cache|^key$|points here|as it is used|two “the”",
    "communication": r"sending|exchanged|shared|^merge|largest of|question is about",
    "new": r"quer(?:y|ies)\b|input rows|words that stay|in this step|first time|"
    r"of the chunk|code that|never saw|machine is late|of a prompt, read",
    "idle": r"^waiting|its queue|no batch|forgotten|stands idle",
    "other": r"^FLOPs that|angle|start of a|stays on|written to|datasheet|the check|"
    r"used as −|sum of a row|miss a target|^token$",
    "empty": r"not needed|in memory|still to come|free block",
    "A": "draft model|first half",
    "B": "second half|^GPTQ and",
}
LETTER = re.compile(r"^(?:useful for )?(?:request |batch |a token of )?([A-F])(?:\b|')")
NUMBER = re.compile(r"\b(?:GPU|batch) (\d)")


def rules(said: str) -> list[Rule]:
    """What must hold for an ink of which so much is said."""
    every = (found for words, found in RULES.items() if re.search(words, said))
    return [rule for found in every for rule in found]


def wrong(figure: StepFigure, ink: str, said: str) -> Iterator[str]:
    """What a text says of an ink and its rows do not bear out."""
    of = Inked(figure, ink)
    yield from (rule.__name__ for rule in rules(said) if not rule(of))
    meant = [each for each, words in MEANT.items() if re.search(words, said)]
    if meant and ink != meant[0]:
        yield f"means {meant[0]}"
    letter, number = LETTER.search(said), NUMBER.search(said)
    if letter and letter[1] != ink:
        yield f"letter {letter[1]}"
    numbered = sorted(
        (int(found[1]), each)
        for each, text in figure.legend.items()
        if (found := NUMBER.search(text))
    )
    if number and len(ink) == 1:
        order = sorted(each for each in figure.legend if len(each) == 1)
        place = int(number[1]) - numbered[0][0]
        if place >= len(order) or order[place] != ink:
            yield f"number {number[1]}"


@cache
def made(name: str) -> StepFigure:
    """A figure, built once."""
    return registry.steps()[name]()


def told(name: str) -> Iterator[tuple[str, str]]:
    """Pairs of texts that could change places unseen."""
    figure = made(name)
    for (ink, said), (other, also) in combinations(figure.legend.items(), 2):
        if not [*wrong(figure, ink, also)] and not [*wrong(figure, other, said)]:
            yield said, also


@pytest.mark.parametrize("name", registry.steps())
def test_what_a_legend_says_of_an_ink_is_true_of_its_rows(name: str) -> None:
    figure = made(name)
    found = {said: [*wrong(figure, ink, said)] for ink, said in figure.legend.items()}
    assert {said: each for said, each in found.items() if each} == {}


@pytest.mark.parametrize("name", registry.steps())
def test_no_two_texts_of_a_legend_can_change_places_unseen(name: str) -> None:
    assert list(told(name)) == []
