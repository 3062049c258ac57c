"""Every counter, lane, cell and sentence of the step figures, counted a second time.

From the requests as they are asked for and from the engine's own report: never from
what the page wrote down of it. A counter or a sentence that nobody names here is found.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any

import pytest

from llmserve_lab.continuous_batching.page import blocks, slots, strips, triangle
from llmserve_lab.continuous_batching.workloads import four, short_of_blocks
from llmserve_lab.formula.text import si
from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from tests.page.seen import alive

Row = dict[str, Any]
TOKENS = 16  # of a block
NAMES = "ABCD"
LATER = 3  # iterations


@cache
def figure(name: str) -> StepFigure:
    return registry.steps()[f"continuous_batching.{name}"]()


def at(rows: Any, place: float) -> list[Row]:
    """Cells that lie over a place of the axis."""
    return [row for row in rows if row["x"] <= place < row["x2"]]


def numbers(text: str) -> list[float]:
    return [
        float(each.replace(",", "")) for each in re.findall(r"\d[\d,.]*\d|\d", text)
    ]


# The cache runs out.
def written(run: Any, letter: str, done: int) -> int:
    """Tokens that a request has got in so many iterations: one from each it ran in."""
    number = NAMES.index(letter)
    return sum(number in {part.id for part in each.running} for each in run[:done])


def needed(run: Any, letter: str, done: int) -> int:
    """Blocks for its prompt and its tokens but the last, which is not cached yet."""
    prompt = short_of_blocks()[NAMES.index(letter)].prompt_len
    return ceil((prompt + written(run, letter, done) - 1) / TOKENS)


def test_a_block_is_drawn_for_each_sixteen_tokens_and_a_queue_in_its_order() -> None:
    """By the prompt's length and the tokens so far; what waits is pale and in order."""
    (log,), run = figure("blocks_run_out").logs.values(), blocks.watched()
    for done, moment in enumerate(run, start=1):
        held = at(log.tables["held"], done - 1)
        assert len({row["y"] for row in held}) == len(held) == moment.kv_blocks
        assert all(row["text"] == row["ink"].replace("empty", "") for row in held)
        runs = {NAMES[part.id] for part in moment.running}
        want = {letter: needed(run, letter, done) for letter in runs}
        found = Counter(row["ink"] for row in held if row["ink"] != "empty")
        assert found == want, done
        queue = at(log.tables["waits"], done - 1)
        order = {row["y"]: row["ink"] for row in queue}
        places = ("1st in queue", "2nd in queue")
        assert [order[y] for y in places if y in order] == [
            NAMES[number] for number in moment.waiting
        ]
        assert all(row["text"].strip() == row["ink"] for row in queue)
        assert all(row["faint"] < 1 for row in queue)


def block_counts(done: int) -> dict[str, float]:
    """Time in iterations so far, blocks and queue as drawn, rows as they are asked."""
    (log,), run = figure("blocks_run_out").logs.values(), blocks.watched()
    held = at(log.tables["held"], done - 1)
    ran = {part.id: part.rows for part in run[done - 1].running}
    new = [n for n in ran if not written(run, NAMES[n], done - 1)]
    back = [n for n in ran if n not in new and ran[n] > 1]
    asked = [short_of_blocks()[n].prompt_len for n in (*new, *back)]
    again = [written(run, NAMES[n], done - 1) for n in back]
    others = len(ran) - len(new) - len(back)
    return {
        "time since the start": sum(1e3 * (m.end_s - m.start_s) for m in run[:done]),
        "free blocks": sum(row["ink"] == "empty" for row in held),
        "requests waiting": len(at(log.tables["waits"], done - 1)),
        "rows in this iteration": sum(asked) + sum(again) + others,
    }


