"""A counter below a step figure counts what is drawn up to its frame, in every frame.

What each one counts is read off its label once more, and counted in the rows that the
figure draws; how its chapter counts it, in a log or while it plays, is not looked at.
And what the picture calls the number of a log, this log counts at its end.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from tests.page.seen import alive, notes
from tests.page.test_step_legends import made

Row = dict[str, Any]
Count = Callable[[StepLog, int], float]
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def drawn(log: StepLog, frame: int, *tables: str) -> list[Row]:
    """Rows of some tables that are seen in a frame."""
    rows = (row for table in tables for row in log.tables[table])
    return [dict(row) for row in rows if alive(row, frame)]


def now(log: StepLog, frame: int) -> float:
    """Where on its axis of time a frame stands."""
    at = log.frames[frame].at
    assert at is not None
    return at


def over(slot: str = "") -> Count:
    """Passes that are over, of one stage or of all."""
    return lambda log, at: sum(
        row["end"] <= now(log, at) and row["ink"] != "idle"
        for row in drawn(log, at, "cells")
        if slot in row["slot"]
    )


def idle(log: StepLog, at: int) -> float:
    """Places of a grid in which nothing was done so far."""
    rows = drawn(log, at, "cells")
    return len([r for r in rows if r["ink"] == "idle" and r["end"] <= now(log, at)])


def during(table: str) -> Count:
    """Lanes that are in such a stretch in the iteration of the frame."""
    return lambda log, at: sum(
        row["x"] < now(log, at) <= row["x2"] for row in drawn(log, at, table)
    )


def thrown_out(log: StepLog, at: int) -> float:
    """Lanes that stopped before this iteration, and go on later: they wait again."""
    ends = {(row["y"], row["x2"]) for row in drawn(log, at, "runs")}
    begun = [r for r in drawn(log, at, "waits") if r["x"] < now(log, at)]
    return len([row for row in begun if (row["y"], row["x"]) in ends])


def again(log: StepLog, at: int) -> float:
    """Tokens that are written beside the runs that have begun."""
    said = (row for row in drawn(log, at, "runs") if row["x"] < now(log, at))
    return sum(
        float(n) for row in said for n in re.findall(r"(\d+) again", row["text"])
    )


def words(log: StepLog, at: int) -> float:
    """Drafts that were kept, and the word in the last row."""
    cells = drawn(log, at, "cells")
    return len([row for row in cells if row["text"] == "yes" or row["y"] == 6])


def verified(log: StepLog, at: int) -> float:
    """One pass of the target, once its chances are there."""
    return float(any(row["y"] == 2 and row["text"] for row in drawn(log, at, "cells")))


def lane(log: StepLog, at: int, letter: str) -> list[Row]:
    """A lane's rows so far, in their order."""
    rows = [row for row in drawn(log, at, "rows") if row["y"] == letter]
    return sorted(rows, key=lambda row: row["x"])


def longest_gap(log: StepLog, at: int) -> float:
    """The longest time between two tokens of A, which come at the ends of its rows."""
    ends = [0.0, *(float(row["x2"]) for row in lane(log, at, "A"))]
    return max(after - before for before, after in pairwise(ends))


def read_for(log: StepLog, at: int) -> float:
    """Time of the rows in which D has more than one."""
    return length([row for row in lane(log, at, "D") if row["text"] != "1"])


def last(log: StepLog, at: int) -> list[Row]:
    """Rows of the iteration that a frame adds."""
    return [row for row in drawn(log, at, "rows") if row["since"] == at]


def strong(log: StepLog, at: int) -> list[Row]:
    """Pairs of this iteration; those of an earlier one are pale."""
    return [row for row in drawn(log, at, "pairs") if row["faint"] == 1]


def length(rows: list[Row]) -> float:
    """How long all bars are together."""
    return float(sum(row["x2"] - row["x"] for row in rows))


def cached(log: StepLog, at: int) -> float:
    """Keys before the chunk, one time for each iteration so far."""
    each = (
        max((r["x2"] for r in strong(log, frame) if r["ink"] == "cache"), default=0)
        for frame in range(at + 1)
    )
    return list(accumulate(each))[-1]


PIPE: dict[str, Count] = {
    "places used": over(),
    "places idle so far": idle,
    "batches that have left stage 4": over("stage 4"),
}
STORM: dict[str, Count] = {
    "running": during("runs"),
    "waiting": during("waits"),
    "preemptions so far": thrown_out,
    "tokens computed again": again,
}
COUNTS: dict[str, dict[str, Count]] = {
    "continuous_batching.mixed_iterations": {
        "time of this iteration": lambda log, at: length(last(log, at)[:1]),
        "rows": lambda log, at: sum(
            float(row["text"].replace(",", "")) for row in last(log, at)
        ),
        "A's longest gap so far": longest_gap,
        "D's prompt read for": read_for,
    },
    "continuous_batching.chunks_fill_the_triangle": {
        "rows in this iteration": lambda log, at: len(
            {r["y"] for r in strong(log, at)}
        ),
        "pairs so far": lambda log, at: length(drawn(log, at, "pairs")),
        "cached keys read so far": cached,
    },
    "parallelism.pipeline_steps": PIPE,
    "speculative.round_steps": {
        "words of this pass": words,
        "passes of the target": verified,
    },
    "symptoms.storm_steps": STORM,
}
ROUND = 0.15  # two ends of a bar and a time, each to a tenth


