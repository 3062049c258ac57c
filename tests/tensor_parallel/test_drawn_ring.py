"""Each chunk of the collectives holds the numbers of whom it should, in every frame.

How a ring passes chunks on is carried out once more, on sets of GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from llmserve_lab.page.step.figure import StepFigure
from tests.page.frames import Row, counted, made, rows

N, LETTERS = 4, "abcd"
Held = dict[
    tuple[int, int], frozenset[int]
]  # of GPU and chunk: whose numbers are in it
ALL = frozenset(range(N))
INKS = ("compute", "communication")  # of a part of a sum; of one that just came


def in_ring() -> Iterator[tuple[Held, dict[int, int], int]]:
    """What each GPU holds, which chunk came to it, how many numbers each has sent."""
    held = {(g, c): frozenset({g}) for g in range(N) for c in range(N)}
    yield dict(held), {}, 0
    for step in range(1, 2 * N - 1):
        gathers = step >= N
        went = {g: (g + gathers - (step - 1) % (N - 1)) % N for g in range(N)}
        came = {(g + 1) % N: went[g] for g in range(N)}
        before = dict(held)
        for g in range(N):
            new = before[(g - 1) % N, came[g]]
            held[g, came[g]] = new if gathers else new | {g}
        yield dict(held), came, step


def in_shots(log: str) -> Iterator[tuple[Held, dict[int, int], int]]:
    own = {(g, c): frozenset({g}) for g in range(N) for c in range(N)}
    done = dict.fromkeys(own, ALL)
    yield own, {}, 0
    if log == "one-shot":
        yield own, {}, N * (N - 1)
        yield done, {}, N * (N - 1)
    elif log == "two-shot":
        yield {(g, c): ALL if g == c else own[g, c] for g, c in own}, {}, N - 1
        yield done, {}, 2 * (N - 1)
    else:
        switch = dict.fromkeys(((N, c) for c in range(N)), ALL)
        yield own | switch, {}, N
        yield done | switch, {}, N


def blocks(figure: StepFigure, log: str, at: int) -> dict[int, list[Row]]:
    """Cells of each GPU by the name beside them; those of the switch are 4."""
    words = [r for r in figure.logs[log].tables["words"] if len(r["text"]) > 1]
    found: dict[int, list[Row]] = {}
    for r in sorted(rows(figure, log, at, "cells"), key=lambda r: float(r["x"])):
        x, y = r["x"] + 0.5, r["y"] + 0.5
        near = min(words, key=lambda w: abs(w["x"] - x) + 6 * abs(w["y"] - y))
        gpu = N if near["text"] == "switch" else int(near["text"][-1])
        found.setdefault(gpu, []).append(r)
    return found


def ends(figure: StepFigure, log: str, r: Row) -> tuple[int, int]:
    """The GPUs that an arrow leads from and to: whose cells are nearest."""
    where = blocks(figure, log, 0)

    def off(gpu: int, x: float, y: float) -> float:
        (left, *_, right), top = where[gpu], where[gpu][0]["y"]
        aside = max(left["x"] - x, 0, x - right["x"] - 1)
        return float(aside + max(top - y, 0, y - top - 1))

    return (
        min(where, key=lambda gpu: off(gpu, r["x"], r["y"])),
        min(where, key=lambda gpu: off(gpu, r["x2"], r["y2"])),
    )


def arrows_of(log: str, at: int, came: dict[int, int]) -> set[tuple[int, int, str]]:
    """From which GPU to which, and the chunk that is written on the arrow."""
    if log == "ring":
        return {((g - 1) % N, g, LETTERS[c]) for g, c in came.items()}
    if log == "in the switch":
        return {((g, N) if at == 1 else (N, g)) + ("",) for g in range(N) if at}
    if not at or (log == "one-shot" and at > 1):
        return set()
    one = log == "one-shot"  # what goes up and down is hidden by the copies
    return {
        (g, to, "")
        for g in range(N)
        for to in range(N)
        if to != g and not (one and g + to == N - 1)
    }


@pytest.mark.parametrize("log", made("tensor_parallel.collectives_on_four").logs)
def test_every_chunk_of_a_collective_holds_whose_numbers_it_should(log: str) -> None:
    figure = made("tensor_parallel.collectives_on_four")
    played = list(in_ring() if log == "ring" else in_shots(log))
    assert len(played) == len(figure.logs[log].frames)
    for at, (held, came, sent) in enumerate(played):
        found = {
            (gpu, c): (r["ink"], r["text"])
            for gpu, mine in blocks(figure, log, at).items()
            for c, r in enumerate(mine)
        }
        want = {
            (g, c): (
                "new" if who == ALL else INKS[came.get(g) == c],
                str(sum(other + 1 for other in who) * (c + 1)),
            )
            for (g, c), who in held.items()
        }
        if log == "in the switch" and not at:
            want |= {(N, c): ("empty", "") for c in range(N)}
        assert found == want, at
        assert counted(figure, log, at) == {
            "steps": 1 if log == "one-shot" and at else at,
            "numbers each GPU has sent": sent,
            "complete sums on GPU 0": sum(held[0, c] == ALL for c in range(N)),
        }
        links = rows(figure, log, at, "links")
        drawn = {(*ends(figure, log, r), r["text"]) for r in links}
        assert drawn == arrows_of(log, at, came) and len(drawn) == len(links)
        for r in links:
            if log == "ring" and r["x"] == r["x2"]:  # up and down at the chunk's place
                sender = blocks(figure, log, at)[ends(figure, log, r)[0]]
                assert sender[LETTERS.index(r["text"])]["x"] + 0.5 == r["x"]


RING = made("tensor_parallel.collectives_on_four")


@pytest.mark.parametrize("log", RING.logs)
def test_a_letter_stands_at_its_chunk(log: str) -> None:
    words = [r for r in RING.logs[log].tables["words"] if r["text"] in LETTERS]
    names = [r["text"] for r in RING.logs[log].tables["words"] if r not in words]
    switch = ["switch"] if log == "in the switch" else []
    assert sorted(names) == sorted([*(f"GPU {gpu}" for gpu in range(N)), *switch])
    for gpu, mine in blocks(RING, log, 0).items():
        for c, r in enumerate(mine if gpu < N else ()):
            (said,) = (
                w["text"]
                for w in words
                if w["x"] == r["x"] + 0.5 and 0 < r["y"] - w["y"] < 0.5
            )
            assert said == LETTERS[c]


def test_what_arrives_in_one_shot_are_the_tensors_of_the_three_others() -> None:
    own = {
        g: [r["text"] for r in mine] for g, mine in blocks(RING, "one-shot", 0).items()
    }
    copies = rows(RING, "one-shot", 1, "copies")
    for gpu, mine in blocks(RING, "one-shot", 1).items():
        aside = [r for r in copies if r["x"] == mine[0]["x"]]
        middle = sum(r["y"] for r in aside) / len(aside)  # half of them are upper ones
        upper = mine[0]["y"] < middle
        here = [r for r in aside if (r["y"] < middle) == upper]
        others = [each for g, each in own.items() if g != gpu]
        assert sorted(r["text"].split() for r in here) == sorted(others)
        assert {r["ink"] for r in here} == {"communication"}


def test_a_sentence_of_a_collective_tells_what_its_frame_adds() -> None:
    """Sums grow in a reduce-scatter; finished ones are only copied after it."""
    ring = list(in_ring())
    for at, (held, came, _) in enumerate(ring):
        said = RING.logs["ring"].frames[at].sentence
        sizes = {len(held[g, c]) for g, c in came.items()}
        assert said.startswith("Reduce-scatter") == (at > 0 and sizes == {at + 1})
        assert said.startswith("All-gather") == (at >= N and sizes == {N})
        done = [sum(held[g, c] == ALL for c in range(N)) for g in range(N)]
        assert ("one finished sum" in said) == (done == [1] * N)
        assert ("Now all have all four" in said) == (done == [N] * N)
    (_, _, ringed), (_, _, shot) = ring[-1], list(in_shots("one-shot"))[1]
    told = {
        "one-shot": ("", "three whole copies arrive. One step", "adds up the four"),
        "two-shot": ("", "gets one chunk", "sends its finished sum"),
        "in the switch": ("", "sends its four numbers to the switch", "sends the sums"),
    }
    for log, words in told.items():
        frames = RING.logs[log].frames
        assert all(each in f.sentence for each, f in zip(words, frames, strict=True))
    assert shot == 2 * ringed
    assert (
        "twice as many numbers as on a ring" in RING.logs["one-shot"].frames[1].sentence
    )
    assert [sent for *_, sent in in_shots("two-shot")][-1] == ringed
    assert "as many numbers as on a ring" in RING.logs["two-shot"].frames[2].sentence