PROMPT = short_of_blocks()[0].prompt_len
Said = Callable[[dict[str, float], set[str], Any, int], list[float]]
BLOCK_STORY: tuple[tuple[str, str, Said], ...] = (
    ("A and B have been", "AB", lambda *_: [PROMPT, ceil(PROMPT / TOKENS), TOKENS]),
    (
        "C has arrived",
        "AB",
        lambda v, *_: [ceil(PROMPT / TOKENS), v["free blocks"]],
    ),
    ("cache is full", "AB", lambda *_: []),
    ("B, admitted last, is preempted", "A", lambda *_: []),
    (
        "stands before it",
        "A",
        lambda v, _, run, at: [
            v["free blocks"],
            ceil(PROMPT / TOKENS),
            ceil((PROMPT + written(run, "B", at)) / TOKENS),
        ],
    ),
    (
        "A is complete. B returns",
        "BC",
        lambda v, *_: [v["rows in this iteration"] - PROMPT],  # beside C's prompt
    ),
    ("B writes its last", "B", lambda *_: []),
)


def test_each_frame_of_the_blocks_says_and_counts_what_is_so_by_then() -> None:
    (log,), run = figure("blocks_run_out").logs.values(), blocks.watched()
    labels = [counter.label for counter in figure("blocks_run_out").counters]
    for frame, (words, held, said) in zip(log.frames, BLOCK_STORY, strict=True):
        done = round(frame.at or 0)
        want = block_counts(done)
        found = dict(zip(labels, map(float, map(str, frame.counters)), strict=True))
        assert found == pytest.approx(want, abs=0.5)
        letters = {row["ink"] for row in at(log.tables["held"], done - 1)} - {"empty"}
        assert words in frame.sentence and letters == set(held)
        assert numbers(frame.sentence) == said(want, letters, run, done), words
    full = [frame for frame in log.frames if "cache is full" in frame.sentence]
    assert [frame.counters[1] for frame in full] == [0]
    assert written(run, "B", len(run)) == short_of_blocks()[1].output_len


# Two slots, two schedulers.
def served(name: str) -> tuple[StepLog, Any, dict[str, dict[str, float]]]:
    """The log of a scheduler, its report, and of each request its own times."""
    report = slots.served(slots.POLICIES[name])
    times = {
        NAMES[int(report.id[i])]: {
            "came": float(report.arrival_s[i]),
            "admitted": float(report.arrival_s[i] + report.queue_s[i]),
            "first": float(report.arrival_s[i] + report.ttft_s[i]),
            "last": float(report.last_token_s[i]),
            "left": float(report.finished_s[i]),
        }
        for i in range(report.num_requests)
    }
    return figure("slots_by_iteration").logs[name], report, times


@pytest.mark.parametrize("name", slots.POLICIES)
def test_a_bar_of_a_slot_is_from_admission_to_the_last_token(name: str) -> None:
    """What is hatched from there until the slot is given back; what waits, before."""
    log, _, times = served(name)
    runs = {r["ink"]: r for r in log.tables["runs"] if r["ink"] != "idle"}
    waits = {r["ink"]: r for r in log.tables["waits"]}
    idle = {(r["y"], r["x"]): r["x2"] for r in log.tables["runs"] if r["ink"] == "idle"}
    assert set(runs) == set(NAMES) and set(waits) == {"C", "D"}
    for letter, known in times.items():
        row = runs[letter]
        assert row["text"] == letter
        assert row["x"] == pytest.approx(known["admitted"], abs=1e-3)
        assert row["x2"] == pytest.approx(known["last"], abs=1e-3)
        end = idle.pop((row["y"], row["x2"]), row["x2"])
        assert end == pytest.approx(known["left"], abs=1e-3)
        if letter in waits:
            row = waits[letter]
            assert (row["y"], row["text"]) == (f"{letter} waits", letter)
            assert row["x"] == pytest.approx(known["came"])
            assert row["x2"] == pytest.approx(known["admitted"], abs=1e-3)
    assert not idle


