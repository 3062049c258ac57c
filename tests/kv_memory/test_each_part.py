"""The paged blocks, read back from what each frame draws: texts, tables, inks, queue.

The requests are told once more, as the sentences tell them. What a frame draws of them
is put together by its tables, as the kernel would, and held against their texts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure
from tests.page.seen import alive

Row = dict[str, Any]
SIZE, BLOCKS = 4, 12
PROMPT = [7, 1, 8, 2, 8, 1, 8, 2]  # of the system: two blocks
A, B, D = [*PROMPT, 4, 5], [*PROMPT, 9, 0, 4], [*PROMPT, 4, 5]
FORKED = [*A, 3, 3, 6]
E, F = [*range(50, 72)], [*PROMPT, 3]
# Texts after each step; who computed how many tokens in it.
TEXTS: tuple[tuple[dict[str, list[int]], str, int], ...] = (
    ({"A": A}, "A", 10),
    ({"A": FORKED}, "A", 3),
    ({"A": FORKED, "B": B}, "B", 3),
    ({"A": FORKED, "B": B, "C": FORKED}, "C", 0),
    ({"A": FORKED, "B": B, "C": [*FORKED, 5]}, "C", 1),
    ({"A": [*FORKED, 2], "B": B, "C": [*FORKED, 5]}, "A", 1),
    ({"B": B}, "", 0),
    ({"B": B, "D": D}, "D", 10),
    ({"B": B, "D": D, "E": E}, "E", 22),
    ({"E": E}, "", 0),
    ({"E": E, "F": F}, "F", 1),
)
FRAMES = range(len(TEXTS))


@cache
def figure() -> StepFigure:
    return registry.steps()["kv_memory.paged_blocks"]()


def rows(table: str, frame: int) -> list[Row]:
    (log,) = figure().logs.values()
    return [dict(row) for row in log.tables[table] if alive(row, frame)]


def headings() -> dict[int, tuple[float, float]]:
    """Where the number of each block stands."""
    fixed = (figure().scene.fixed or {})["headings"]
    found = [row for row in fixed if str(row["text"]).isdigit()]
    return {int(row["text"]): (row["x"], row["y"]) for row in found}


def lane(words: str) -> float:
    """Below which line of words a row of cells begins."""
    fixed = (figure().scene.fixed or {})["headings"]
    (y,) = (row["y"] for row in fixed if words in str(row["text"]))
    return float(y)


def at(row: Row) -> tuple[int, int]:
    """Block and place of a square, by the number that stands above it to the left."""
    near = {
        block: (row["x"] - x, row["y"] - y)
        for block, (x, y) in headings().items()
        if row["x"] >= x - 0.1 and row["y"] > y
    }
    block = min(near, key=lambda n: sum(near[n]))
    return block, round(near[block][0] / 0.45)


@dataclass(frozen=True)
class Picture:
    """What a frame draws."""

    inks: dict[tuple[int, int], str]
    tokens: dict[tuple[int, int], int]
    tables: dict[str, list[int]]
    entries: dict[tuple[str, int], str]  # their inks
    queue: list[int]
    queued: dict[int, str]
    counts: dict[int, str]
    event: dict[str, list[str]]
    counters: dict[str, float]

    def users(self, block: int) -> str:
        return "".join(name for name, table in self.tables.items() if block in table)


@cache
def picture(frame: int) -> Picture:
    """A letter in front of a hatched square belongs to the square that it lies on."""
    (log,) = figure().logs.values()
    squares, cells, front = (rows(name, frame) for name in ("places", "queue", "front"))
    free, tables = lane("next to be taken first"), lane("block tables")
    shields = [row for row in front if row["y"] < tables]

    def said(cell: Row) -> str:
        """Its text, or that of the shield in its middle."""
        middle = (cell["x"] + cell["x2"]) / 2
        over = [
            row["text"]
            for row in shields
            if row["x"] < middle < row["x2"] and cell["y"] < row["y"] < cell["y2"]
        ]
        assert bool(cell["text"]) != bool(over), (frame, cell)
        return str(cell["text"] or over[0])

    lanes: dict[float, list[Row]] = {}
    for row in sorted((r for r in front if r["y"] > tables), key=lambda r: r["x"]):
        lanes.setdefault(row["y"], []).append(row)
    names = {y: str(lanes[y][0]["text"]) for y in sorted(lanes)}
    assert list(names.values()) == sorted(names.values())
    order = sorted(cells, key=lambda row: row["x"])
    assert all(free < row["y"] < tables for row in order)
    (event,) = (str(row["text"]) for row in rows("events", frame))
    found = (re.fullmatch(r"([a-z ]+) (\d.*)", each) for each in event.split("; "))
    return Picture(
        inks={at(row): row["ink"] for row in squares},
        tokens={at(row): int(said(row)) for row in squares},
        tables={names[y]: [int(row["text"]) for row in lanes[y][1:]] for y in names},
        entries={
            (names[y], place): row["ink"]
            for y in names
            for place, row in enumerate(lanes[y][1:])
        },
        queue=[int(said(row)) for row in order],
        queued={int(said(row)): row["ink"] for row in order},
        counts={at(row)[0]: row["text"] for row in map(_under, rows("counts", frame))},
        event={each[1]: each[2].split(", ") for each in found if each},
        counters={
            counter.label: float(value)
            for counter, value in zip(
                figure().counters, log.frames[frame].counters, strict=True
            )
        },
    )


def _under(row: Row) -> Row:
    """A reference count stands at the right end of its block's heading."""
    return {**row, "x": row["x"] - 0.1, "y": row["y"] + 0.1}


