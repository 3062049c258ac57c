"""What the name of a linked number says agrees with its code and with its sentence.

Of two numbers whose names differ in one word, neither is made of what the other is
called after, nor told as it. And what is the largest is not below the mean.
"""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tests.page.records import CHAPTERS, ROOT
from tests.page.test_boxes import SENTENCE
from tests.page.test_two_numbers import glued
from tests.page.test_written import paragraphs
from tests.page.written import LINK, ends

LEAST = 3  # letters of a word that says something
ALSO = {  # how prose says the words of names
    **{"verify": "check", "attn": "attention", "sat": "saturated", "comm": "wire"},
    **{"read": "reading", "made": "making", "sent": "sending"},
}
every_notebook = pytest.mark.parametrize(
    "path", [ROOT / "intro.ipynb", *CHAPTERS], ids=lambda path: path.stem
)


def words(text: str) -> frozenset[str]:
    """Words of names and of prose, in small letters, without numbers."""
    found = re.split(r"[\W_\d]+", text.lower())
    return frozenset(word for word in found if len(word) >= LEAST)


def siblings(names: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Two names with words in common, and the one word of each that the other lacks."""
    told = {name: words(name) for name in names}
    for one, other in combinations(names, 2):
        first, second = told[one] - told[other], told[other] - told[one]
        if told[one] & told[other] and len(first) == len(second) == 1:
            yield one, other, min(first), min(second)


def mentions(said: frozenset[str], word: str) -> bool:
    """Whether a word is said, maybe longer: ``draft`` in ``drafting_s``."""
    return any(each.startswith((word, ALSO.get(word, word))) for each in said)


def crossed(said: dict[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Pairs of numbers of each of which is said what the other is called after."""
    for one, other, own, strange in siblings(list(said)):
        turned = mentions(said[one], strange) and mentions(said[other], own)
        right = mentions(said[one], own) or mentions(said[other], strange)
        if turned and not right:
            yield one, other


def made(path: Path) -> dict[str, frozenset[str]]:
    """Words of the code of each number that a notebook glues."""
    return {name: words(code) for name, code in glued(path).items()}


def told(sentence: str) -> dict[str, frozenset[str]]:
    """The words that follow each linked number, up to the next number or comma."""
    found = list(LINK.finditer(sentence))
    stops = [*(each.start() for each in found), len(sentence)][1:]
    after = (
        re.split(r"[,;:(]| and ", sentence[each.end() : stop])[0]
        for each, stop in zip(found, stops, strict=True)
    )
    return {each[2]: words(text) for each, text in zip(found, after, strict=True)}


RANK = {
    **dict.fromkeys(("busiest", "largest", "longest", "slowest", "hottest", "most"), 1),
    **dict.fromkeys(("mean", "average", "median", "usual"), 0),
    **dict.fromkeys(("smallest", "shortest", "fastest", "least"), -1),
}
RANKED = "|".join(RANK)
NEAR = r"(?:(?!\(#num-)[^.;:])*?"  # within a sentence, and before the next number
OF = re.compile(
    rf"\b({RANKED})\b{NEAR}{LINK.pattern} (?:times|of)\b{NEAR}\b({RANKED})\b"
)


def quotients(text: str) -> Iterator[tuple[str, str, str]]:
    """A kind, how many times another kind it is, and that kind."""
    for found in OF.finditer(text):
        if found[1] != found[4]:
            yield found[1], found[2], found[4]


def possible(one: str, times: str, other: str) -> bool:
    """Whether a quotient lies on the side of one on which it must."""
    low, high = ends(times)
    return high >= 1 if RANK[one] > RANK[other] else low <= 1


@every_notebook
def test_no_two_numbers_are_made_of_each_other_s_word(path: Path) -> None:
    assert list(crossed(made(path))) == []


@every_notebook
def test_no_number_is_told_by_its_sibling_s_word(path: Path) -> None:
    said = (sentence for text in paragraphs(path) for sentence in SENTENCE.split(text))
    assert [each for sentence in said for each in crossed(told(sentence))] == []


@every_notebook
def test_what_is_largest_is_not_below_the_mean(path: Path) -> None:
    for text in paragraphs(path):
        for each in quotients(text):
            assert possible(*each), each


def test_many_siblings_and_quotients_are_read() -> None:
    names = [list(made(path)) for path in CHAPTERS]
    assert sum(len([*siblings(each)]) for each in names) > 500
    texts = [text for path in CHAPTERS for text in paragraphs(path)]
    assert len([each for text in texts for each in quotients(text)]) >= 4


def test_what_changed_places_is_found() -> None:
    right = {"long_draft": "drafting_s(8)", "long_check": "1e3 * check(8)"}
    wrong = dict(zip(right, reversed(right.values()), strict=True))
    for code, count in ((right, 0), (wrong, 1)):
        assert len([*crossed({k: words(v) for k, v in code.items()})]) == count
    says = "[2 ms](#num-long_{}) for drafting, [3 ms](#num-long_{}) for the check"
    assert not [*crossed(told(says.format("draft", "check")))]
    assert [*crossed(told(says.format("check", "draft")))]
    load = "The busiest GPU gets [{}](#num-x) of what the mean gets"
    for share, right_so in (("0.78", False), ("1.28", True)):
        (found,) = quotients(load.format(share))
        assert possible(*found) is right_so
