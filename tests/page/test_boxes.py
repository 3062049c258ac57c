"""A number that prose gives to a named box is that box's, by what a figure draws.

"GPU 3 gets [6](#num-toy_busiest)": which GPU it is that gets so many stands in a run or
a drawing, and not in the sentence. Two numbers of a pair stand in one order, too.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.moe import toy
from llmserve_lab.moe.page import dispatch
from llmserve_lab.page.live import registry
from tests.page.records import CHAPTERS, ROOT, notebook_of, stored_html
from tests.page.test_written import BY_NAME, paragraphs
from tests.page.written import LINK

SENTENCE = re.compile(r"(?<=[.:?!;])\s+")
BOX = re.compile(r"\b(?:GPU \d|[Ss]erver \d|A\d(?!\d))")
LETTER = re.compile(r"(?<![\w$*\\{])[A-F](?![\w$}])")
WHERE = r"(?: \w+){0,2} (?:on|of) "  # a box may follow its number
Said = tuple[str, str, str]  # number, its box, the sentence


def boxes(path: Path, name: re.Pattern[str]) -> Iterator[Said]:
    """Every linked number whose sentence names a box: right behind it, or before."""
    for text in paragraphs(path):
        for sentence in SENTENCE.split(text):
            for found in LINK.finditer(sentence):
                behind = re.match(rf"{WHERE}({name.pattern})", sentence[found.end() :])
                before = name.findall(LINK.sub("", sentence[: found.start()]))
                box = behind[1] if behind else before[-1] if before else ""
                if box:
                    yield found[2], box[0].upper() + box[1:], sentence


def lane(figure: str, ink: str, length: Callable[[list[float]], float]) -> str:
    """The lane in which the bar of this ink has this length; of two halves the upper.

    Of each lane the first bar that begins within the picture counts.
    """
    made = registry.steps()[figure]()
    (log,) = made.logs.values()
    names = (made.scene.fixed or {})["names"]
    named = {row["text"]: row["y"] for row in reversed(names)}
    first = dict[str, float]()
    for name, middle in named.items():
        bars = [
            row
            for row in log.tables["bars"]
            if row["y"] < middle < row["y2"] and row["ink"] == ink and row["x"] > 0
        ]
        if name.startswith("A") and bars:
            bar = min(bars, key=lambda row: row["x"])
            first[name] = bar["x2"] - bar["x"]
    (found,) = (n for n, long in first.items() if long == length([*first.values()]))
    return found


def busiest(*args: Any) -> str:
    """The GPU on whose two experts most choices fall."""
    made = dispatch.parcels(toy.executed("expert", *args))
    count = Counter(expert // 2 for *_, asked in made for expert in asked)
    (first, most), (_, second), *_ = count.most_common()
    assert most > second
    return f"GPU {first}"


def server(word: str) -> str:
    """The server of which the picture of both says this in brackets."""
    said = " ".join(stored_html(notebook_of(BY_NAME["symptoms"])))
    (found,) = {*re.findall(rf"Server (\d): the answer [^.<]*\({word}", said)}
    return f"Server {found}"


PREEMPTED, IN_ONE = (partial(server, w) for w in ("preempted", "iteration of"))
OWN: dict[str, dict[str, Callable[[], str]]] = {
    "attention_ffn": {"lag": partial(lane, "afd.going_round", "C", max)},
    "mixture_of_experts": {"toy_busiest": busiest, "toy_hot": partial(busiest, True)},
    "symptoms": {
        **dict.fromkeys(("pre_share", "gap_pre", "p99_pre", "tokens_pre"), PREEMPTED),
        **dict.fromkeys(("tokens_whole", "gap_whole", "uncut", "p99_blind"), IN_ONE),
        **dict.fromkeys(("binding_slots", "gap_binding"), IN_ONE),
    },
}
BESIDE = {  # of all boxes, of those that are not named, or of another run
    "attention_ffn": {"lag_others"},
    "mixture_of_experts": {"toy_mean", "toy_balance", "toy_hot_balance"},
    "symptoms": {"crowd_clients", "crowd_slots", "calm_rate", "short_request",
                 "usual_answer"},
}  # fmt: skip


@pytest.mark.parametrize("chapter", OWN)
def test_a_number_is_that_of_the_box_to_which_it_is_given(chapter: str) -> None:
    found = list(boxes(BY_NAME[chapter], BOX))
    assert {number for number, *_ in found} >= set(OWN[chapter])
    for number, box, sentence in found:
        if number in OWN[chapter]:
            assert box == OWN[chapter][number](), sentence


def test_every_number_of_a_named_box_was_read() -> None:
    for path in CHAPTERS:
        known = {*OWN.get(path.stem, ()), *BESIDE.get(path.stem, ())}
        assert {number for number, *_ in boxes(path, BOX)} <= known, path.stem


@pytest.mark.parametrize(
    "chapter", ["continuous_batching", "disaggregation", "symptoms"]
)
def test_a_number_that_is_called_after_a_request_is_given_to_it(chapter: str) -> None:
    """Of A to F: where its sentence names a request, it is the one in its name."""
    count = 0
    for number, box, sentence in boxes(BY_NAME[chapter], LETTER):
        letter, _, rest = number.partition("_")
        if rest and letter in "abcdef":
            count += 1
            assert box == letter.upper(), sentence
    assert count >= 3


INSTEAD = re.compile(
    rf"{LINK.pattern} (?:instead of|rather than|against) {LINK.pattern}"
)


def turned(text: str) -> Iterator[tuple[str, ...]]:
    """Two pairs of a paragraph that compare the same two things, one of them the
    other way round."""
    pairs = [(found[2], found[4]) for found in INSTEAD.finditer(text)]
    for one, other in combinations(pairs, 2):
        apart = [
            [frozenset(a.split("_")) - frozenset(b.split("_")) for a, b in (p, p[::-1])]
            for p in (one, other)
        ]
        if all(apart[0]) and apart[0] == apart[1][::-1]:
            yield *one, *other


@pytest.mark.parametrize(
    "path", [ROOT / "intro.ipynb", *CHAPTERS], ids=lambda path: path.stem
)
def test_pairs_of_the_same_two_things_stand_in_one_order(path: Path) -> None:
    assert [each for text in paragraphs(path) for each in turned(text)] == []


def test_a_pair_in_the_other_order_is_found() -> None:
    says = "B at [6](#num-b_{}) instead of [3](#num-b_{}), C at [9](#num-c_pools) "
    says += "instead of [7](#num-c_shared)."
    assert not [*turned(says.format("pools", "shared"))]
    assert [*turned(says.format("shared", "pools"))]
