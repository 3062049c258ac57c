"""Each part of the storm is what it is called, in every frame of both runs.

What a request holds follows from its prompt and from how long its lane ran before.
"""

import re
from collections.abc import Iterator

from llmserve_lab.page.step.figure import StepLog
from tests.each import alive, step

BLOCK, BLOCKS, PROMPT = 16, 20, 64
ANSWERS = {"A": 80, "B": 90, "C": 70, "D": 85}


def ran(log: StepLog, letter: str, until: float) -> float:
    """Iterations that a lane ran before one: a token is written in each."""
    bars = [row for row in log.tables["runs"] if row["y"] == letter]
    return float(
        sum(min(row["x2"], until) - row["x"] for row in bars if row["x"] < until)
    )


def runs_at(log: StepLog, at: float) -> list[str]:
    return [str(row["y"]) for row in log.tables["runs"] if row["x"] <= at < row["x2"]]


def needs(log: StepLog, letter: str, at: float, more: int = 0) -> int:
    """Blocks of a prompt and of what was written before an iteration."""
    return int(-(-(PROMPT + ran(log, letter, at) + more) // BLOCK))


def test_the_legend_of_the_storm_says_how_long_each_request_ran() -> None:
    figure = step("symptoms.storm_steps")
    for log in figure.logs.values():
        for letter, answer in ANSWERS.items():
            assert (
                figure.legend[letter] == f"{letter}: prompt {PROMPT}, answer {answer}"
            )
            assert ran(log, letter, 1e9) == answer


def test_blocks_of_the_storm_are_those_that_the_lanes_need() -> None:
    """Letter by letter in every frame; what nobody holds is free and blank."""
    figure = step("symptoms.storm_steps")
    (free,) = (ink for ink, what in figure.legend.items() if what == "free block")
    for log in figure.logs.values():
        for place, frame in enumerate(log.frames):
            at = float(frame.at or 0) - 1
            held = alive(log, "blocks", place)
            want = {letter: needs(log, letter, at) for letter in runs_at(log, at)}
            inks = [row["ink"] for row in sorted(held, key=lambda row: row["x"])]
            assert {ink: inks.count(ink) for ink in {*inks} - {free}} == want
            assert len(held) == BLOCKS
            assert inks == sorted(inks), "A's first, and the free ones last"
            assert all(row["text"] == row["ink"].replace(free, "") for row in held)


def events(log: StepLog, at: float) -> Iterator[str]:
    """What the lanes say of an iteration, as the sentence puts it."""
    for row in log.tables["runs"]:
        if row["x2"] == at + 1:
            over = ran(log, row["y"], 1e9) == ran(log, row["y"], at + 1)
            yield (
                f"{row['y']} writes its last token" if over else f"{row['y']}, admitted"
            )
        if row["x"] == at > 0:
            again = row["text"].endswith("again")
            yield f"{row['y']} returns" if again else f"{row['y']} is admitted"


def test_a_sentence_of_the_storm_is_what_happens_in_its_iteration() -> None:
    for log in step("symptoms.storm_steps").logs.values():
        for frame in log.frames:
            at, said = float(frame.at or 0) - 1, frame.sentence
            told = [*events(log, at)]
            assert all(event in said for event in told), (at, told)
            verbs = ("writes its", "returns", "is admitted", "is preempted")
            assert sum(said.count(verb) for verb in verbs) == len(told)
            if "is preempted" in said:
                now = runs_at(log, at)
                more = sum(needs(log, x, at, 1) - needs(log, x, at) for x in now)
                left = BLOCKS - sum(needs(log, x, at) for x in now)
                assert f"need {more} more blocks, and {left or 'none'} " in said
            if "again" in said:
                back = next(x[0] for x in told if "returns" in x)
                old = PROMPT + ran(log, back, at) - 1  # its newest token was none yet
                assert f"{old:.0f} tokens are computed again" in said
        first, last = log.frames[0].sentence, log.frames[-1].sentence
        assert re.findall(r"\b[A-D]\b", first) == runs_at(log, 0)
        ends = max(row["x2"] for row in log.tables["runs"])
        assert f"All four took {ends} iterations" in last


def test_a_tick_stands_where_a_request_is_computed_again() -> None:
    figure = step("symptoms.storm_steps")
    (ink,) = (ink for ink, what in figure.legend.items() if what == "computed again")
    for log in figure.logs.values():
        back = {(r["x"], r["y"]) for r in log.tables["runs"] if "again" in r["text"]}
        ticks = log.tables["again"]
        assert {(row["x"], row["y"]) for row in ticks} == back
        assert {row["ink"] for row in ticks} <= {ink}
