"""The round of the step figure, from the laws of both models over the whole text.

Each row is what its name says, each frame holds what has been done by then, each bar
is as high as the chance of the word below it, and each sentence has the numbers of its
own draft. Only the random numbers are those that the run wrote down.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from llmserve_lab.speculative import toy
from llmserve_lab.speculative.page import rounds
from tests.page.seen import alive

Row = dict[str, Any]
DRAFTS = 4
LOGS = ("rejected at the second draft", "all kept, and a bonus")
CHECKED = DRAFTS + 2  # the frame of the first check
INKS = {"draft": "A", "q, draft": "A", "p, target": "new"}


@cache
def figure() -> StepFigure:
    return registry.steps()["speculative.one_round"]()


def names() -> dict[int, str]:
    """What stands before each row."""
    fixed = (figure().scene.fixed or {})["names"]
    return {int(row["y"]): str(row["text"]) for row in fixed}


@dataclass(frozen=True)
class Played:
    """A log, and its round worked out again."""

    log: StepLog
    text: tuple[int, ...]
    drafts: tuple[int, ...]
    random: tuple[float, ...]

    def law(self, model: str, place: int) -> Any:
        """What a model expects after so many drafts, by a pass over all words."""
        return toy.next_law(model, (*self.text, *self.drafts[:place]))

    def both(self, place: int) -> tuple[float, float]:
        """Chance of a draft by the target, and by the draft model."""
        token = self.drafts[place]
        p, q = (float(self.law(m, place)[token]) for m in ("target", "draft"))
        return p, q

    @property
    def kept(self) -> int:
        """Drafts before the first one whose number is not below p/q."""
        for place, number in enumerate(self.random):
            p, q = self.both(place)
            if number >= p / q:
                return place
        return DRAFTS

    @property
    def checks(self) -> int:
        return min(self.kept + 1, DRAFTS)

    def cell(self, name: str, place: int) -> str:
        """What should stand in a row, for a draft."""
        p, q = self.both(place)
        return {
            "draft": toy.WORDS[self.drafts[place]],
            "q, draft": f"{q:.3f}",
            "p, target": f"{p:.3f}",
            "min(1, p/q)": f"{min(1, p / q):.2f}",
            "random": f"{self.random[place]:.2f}",
            "kept?": "yes" if place < self.kept else "no",
        }[name]

    def since(self, name: str, place: int) -> int:
        """The frame that brings it."""
        if name in ("draft", "q, draft"):
            return place + 1
        return DRAFTS + 1 if name == "p, target" else CHECKED + place

    def seen(self, table: str, frame: int) -> list[Row]:
        return [dict(row) for row in self.log.tables[table] if alive(row, frame)]


@cache
def played(name: str) -> Played:
    """The words of the drafts are read off the picture, the rest follows from them."""
    log = figure().logs[name]
    first = {row["x"]: row["text"] for row in log.tables["cells"] if not row["y"]}
    words = tuple(toy.WORDS.index(first[place]) for place in range(DRAFTS))
    run = rounds.first_pass(name)
    text = tuple(toy.tokenize(toy.PROMPT))
    random = [check.drawn for check in run.verdict.checks]
    random += [np.nan] * (DRAFTS - len(random))  # of drafts that are dropped
    return Played(log, text, words, tuple(random))


@pytest.mark.parametrize("name", LOGS)
def test_each_cell_is_what_its_row_is_called_and_comes_when_it_is_known(
    name: str,
) -> None:
    of = played(name)
    assert [*names().values()] == [
        "draft", "q, draft", "p, target", "min(1, p/q)", "random", "kept?",
    ]  # fmt: skip
    last = CHECKED + of.checks
    assert len(of.log.frames) == last + 1
    for frame in range(last + 1):
        cells = {
            (row["x"], row["y"]): (row["text"], row["ink"])
            for row in of.seen("cells", frame)
            if row["text"]
        }
        want: dict[tuple[int, int], tuple[str, str]] = {}
        for line, called in names().items():
            checks = called not in INKS
            for place in range(of.checks if checks else DRAFTS):
                if of.since(called, place) <= frame:
                    said = of.cell(called, place)
                    ink = INKS.get(called, "new" if said == "yes" else "other")
                    want[place, line] = (said, ink)
        if frame == last:  # in place of the rejected draft, or behind all of them
            found = cells.pop((of.kept, len(names())))
            assert found[1] == "new"
            assert new_word(of) == found[0]
        assert cells == want, frame


def new_word(of: Played) -> str:
    """The word that the pass adds, as the last sentence says it."""
    (word,) = re.findall("“(\\w+)”", of.log.frames[-1].sentence)
    return str(word)


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("name", LOGS)
def test_each_sentence_has_the_numbers_of_its_own_draft(name: str) -> None:
    of = played(name)
    said = [frame.sentence for frame in of.log.frames]
    words = [toy.WORDS[token] for token in of.drafts]
    for place in range(DRAFTS):
        q = float(of.cell("q, draft", place))
        assert numbers(said[place + 1]) == [place + 1, q]
        assert f"“{words[place]}”" in said[place + 1]
    assert numbers(said[DRAFTS + 1]) == [DRAFTS + 1]
    assert f"“{toy.WORDS[of.text[-1]]}”" in said[0] and said[0].count("“") == 1
    for place in range(of.checks):
        text, (p, q) = said[CHECKED + place], of.both(place)
        want = [
            place + 1,
            *(float(of.cell(n, place)) for n in ("p, target", "q, draft")),
        ]
        if p < q:
            want += [float(of.cell(n, place)) for n in ("min(1, p/q)", "random")]
            assert ("below it" in text) is (of.random[place] < p / q)
            assert ("above it" in text) is (of.random[place] > p / q)
        else:
            want.append(1)
            assert "at least 1" in text and "whatever" in text
        rejected = place == of.kept
        want += [DRAFTS - place - 1] if rejected and place < DRAFTS - 1 else []
        assert numbers(text) == want
        assert f"“{words[place]}” is {'rejected' if rejected else 'kept'}" in text
    count = of.kept + 1
    chance = []
    if of.kept < DRAFTS:
        above = np.maximum(of.law("target", of.kept) - of.law("draft", of.kept), 0)
        at = above[toy.WORDS.index(new_word(of))] / above.sum()
        chance = [round(float(at), 2)]
        assert at > 0 and "residual" in said[-1]
    assert numbers(said[-1]) == [*chance, count]
    assert ("bonus" in said[-1]) is (of.kept == DRAFTS)


@pytest.mark.parametrize("name", LOGS)
def test_the_line_above_ends_with_what_the_text_is_by_then(name: str) -> None:
    of, last = played(name), CHECKED + played(name).checks
    for frame in range(last + 1):
        (line,) = (row["text"] for row in of.seen("words", frame) if row["y"] < 0)
        text = [toy.WORDS[token] for token in of.text]
        if frame == last:
            text += [toy.WORDS[t] for t in of.drafts[: of.kept]] + [new_word(of)]
        assert line == f"… {' '.join(text[-7:])} …"


@pytest.mark.parametrize("name", LOGS)
def test_a_bar_is_as_high_as_the_chance_of_the_words_below_it(name: str) -> None:
    """Of the law in whose ink it is; words without a bar stand in a group by sign."""
    of, last = played(name), CHECKED + played(name).checks
    for frame in range(CHECKED, last + 1):
        place = frame - CHECKED if frame < last else of.kept
        p = of.law("target", place)
        q = of.law("draft", place) if place < DRAFTS else 0 * p
        words, bars = of.seen("words", frame), of.seen("bars", frame)
        (told,) = (row["text"] for row in words if "likeliest" in row["text"])
        before = toy.WORDS[(*of.text, *of.drafts)[len(of.text) + place - 1]]
        both = "q and p" if place < DRAFTS else "p"
        assert told == f"likeliest words after “{before}”: {both}"
        floor = max(row["y2"] for row in bars)
        below = sorted(
            (row for row in words if row["y"] > floor), key=lambda row: row["y"]
        )
        slots: dict[float, list[str]] = {}
        for row in below:
            slots.setdefault(row["x"], []).append(str(row["text"]))
        single = [toy.WORDS.index(s[0]) for s in slots.values() if s[0] in toy.WORDS]
        others = [t for t in range(len(toy.WORDS)) if t not in single]
        assert min(max(p[t], q[t]) for t in single) >= max(
            max(p[t], q[t]) for t in others
        )
        groups = {
            "p > q": [t for t in others if p[t] > q[t]],
            "p ≤ q": [t for t in others if p[t] <= q[t]],
        }
        scales = set()
        for x, said in slots.items():
            tokens = [toy.WORDS.index(said[0])] if said[0] in toy.WORDS else others
            if len(said) == 2:
                tokens = groups[said[1]]
            if said[0] not in toy.WORDS:
                assert int(said[0].split()[0]) == len(tokens), said
            half = min(abs(x - other) for other in slots if other != x) / 2
            own = {
                r["ink"]: r for r in bars if r["x"] > x - half and r["x2"] < x + half
            }
            for ink, law in (("A", q), ("new", p)):
                high = floor - own[ink]["y"]
                chance = float(sum(law[t] for t in tokens))
                if chance > 0.02:
                    scales.add(round(high / chance, 1))
                assert chance > 0 or high == 0
        assert max(scales) - min(scales) < 0.35, (frame, scales)
        gold = any(row["ink"] == "compute" for row in bars)
        assert gold is (frame == last and place < DRAFTS)