@pytest.mark.parametrize("name", slots.POLICIES)
def test_each_frame_of_the_slots_counts_what_is_over_by_then(name: str) -> None:
    log, report, times = served(name)
    c, labels = times["C"], [n.label for n in figure("slots_by_iteration").counters]
    for frame in log.frames:
        now_s = float(frame.at or 0)
        over = [s for s in report.log if s.start_s + s.seconds < now_s]
        ttft = si(c["first"] - c["came"], "s") if c["first"] < now_s else "waiting"
        complete = sum(each["last"] < now_s for each in times.values())
        wasted = sum(s.padding_rows for s in over if not s.prefill_rows)
        want = {
            # drawn until a few iterations later, so that what happened is seen
            "wasted slot-steps": pytest.approx(wasted, abs=complete < 4 and LATER),
            "C's time to first token": ttft if c["came"] < now_s else "not here yet",
            "answers complete": complete,
        }
        assert dict(zip(labels, frame.counters, strict=True)) == want
        found = re.search(r"All is done after ([\d,]+) iterations", frame.sentence)
        assert bool(found) is (complete == 4)
        if found:
            assert numbers(found[1]) == [report.iterations]
        for said in re.findall(r"([\d,]+) slot-steps were wasted", frame.sentence):
            assert numbers(said) == [frame.counters[0]]
        assert ("No slot-step was" in frame.sentence) <= (frame.counters[0] == 0)
        for letter in re.findall(r"\b([A-D]) has (?:come|arrived)", frame.sentence):
            assert times[letter]["came"] < now_s
        for letter in re.findall(
            r"(?<!until )\b([A-D]) (?:has its|is com)", frame.sentence
        ):
            assert times[letter]["last"] < now_s
    for request in four():
        said = figure("slots_by_iteration").legend[NAMES[request.id]]
        assert numbers(said) == [request.prompt_len, request.output_len]


# Iterations as strips.
def test_a_sentence_of_a_strip_has_its_rows_its_time_and_what_is_left() -> None:
    shown = figure("mixed_iterations")
    for log in shown.logs.values():
        left = strips.D_PROMPT
        for number, frame in enumerate(log.frames):
            rows = [row for row in log.tables["rows"] if row["since"] == number]
            own = {row["y"]: int(row["text"].replace(",", "")) for row in rows}
            assert all(row["ink"] == row["y"] for row in rows)
            assert all(own[letter] == 1 for letter in set(own) - {"D"})
            decodes = len(set(own) - {"D"})
            left -= own.get("D", 0)
            took = float(frame.counters[0])
            want: list[float] = [decodes, took] if decodes else [own["D"]]
            if decodes and own.get("D", 0) > 1:
                rest = [left] if left > 0 else []
                want = [decodes, own["D"], took, *rest]
            elif "D" in own and decodes:
                want = [took]  # four, in a word
            assert numbers(frame.sentence) == want
            assert ("prompt is complete" in frame.sentence) is (
                left == 0 and own.get("D", 0) > 1 and decodes > 0
            )
            assert ("alone" in frame.sentence) is (not decodes)
    longest = [float(each.frames[-1].counters[2]) for each in shown.logs.values()]
    assert numbers(shown.title) == longest
    assert numbers(shown.legend["D"]) == [strips.D_PROMPT]


# Chunks in the triangle.
@pytest.mark.parametrize("name", triangle.CHUNKS)
def test_each_row_of_the_triangle_sees_every_key_up_to_itself(name: str) -> None:
    """Cached ones are those before the chunk; and the sentence names its rows."""
    log, chunk = figure("chunks_fill_the_triangle").logs[name], triangle.CHUNKS[name]
    ends = [*range(chunk, triangle.PROMPT, chunk), *range(12, triangle.TOKENS + 1)]
    assert len(log.frames) == len(ends)
    for number, (start, end) in enumerate(pairwise([0, *ends])):
        drawn = [row for row in log.tables["pairs"] if alive(row, number)]
        assert {row["y"] for row in drawn} == {str(n + 1) for n in range(end)}
        for row in (row for row in drawn if row["faint"] == 1):
            assert start < int(row["y"]) <= end
            near = {"cache": (0, start), "new": (start, int(row["y"]))}
            assert (row["x"], row["x2"]) == near[row["ink"]]
        strong = Counter(row["ink"] for row in drawn if row["faint"] == 1)
        assert strong["new"] == end - start
        assert strong["cache"] == (end - start if start else 0)
        said, one = log.frames[number].sentence, end - start == 1
        want = [end] if one else [start + 1, end, *([start] if start else [])]
        assert numbers(said) == want
        assert ("a decode" in said) is (start >= triangle.PROMPT)
