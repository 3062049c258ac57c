"""A colour or a kind of line that prose names is that of the mark of which it tells.

Text and figure may change their colours apart from each other: "grey, the padding" is
read beside what the figure calls grey, by its legend and by the words in that ink.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.palette import MEANINGS
from tests.page import drawn, seen
from tests.page.records import CHAPTERS
from tests.page.test_boxes import SENTENCE
from tests.page.test_written import BY_NAME, paragraphs

COLOURS = {  # and their inks; orange is salmon where it is pale
    **{name: name for name in ("grey", "green", "blue", "purple", "gold")},
    **{"orange": "vermillion", "salmon": "vermillion", "black": "ink"},
}
LINES = ("solid", "dashed", "dotted")
LOOK = re.compile(rf"\b(?:{'|'.join([*COLOURS, *LINES])})\b", re.IGNORECASE)
Words = set[str]


@cache
def items(name: str) -> list[tuple[Any, ...]]:
    """Everything that a live figure draws as it opens."""
    return drawn._items(registry.figures()[name]())


def marks(name: str, kind: str, role: str = "mark") -> list[dict[str, Any]]:
    """What is seen of one kind, with its ink and its place."""
    return [
        {**item, "x": x, "ink": seen._ink(item)}
        for of, is_a, x, _, item in items(name)
        if is_a == kind and of == role and item.get("opacity", 1)
    ]


def in_ink(name: str) -> Callable[[str], Words]:
    """What a live figure calls a colour, by the words in it."""

    def called(look: str) -> Words:
        return {m["text"] for m in marks(name, "text") if m["ink"] == COLOURS[look]}

    return called


def as_line(name: str) -> Callable[[str], Words]:
    """What a live figure calls a line that is whole, or is not: in its own ink."""

    def called(look: str) -> Words:
        lines = [m for m in marks(name, "line") if m.get("strokeDash")]
        solid = {m["ink"] for m in lines if 0 in m["strokeDash"]}
        inks = solid if look == "solid" else {m["ink"] for m in lines} - solid
        texts = marks(name, "text")
        rules = {m["x"] for m in marks(name, "rule")}
        return {m["text"] for m in texts if m["ink"] in inks and m["x"] not in rules}

    return called


def as_rule(name: str) -> Callable[[str], Words]:
    """What stands at an upright line that is not whole."""

    def called(look: str) -> Words:
        rules = marks(name, "rule")
        places = {m["x"] for m in rules if 0 not in m.get("strokeDash", (0,))}
        return {m["text"] for m in marks(name, "text") if m["x"] in places}

    return called


def behind(name: str) -> Callable[[str], Words]:
    """What is written upon a band of a colour."""

    def called(look: str) -> Words:
        bands = [
            (m["x"], m["x"] + m["width"])
            for m in marks(name, "rect")
            if m["ink"] == COLOURS[look]
        ]
        texts = marks(name, "text")
        return {m["text"] for m in texts if any(a <= m["x"] <= b for a, b in bands)}

    return called


def stepped(name: str) -> Callable[[str], Words]:
    """What the legend of a step figure calls a colour."""

    def called(look: str) -> Words:
        legend = registry.steps()[name]().legend
        return {w for ink, w in legend.items() if MEANINGS[ink].name == COLOURS[look]}

    return called


Said = tuple[str, Callable[[str], Words], dict[str, str]]
RATIO = "afd.throughput"
# Where a look is named, how the figure is asked, and what it calls the thing there.
LOOKS: dict[str, tuple[Said, ...]] = {
    "attention_ffn": (
        (
            r"The (?P<look>dashed|solid) line (?:below )?\(\*(?P<what>[\w ]+)\*\)",
            as_line(RATIO),
            {},
        ),
        (
            r"the (?P<look>dashed) line's (?P<what>max)",
            as_line(RATIO),
            {"max": "paper"},
        ),
        (
            r"\((?P<look>blue)\) the (?P<what>loop) sets the pace",
            behind(RATIO),
            {"loop": "loop-bound"},
        ),
        (
            r"Beyond \((?P<look>grey)\), the \w+ machines queue for the (?P<what>FFN)",
            behind(RATIO),
            {"FFN": "FFN-bound"},
        ),
        (
            r"while the (?P<look>solid) line has its (?P<what>top)",
            as_line(RATIO),
            {"top": "loop counted"},
        ),
        (
            r"The (?P<look>dashed) line knows no (?P<what>loop)",
            as_line(RATIO),
            {"loop": "paper"},
        ),
        (
            r"the (?P<look>blue) (?P<what>band) is narrow",
            behind(RATIO),
            {"band": "loop-bound"},
        ),
    ),
    "capacity": (
        (
            r"[Ll]eft of the (?P<look>dashed) upright line "
            r"keep the (?P<what>TPOT target)",
            as_rule("capacity.cost_latency"),
            {},
        ),
    ),
    "end_to_end": (
        (r"a (?P<what>key) \((?P<look>\w+)\)", stepped("end_to_end.turn"), {}),
        (r"a (?P<what>query) \((?P<look>\w+)\)", stepped("end_to_end.turn"), {}),
    ),
    "kv_memory": (
        (
            r"The (?P<look>dashed) line is the (?P<what>second) model",
            as_line("kv_memory.capacity"),
            {"second": "Mistral-7B v0.1"},
        ),
    ),
    "mixture_of_experts": (
        (
            r"a (?P<look>grey) one (?P<what>stays) on its own",
            stepped("moe.dispatch_and_combine"),
            {"stays": "stays on its GPU"},
        ),
    ),
    "speculative_decoding": (
        (
            r"The (?P<look>solid) line is (?P<what>your chain)",
            as_line("speculative.when_drafts_lose"),
            {"your chain": "with these drafts"},
        ),
        (
            r"the (?P<look>dashed) one (?P<what>a single draft)",
            as_line("speculative.when_drafts_lose"),
            {"a single draft": "with one draft"},
        ),
    ),
    "symptoms": (
        (
            r"one iteration each \(the (?P<look>orange) (?P<what>strokes)\)",
            stepped("symptoms.storm"),
            {"strokes": "computed again"},
        ),
    ),
    "varlen_batching": (
        (
            r"(?P<look>\w+), the (?P<what>padding), grows",
            in_ink("varlen.attention_square"),
            {},
        ),
        (
            r"(?P<look>\w+), the (?P<what>pairs of two) different prompts, grows",
            in_ink("varlen.attention_square"),
            {"pairs of two": "masked: pairs of two requests"},
        ),
    ),
}
# Looks of one kind of mark only, or of lines that a test of the chapter tells apart.
OTHERS = {
    "capacity": 1,
    "continuous_batching": 2,
    "deepseek_twin": 4,  # tests/deepseek/test_scattered.py
    "flash_attention": 2,
    "how_wrong": 1,
    "roofline": 1,
}


def said(chapter: str) -> Iterator[tuple[str, str, Callable[[str], Words], str]]:
    """Every look that is read: as it stands, the pattern's own words for it."""
    text = " ".join(paragraphs(BY_NAME[chapter]))
    for pattern, asked, names in LOOKS.get(chapter, ()):
        found = list(re.finditer(pattern, text))
        assert found, pattern
        for each in found:
            what = each["what"]
            yield each["look"].lower(), what, asked, names.get(what, what)


@pytest.mark.parametrize("chapter", LOOKS)
def test_a_look_in_the_text_is_that_of_what_it_tells_of(chapter: str) -> None:
    for look, what, asked, name in said(chapter):
        called = asked(look)
        assert any(name == words or name in words.split(", ") for words in called), (
            look, what, called,
        )  # fmt: skip


def test_every_look_in_a_text_was_read() -> None:
    left = {}
    for path in CHAPTERS:
        texts = [s for text in paragraphs(path) for s in SENTENCE.split(text)]
        count = sum(len(LOOK.findall(text)) for text in texts)
        left[path.stem] = count - len(list(said(path.stem)))
    assert {name: count for name, count in left.items() if count} == OTHERS


def test_colours_that_change_places_are_found() -> None:
    called = in_ink("varlen.attention_square")
    assert "padding" in called("grey") and "padding" not in called("salmon")
    assert "paper" in as_line(RATIO)("dashed") - as_line(RATIO)("solid")
    assert "loop-bound" in behind(RATIO)("blue") - behind(RATIO)("grey")
