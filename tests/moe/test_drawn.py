"""Every box, wire and counter of dispatch and combine follows from the router alone.

What the router chooses says which copies are made and where they go; the figure takes
this from the parcels that the ranks packed.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from llmserve_lab.moe import toy
from llmserve_lab.moe.page import dispatch
from llmserve_lab.page.step.figure import StepFigure
from tests.page.frames import Row, counted, made, rows

GPUS, PER, TOKENS = 4, 2, 2  # experts and tokens of a GPU
ROUTED, SENT, RUNS, BACK, SUMMED = range(1, 6)
FIGURE = "moe.dispatch_and_combine"
Copy = tuple[str, int, tuple[int, ...]]  # a token, the GPU, the experts it is for


def routes(log: str) -> dict[str, list[int]]:
    """Experts of each token by its name, A1 the first of GPU 0."""
    chosen, _ = toy.layer("popular" in log).route(np.concatenate(toy.tokens()))
    names = [f"{letter}{n + 1}" for letter in "ABCD" for n in range(TOKENS)]
    return dict(zip(names, np.sort(chosen).tolist(), strict=True))


def copies(log: str) -> list[Copy]:
    """Every copy that is made: for each expert, or for each GPU with one."""
    found = list[Copy]()
    for token, experts in routes(log).items():
        homes = sorted({e // PER for e in experts})
        if log.endswith("each GPU"):
            mine = [(h, tuple(e for e in experts if e // PER == h)) for h in homes]
        else:
            mine = [(e // PER, (e,)) for e in experts]
        found += [(token, *each) for each in mine]
    return sorted(found)


def home(token: str) -> int:
    return "ABCD".index(token[0])


def band(figure: StepFigure, y: float) -> int:
    """The GPU whose name stands in the band at a height."""
    (bands, names) = ((figure.scene.fixed or {})[t] for t in ("bands", "names"))
    (at,) = (b for b in bands if b["y"] < y < b["y2"])
    (name,) = (
        n["text"] for n in names if at["y"] < n["y"] < at["y2"] and "GPU" in n["text"]
    )
    return int(name[-1])


def under(figure: StepFigure, log: str, at: int) -> dict[str, list[Row]]:
    """Boxes of a frame by the head of their column; the sums stand alone."""
    heads = {r["text"]: r["x"] for r in rows(figure, log, at, "heads")}
    heads |= {
        r["text"]: r["x"] for r in (figure.scene.fixed or {})["names"] if r["y"] < 0
    }
    found: dict[str, list[Row]] = {name: [] for name in (*heads, "sums")}
    for r in rows(figure, log, at, "boxes"):
        name = (
            "received" if "received" in heads and r["x"] > heads["experts"] else "sums"
        )
        for head in ("tokens", "experts"):
            if head in heads and r["x"] < heads[head] < r["x2"]:
                name = head
        found[name].append(r)
    return found


@pytest.mark.parametrize("log", dispatch.LOGS)
@pytest.mark.parametrize("at", range(6))
def test_every_box_is_a_token_an_expert_a_copy_or_a_sum(log: str, at: int) -> None:
    figure = made(FIGURE)
    found = under(figure, log, at)
    tokens = {
        (r["text"], r["ink"], band(figure, r["y"] + 0.4)) for r in found["tokens"]
    }
    assert tokens == {(t, t[0], home(t)) for t in routes(log)}
    assert len(found["tokens"]) == len(tokens)
    asked = Counter(e for experts in routes(log).values() for e in experts)
    experts = sorted(
        (r["text"], r["ink"], band(figure, r["y"] + 0.4))
        for r in found.get("experts", ())
    )
    read = at >= RUNS
    assert experts == [
        (f"E{e}", "weights" if read and asked[e] else "empty", e // PER)
        for e in range(PER * GPUS if at < SUMMED else 0)
    ]
    place = {r["text"]: r["y"] for r in found.get("experts", ())}
    came = sorted(
        (
            r["text"],
            band(figure, r["y"] + 0.4),
            tuple(
                sorted(int(e[1:]) for e, y in place.items() if r["y"] <= y < r["y2"])
            ),
        )
        for r in found.get("received", ())
    )
    want = copies(log) if SENT <= at < SUMMED else []
    one_for_both = [
        (t, g, e if len(e) == 1 else tuple(range(PER * g, PER * (g + 1))))
        for t, g, e in want
    ]
    assert came == one_for_both
    assert all(r["ink"] == r["text"][0] for r in found.get("received", ()))
    sums = {(r["text"], r["ink"], round(r["y"], 2)) for r in found["sums"]}
    lines = {("Σ", "new", round(r["y"], 2)) for r in found["tokens"]}
    assert sums == (lines if at == SUMMED else set())


@pytest.mark.parametrize("log", dispatch.LOGS)
@pytest.mark.parametrize("at", [SENT, BACK])
def test_every_wire_leads_a_copy_to_its_gpu_or_stays(log: str, at: int) -> None:
    """In the ink of its token, grey where nothing leaves the GPU; there and back."""
    figure = made(FIGURE)
    lines = {round(r["y"], 2): r["text"] for r in under(figure, log, 0)["tokens"]}
    found = []
    for r in rows(figure, log, at, "wires"):
        token = lines[round(r["y"] - 0.42, 2)]
        there = band(figure, r["y2"] if r["y2"] % 1 else r["y2"] - 0.5)
        found.append((token, there, r["ink"]))
    assert sorted(found) == sorted(
        (t, g, "other" if g == home(t) else t[0]) for t, g, _ in copies(log)
    )
    for other in {*range(6)} - {SENT, BACK}:
        assert rows(figure, log, other, "wires") == []


@pytest.mark.parametrize("log", dispatch.LOGS)
def test_counters_and_sentences_of_dispatch_say_the_same(log: str) -> None:
    figure, made_ = made(FIGURE), copies(log)
    away = sum(g != home(t) for t, g, _ in made_)
    loads = Counter(e // PER for experts in routes(log).values() for e in experts)
    read = len({e for experts in routes(log).values() for e in experts})
    busiest, most = max(loads.items(), key=lambda each: (each[1], -each[0]))
    values = [tuple(counted(figure, log, at).values()) for at in range(6)]
    assert [c.label for c in figure.counters] == [
        "copies and outputs sent between GPUs",
        "choices at the busiest GPU",
        "experts read",
    ]
    assert values == [
        (0, "not yet", "not yet"),
        (0, most, "not yet"),
        (away, most, "not yet"),
        (away, most, read),
        (2 * away, most, read),
        (2 * away, most, read),
    ]
    said = [frame.sentence for frame in figure.logs[log].frames]
    assert re.findall(r"\d+", said[SENT]) == [
        str(n) for n in (len(made_), len(made_) - away, away)
    ]
    assert ("for each GPU that" in said[SENT]) == log.endswith("each GPU")
    assert ("adds them up first" in said[BACK]) == log.endswith("each GPU")
    assert f"{read} of {PER * GPUS} are read" in said[RUNS]
    told = f"GPU {busiest} has the most to do, {most} of {sum(loads.values())} choices."
    assert said[RUNS].endswith(told)
    begins = ["Each GPU has two tokens of its own and two of the experts", "Route"]
    begins += ["Dispatch", "Experts", "Combine", "Each GPU adds up"]
    assert all(text.startswith(each) for text, each in zip(said, begins, strict=True))


@pytest.mark.parametrize("log", dispatch.LOGS)
def test_what_the_router_says_stands_beside_its_token(log: str) -> None:
    figure, mine = made(FIGURE), routes(log)
    lines = {r["y"]: r["text"] for r in under(figure, log, 0)["tokens"]}
    for at in range(6):
        told = dict[float, str]()
        for r in rows(figure, log, at, "routes"):
            (y,) = (y for y in lines if y < r["y"] < y + 0.84)
            told[y] = r["text"]
        assert len(told) == (len(mine) if at in (ROUTED, SUMMED) else 0)
        for y, text in told.items():
            experts = sorted(map(int, re.findall(r"E(\d)", text)))
            assert experts == mine[lines[y]]
            assert text.startswith("= ") == (at == SUMMED)
