"""Every picture shows what a second reader has noted down about it.

Words in their places and inks, the titles of axes, how many marks an ink has and where
they are, legends and counters: a chart that draws another quantity, swaps two names or
writes another unit differs from its note, whatever the stored outputs say.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from tests.page.seen import Note, makers, notes
from tests.page.stills import LEFT_OUT, UNKNOWN

MAKERS = makers()
NEAR = 2  # percent of a panel by which a mark may have moved


def apart(now: Any, noted: Any, at: str = "") -> Iterator[str]:
    """Where two notes differ: places of marks a little, nothing else at all."""
    if isinstance(now, dict) and isinstance(noted, dict) and now.keys() == noted.keys():
        for name in now:
            yield from apart(now[name], noted[name], f"{at}/{name}")
    elif "/marks/" in at:
        moved = [abs(a - b) for a, b in zip(now, noted, strict=True)]
        if moved[0] or max(moved[1:]) > NEAR:
            yield f"{at}: {noted} is now {now}"
    elif isinstance(now, list) and isinstance(noted, list) and len(now) == len(noted):
        for place, (one, other) in enumerate(zip(now, noted, strict=True)):
            yield from apart(one, other, f"{at}/{place}")
    elif now != noted:
        yield f"{at}: {noted!r} is now {now!r}"


def noted(name: str) -> Note:
    """The note of a picture; every picture has one."""
    found = notes(name.split(".")[0])
    assert name in found, f"look at it, then: python -m tests.page.seen {name}"
    return found[name]


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_picture_is_seen_as_it_was_read(name: str) -> None:
    assert list(apart(MAKERS[name](), noted(name))) == []


def test_every_still_is_looked_at_or_left_out_by_name() -> None:
    assert UNKNOWN == []
    assert set(registry.stills()) >= LEFT_OUT


def test_no_note_is_of_a_picture_that_is_gone() -> None:
    chapters = {name.split(".")[0] for name in MAKERS}
    held = {name for chapter in chapters for name in notes(chapter)}
    assert held == set(MAKERS)


@pytest.mark.parametrize(
    ("now", "before"),
    [
        ({"words": ["blue: a", "green: b"]}, {"words": ["blue: b", "green: a"]}),
        ({"marks": {"line blue": [1, 50, 20]}}, {"marks": {"line blue": [1, 50, 24]}}),
        ({"marks": {"line blue": [2, 50, 20]}}, {"marks": {"line blue": [1, 50, 20]}}),
        ({"marks": {"line blue": [1, 5, 5]}}, {"marks": {"line green": [1, 5, 5]}}),
        ({"axes": ["", "s", ""]}, {"axes": ["", "ms", ""]}),
    ],
)
def test_what_differs_is_found(now: Note, before: Note) -> None:
    assert list(apart(now, before))
    assert not list(apart(now, now))


def test_a_mark_may_move_a_little() -> None:
    one, other = ({"marks": {"line blue": [1, 50, y]}} for y in (20, 22))
    assert list(apart(one, other)) == []
