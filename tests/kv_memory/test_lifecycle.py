"""What the step figure says of each step is what the allocator did in it."""

from __future__ import annotations

from collections import Counter

from llmserve_lab.kv_memory.lifecycle import BLOCKS, LEFT_FREE, moments
from llmserve_lab.kv_memory.page.blocks import blocks_stepped

# Kinds of events in each step, as its sentence tells them.
TOLD: tuple[dict[str, int], ...] = (
    {"taken": 3},
    {"taken": 1},
    {"shared": 2, "taken": 1},
    {"shared": 4},
    {"taken": 1, "copied": 1, "released": 1},
    {},
    {"freed": 3, "released": 5},
    {"taken": 3},
    {"taken": 6, "evicted": 1},
    {"freed": 6},
    {"shared": 2, "taken": 1},
)


def test_each_sentence_tells_what_happened() -> None:
    found = [dict(Counter(e.kind for e in moment.events)) for moment in moments()]
    assert found == [dict(told) for told in TOLD]


def test_every_kind_of_event_is_shown_once_at_least() -> None:
    kinds = {event.kind for moment in moments() for event in moment.events}
    assert kinds == {"taken", "shared", "copied", "released", "freed", "evicted"}


def test_blocks_are_used_kept_or_blank() -> None:
    for moment in moments():
        used = {block for table in moment.tables.values() for block in table}
        assert len(used) + moment.free == BLOCKS
        assert not used & set(moment.kept)


def test_counters_and_frames_are_those_of_the_run() -> None:
    figure = blocks_stepped()
    (log,) = figure.logs.values()
    shown = [frame.counters for frame in log.frames]
    assert shown == [(m.free, m.copies, m.evictions) for m in moments()]
    assert moments()[-1].copies == moments()[-1].evictions == 1


def test_the_prompt_of_another_tenant_shares_nothing() -> None:
    moment = next(m for m in moments() if "D" in m.tables)
    others = {b for name, table in moment.tables.items() if name != "D" for b in table}
    assert not others & set(moment.tables["D"])


def test_what_is_drawn_is_what_the_blocks_hold() -> None:
    """Letters over a block are its references; a kept block says whose text it has."""
    for moment in moments():
        for block in moment.contents:
            users = [name for name, table in moment.tables.items() if block in table]
            assert moment.users(block) == "".join(users)
            assert bool(users) != (block in moment.authors)
        assert set(moment.authors) == set(moment.kept) <= set(moment.queue)
        used = {block for table in moment.tables.values() for block in table}
        assert used | set(moment.queue) == set(range(BLOCKS))
        assert not used & set(moment.queue)


def test_every_token_is_written_once_or_found() -> None:
    """Tokens that a step computes are those that it neither finds nor copies."""
    sizes = [len(moment.written) for moment in moments()]
    assert sizes == [10, 3, 3, 0, 1, 1, 0, 10, 22, 0, 1]
    last, before = moments()[-1], moments()[-2]
    system = moments()[0].tables["A"][:2]
    assert last.tables["F"][:2] == system
    assert set(system) <= set(before.kept)
    assert set(last.authors.values()) == {"D"}
    assert len(last.authors) == 2


def test_blocks_lie_anywhere_from_the_first_step_on() -> None:
    first = moments()[0]
    assert first.tables["A"] == LEFT_FREE[:3] != tuple(sorted(LEFT_FREE[:3]))
    assert first.queue == LEFT_FREE[3:]
    assert first.said.startswith("Earlier requests left the free blocks in no order")