@pytest.mark.parametrize("frame", FRAMES)
def test_the_tables_of_a_frame_lead_to_the_texts_of_its_requests(frame: int) -> None:
    drawn, (texts, _, _) = picture(frame), TEXTS[frame]
    assert set(drawn.tables) == set(texts)
    for name, text in texts.items():
        places = [(drawn.tables[name][i // SIZE], i % SIZE) for i in range(len(text))]
        assert [drawn.tokens[each] for each in places] == text, name
        assert len(drawn.tables[name]) == -(-len(text) // SIZE)


@pytest.mark.parametrize("frame", FRAMES)
def test_the_ink_of_a_square_says_who_points_to_it_and_what_is_new(frame: int) -> None:
    drawn, (texts, who, count) = picture(frame), TEXTS[frame]
    ends = range(len(texts.get(who, ())) - count, len(texts.get(who, ())))
    new = {(drawn.tables[who][i // SIZE], i % SIZE) for i in ends}
    kinds = {0: "idle", 1: "cache"}
    for (block, place), ink in drawn.inks.items():
        old = kinds.get(len(drawn.users(block)), "communication")
        assert ink == ("new" if (block, place) in new else old), (block, place)
    fresh = {block for block, _ in new}
    for (name, place), ink in drawn.entries.items():
        block = drawn.tables[name][place]
        old = kinds.get(len(drawn.users(block)), "communication")
        assert ink == ("new" if block in fresh else old), (name, place)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_block_is_in_a_table_or_in_the_queue_and_counted_there(frame: int) -> None:
    """What was freed with its text keeps it, under the letters of its last users."""
    drawn = picture(frame)
    used = {block for table in drawn.tables.values() for block in table}
    assert used.isdisjoint(drawn.queue) and len(used) + len(drawn.queue) == BLOCKS
    held = {block for block, _ in drawn.tokens}
    for block in drawn.queue:
        assert drawn.queued[block] == ("idle" if block in held else "empty")
        full = [place for at_block, place in drawn.tokens if at_block == block]
        assert not full or sorted(full) == list(range(SIZE))
    for block in held:
        users = drawn.users(block)
        past = (picture(i).users(block) for i in range(frame, -1, -1))
        whose = users or f"({next(filter(None, past))})"
        assert drawn.counts[block] == f"{len(users)}×{whose}", block
    assert set(drawn.counts) == held


def told(frame: int) -> dict[str, list[str]]:
    """What the last line of a frame should say, by this frame and the one before."""
    now, before = picture(frame), picture(frame - 1) if frame else None
    found: dict[str, list[str]] = {}
    old = set(before.queue) if before else set(range(BLOCKS))
    kept = {b for b, ink in before.queued.items() if ink == "idle"} if before else set()
    had = before.tables if before else {}
    _, who, _ = TEXTS[frame]
    for place, block in enumerate(now.tables.get(who, ())):
        if block in had.get(who, ())[place : place + 1]:
            continue
        text = [now.tokens.get((block, i)) for i in range(SIZE)]
        same = before and text == [before.tokens.get((block, i)) for i in range(SIZE)]
        if block not in old:
            found.setdefault("shared", []).append(str(block))
        elif block in kept and same:
            found.setdefault("found again", []).append(str(block))
        else:
            if block in kept:
                found.setdefault("evicted", []).append(str(block))
            found.setdefault("taken", []).append(str(block))
            if before and place < len(had.get(who, ())):
                copied = f"{had[who][place]} to {block}"
                found.setdefault("copied", []).append(copied)
    freed = [str(block) for block in now.queue if block not in old]
    return found | ({"freed": freed} if freed else {})


@pytest.mark.parametrize("frame", FRAMES)
def test_the_last_line_tells_what_has_changed_since_the_frame_before(
    frame: int,
) -> None:
    now, want = picture(frame), told(frame)
    assert {k: sorted(v) for k, v in now.event.items()} == {
        k: sorted(v) for k, v in want.items()
    }
    taken = [int(block) for block in now.event.get("taken", ())]
    if frame:  # the next in the queue, but those that are found in it
        queue = picture(frame - 1).queue
        again = {int(block) for block in now.event.get("found again", ())}
        left = [block for block in queue if block not in again]
        assert taken == left[: len(taken)]
    parts = ("copied", "evicted")
    so_far = {
        part: sum(len(told(i).get(part, ())) for i in range(frame + 1))
        for part in parts
    }
    assert now.counters == {
        "free blocks": BLOCKS - len({b for t in now.tables.values() for b in t}),
        "blocks copied so far": so_far["copied"],
        "evicted so far": so_far["evicted"],
    }


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
Count = Callable[[Picture, Picture], int]
SAID: tuple[tuple[int, str, Count], ...] = (
    (0, r"next (\w+) blocks", lambda now, _: len(now.tables["A"])),
    (0, r"of (\d+) tokens", lambda *_: len(A)),
    (1, r"writes (\w+) tokens", lambda *_: len(FORKED) - len(A)),
    (1, r"(\w+) fill its last", lambda *_: -len(A) % SIZE),
    (2, r"same (\w+) tokens", lambda *_: len(PROMPT)),
    (2, r"Their (\w+) blocks", lambda now, _: len(now.event["shared"])),
    (3, r"all (\w+) blocks of A", lambda now, _: len(now.tables["A"])),
    (
        6,
        r"The (\w+) blocks that B",
        lambda now, old: sum(b in old.tables["A"] for b in now.tables["B"]),
    ),
    (6, r"(\w+) are free", lambda now, old: len(now.queue) - len(old.queue)),
    (6, r"(\w+) of them is full", lambda now, _: [*now.queued.values()].count("idle")),
    (7, r"takes (\w+) blocks", lambda now, _: len(now.event["taken"])),
    (8, r"needs (\w+) blocks", lambda now, _: len(now.tables["E"])),
    (8, r"needs (\w+) blocks, all", lambda _, old: len(old.queue)),
    (10, r"(\w+) free blocks", lambda now, _: len(now.event["found again"])),
)


@pytest.mark.parametrize(("frame", "words", "count"), SAID)
def test_a_number_in_a_sentence_is_counted_in_the_picture(
    frame: int, words: str, count: Count
) -> None:
    (log,) = figure().logs.values()
    (number,) = re.findall(words, log.frames[frame].sentence)
    want = count(picture(frame), picture(max(frame - 1, 0)))
    said = int(number) if number.isdigit() else NUMBERS.index(number.lower())
    assert said == want
