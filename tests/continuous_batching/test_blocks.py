"""The figure of blocks: who may not pass whom, and for how long."""

from llmserve_lab.continuous_batching.occupancy import held_blocks
from llmserve_lab.continuous_batching.page import blocks
from llmserve_lab.continuous_batching.workloads import short_of_blocks


def test_c_may_not_pass_b_though_its_blocks_are_free_but_not_all_the_time() -> None:
    run, free = blocks.watched(), blocks.blocked()
    need = -(-short_of_blocks()[blocks.C].prompt_len // blocks.BLOCK_TOKENS)
    waits = [frame for frame in run if blocks.C in frame.waiting]
    assert need == 3 and all(frame.free_blocks >= need for frame in free)
    assert all(frame.waiting[0] == blocks.B for frame in free)
    rest = [frame for frame in waits if frame not in free]
    assert rest and all(frame.free_blocks < need for frame in rest)


def test_a_note_stands_where_the_run_does_what_it_says() -> None:
    """Of its letter: at that iteration it comes, goes, or has blocks once more."""
    figure, run = blocks.blocks_run_out(), blocks.watched()
    (log,) = figure.logs.values()
    ids = {letter: number for number, letter in enumerate("ABC")}
    count = 0
    for row in log.tables["notes"]:
        _, letter, what = str(row["text"]).split(" ", 2)
        before, now = run[row["x"] - 1], run[row["x"]]
        held = [ids[letter] in held_blocks(each) for each in (before, now)]
        queued = [ids[letter] in each.waiting for each in (before, now)]
        states = {
            "arrives": ([False, False], [False, True]),
            "is preempted": ([True, False], [False, True]),
            "read again": ([False, True], [True, False]),
        }
        assert (held, queued) == states[what], row
        count += 1
    assert count == 3


def test_a_note_comes_with_the_first_frame_that_is_past_its_place() -> None:
    (log,) = blocks.blocks_run_out().logs.values()
    clocks = [float(frame.at or 0) for frame in log.frames]
    for row in log.tables["notes"]:
        since, place = int(row["since"]), float(row["x"])
        assert clocks[since - 1] <= place < clocks[since], row["text"]
