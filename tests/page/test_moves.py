"""A line of a live chart moves with the controls that its name says, and stays else.

Two lines can change their names, or two controls their lines, and the chart as it opens
looks as before. Told apart here is what a control moves and what it does not.
"""

from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from tests.page import drawn, seen
from tests.page.seen import notes

# Of each chart what its lines are called; and of each control that moves some of them
# and not all, which it moves.
OWN: dict[str, tuple[set[str], dict[str, set[str]]]] = {
    "afd.throughput": (
        {"loop counted", "paper"},  # the paper's formula knows no loop
        {"n_batches": {"loop counted"}, "wire": {"loop counted"}},
    ),
    "continuous_batching.chunk_from_target": (
        {"after this prefix", "at the prompt's start"},  # where there is no prefix yet
        {"context": {"after this prefix"}},
    ),
    "disaggregation.goodput": (
        {"large budget, 8,192", "small budget, 512", "two pools"},
        {"hand": {"two pools"}, "extra": {"small budget, 512"}},
    ),
    "kv_memory.capacity": (
        {"Llama-3.1-8B", "Mistral-7B v0.1"},  # as each is chosen at first
        {"model": {"Llama-3.1-8B"}, "other": {"Mistral-7B v0.1"}},
    ),
    "moe.touched": (
        {"experts read", "if all differ"},  # of how many, is then all the same
        {"n_experts": {"experts read"}},
    ),
    "speculative.when_drafts_lose": (
        {"with these drafts", "with one draft"},  # the first one has not fallen yet
        {
            "n_draft": {"with these drafts"},
            "accept_fall": {"with these drafts"},
        },
    ),
    "tensor_parallel.all_reduce": (
        {"NCCL all-reduce", "one-shot", "in-switch"},  # a switch adds what all send
        {"n_ranks": {"NCCL all-reduce", "one-shot"}},
    ),
}
# Each control moves all of their named lines, or none of them.
ALIKE = {
    "deepseek.group_size",
    "disaggregation.promises",
    "end_to_end.again_or_once",
    "flash_attention.decode_splits",
    "how_wrong.residuals",
    "moe.group",
    "roofline.attention_kinds",
    "roofline.batch_and_context",
    "speculative.tokens_of_a_pass",
}


Points = list[tuple[float, float]]


def drawn_at(
    figure: LiveFigure, **changes: Any
) -> tuple[dict[str, str], dict[str, Points]]:
    """The ink of each name in chart or legend, and the points of lines in each ink."""
    symbols, words = list[str](), list[str]()
    inks, points = dict[str, str](), dict[str, Points]()
    for role, kind, x, y, item in drawn._items(figure, **changes):
        if role.startswith("legend-label"):
            words.append(str(item["text"]))
        elif role.startswith("legend-symbol"):
            symbols.append(seen._ink(item))
        elif role == "mark" and kind == "text":
            inks[str(item.get("text"))] = seen._ink(item)
        elif role == "mark" and kind == "line":
            points.setdefault(seen._ink(item), []).append((x, y))
    return dict(zip(words, symbols, strict=True)) | inks, points


def elsewhere(figure: LiveFigure, name: str) -> Any:
    """A setting of a control at an end, and not its default."""
    (control,) = (each for each in figure.controls if each.name == name)
    assert isinstance(control, Slider | Choice)
    ends = control.stops if isinstance(control, Slider) else control.options
    return ends[-1] if ends[-1] != control.default else ends[0]


@pytest.mark.parametrize("name", OWN)
def test_a_control_moves_the_lines_that_are_called_after_it(name: str) -> None:
    figure, (names, owned) = registry.figures()[name](), OWN[name]
    inks, opened = drawn_at(figure)
    assert len({inks[each] for each in names}) == len(names)
    for control, own in owned.items():
        _, now = drawn_at(figure, **{control: elsewhere(figure, control)})
        assert {each for each in names if now[inks[each]] != opened[inks[each]]} == own


def test_every_chart_of_several_lines_was_read() -> None:
    """By the notes of all charts, which say in how many inks there are lines."""
    several = {
        name
        for chapter in {each.split(".")[0] for each in registry.figures()}
        for name, note in notes(chapter).items()
        if name in registry.figures() and len(inks_of(note["opens"]["marks"])) > 1
    }
    assert several == {*OWN, *ALIKE}


def inks_of(marks: dict[str, Any]) -> set[str]:
    """Inks of the lines that are noted down."""
    return {mark.split()[1] for mark in marks if mark.startswith("line ")}