def astray(figure: StepFigure, counts: dict[str, Count]) -> Iterator[tuple[Any, ...]]:
    """Frames in which a counter does not say what is drawn: log, frame, label."""
    for name, log in figure.logs.items():
        for at, frame in enumerate(log.frames):
            for counter, value in zip(figure.counters, frame.counters, strict=True):
                (text,) = NUMBER.findall(str(value))
                want = counts[counter.label](log, at)
                if float(text.replace(",", "")) != pytest.approx(want, abs=ROUND):
                    yield name, at, counter.label, value, want


@pytest.mark.parametrize("name", COUNTS)
def test_a_counter_counts_what_is_drawn_up_to_its_frame(name: str) -> None:
    assert list(astray(registry.steps()[name](), COUNTS[name])) == []


def test_a_counter_that_is_one_frame_late_is_found() -> None:
    figure = registry.steps()["parallelism.pipeline_steps"]()
    name, log = next(iter(figure.logs.items()))
    counters = [frame.counters for frame in log.frames]
    late = [
        replace(frame, counters=before)
        for frame, before in zip(log.frames, [counters[0], *counters], strict=False)
    ]
    logs = {**figure.logs, name: replace(log, frames=tuple(late))}
    wrong = replace(figure, logs=logs)
    assert {label for _, _, label, *_ in astray(wrong, PIPE)} == set(PIPE)


def told(figure: StepFigure, log: StepLog) -> Iterator[tuple[str, float, float]]:
    """Numbers beside names of logs: name, number, length of the bar before."""
    rows = drawn(log, len(log.frames) - 1, *log.tables)
    for row in rows:
        name, _, said = str(row.get("text", "")).partition(": ")
        if name in figure.logs and NUMBER.fullmatch(said):
            (bar,) = (
                bar["x2"] - bar["x"]
                for bar in rows
                if bar.get("x2", row["x"]) < row["x"]
                and bar["y"] < row["y"] < bar["y2"]
            )
            yield name, float(said.replace(",", "")), bar


def noted() -> set[str]:
    """Figures whose pictures name one of their logs with a number, by their notes."""
    return {
        name
        for chapter in {each.split(".")[0] for each in registry.steps()}
        for name, note in notes(chapter).items()
        for text in (each["texts"] for each in note.get("frames", {}).values())
        if any(
            re.search(rf"{at.rpartition(', ')[0]}: \d", text) for at in note["frames"]
        )
    }


def test_a_number_beside_the_name_of_a_log_is_counted_by_that_log() -> None:
    """And bars before such numbers are as long as they are large."""
    assert noted() == {"deepseek.two_forms"}
    for figure in (registry.steps()[name]() for name in noted()):
        for log in figure.logs.values():
            pairs = [*told(figure, log)]
            assert {name for name, *_ in pairs} == set(figure.logs)
            for name, number, bar in pairs:
                assert number in figure.logs[name].frames[-1].counters, name
                assert bar / number == pytest.approx(pairs[0][2] / pairs[0][1]), name


Values = dict[str, float]
# What counters of a figure are to each other in each frame, by their labels alone.
RELATED: dict[str, Callable[[Values, int], bool]] = {
    "continuous_batching.blocks_run_out": lambda v, at: (
        v["time since the start"] >= 50 > v["free blocks"] + v["requests waiting"]
    ),
    "disaggregation.pools_by_layer": lambda v, at: (
        v["layers of A computed"] >= v["layers of A arrived"]
    ),
    "flash_attention.split_decoding": lambda v, at: (
        v["keys read by three splits"] >= v["keys read by one block"] > v["ticks"]
        and v["ticks"] == at + 1
    ),
    "kv_memory.blocks_stepped": lambda v, at: (
        at > 0 or v["free blocks"] > v["blocks copied so far"] + v["evicted so far"]
    ),
    "parallelism.ring": lambda v, at: v["hops"] == at,
    "roofline.tile_reuse": lambda v, at: (
        v["tiles used"] == at + 1
        and v["tensor cores busy"] > v["ticks per row, so far"]
    ),
    "tensor_parallel.collectives_on_four": lambda v, at: (
        v["steps"] <= at
        and v["steps"] <= v["numbers each GPU has sent"]
        and (v["steps"] > 0) == (at > 0)
    ),
    "tensor_parallel.cut_by_columns_or_rows": lambda v, at: (
        v["weights on each GPU"] == 8
        and v["numbers each GPU has sent"] >= 2 * v["exchanges"]
    ),
    "tensor_parallel.two_matrices_chained": lambda v, at: (
        v["weights on each GPU"] == 8 and v["exchanges"] <= at
    ),
}
SO_FAR = re.compile(
    r"so far|since|(?<!tokens )\bsent\b|have left|computed|rounded|arrived|complete|"
    r"hops|steps|wasted|exchanges|ticks|tiles|numbers (?:read|written)|read by|"
    r"read for|A's answer"
)


def values(figure: StepFigure, log: StepLog) -> list[Values]:
    """What stands at each label in each frame, where it is a number."""
    return [
        {
            counter.label: float(found[0].replace(",", ""))
            for counter, value in zip(figure.counters, frame.counters, strict=True)
            if (found := NUMBER.findall(str(value)))
        }
        for frame in log.frames
    ]


@pytest.mark.parametrize("name", registry.steps())
def test_what_is_counted_so_far_never_falls(name: str) -> None:
    """And counters that are not as many as another are not called after it."""
    figure = made(name)
    for log in figure.logs.values():
        frames = values(figure, log)
        for before, after in pairwise(frames):
            for label in filter(SO_FAR.search, before.keys() & after.keys()):
                if "waited" not in label:
                    assert before[label] <= after[label], label
        if name in RELATED:
            for at, found in enumerate(frames):
                assert RELATED[name](found, at), (at, found)
