"""Blocks on a ring, passes in a pipeline, ranks in two servers: played once more."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.parallelism.model import PROMPT, SMALL
from llmserve_lab.parallelism.online import KEYS, QUERIES, VALUES
from llmserve_lab.parallelism.page import layer_cuts, two_servers
from llmserve_lab.parallelism.rows import (
    data_parallel_attention,
    sequence_parallel,
    tensor_parallel,
)
from llmserve_lab.transformer import Transformer
from tests.page import drawn
from tests.page.frames import Row, counted, made, rows

N, LETTERS = 4, "ABCDEF"
# Zig-zag: an early and a late token to each GPU, counted from one.
DEALT = [(gpu + 1, 2 * N - gpu) for gpu in range(N)]


def nearest(figure: StepFigure, x: float, y: float) -> int:
    """The GPU whose name is nearest to a place, over its cells and words."""
    names = [r for r in figure.logs["pass-KV"].tables["words"] if "GPU" in r["text"]]
    near = min(names, key=lambda r: abs(r["x"] - x) + abs(r["y"] + 1.4 - y))
    return int(near["text"].split(":")[0][-1])


def listed(values: list[float | None]) -> str:
    said = ["–" if each is None else f"{each:.1f}" for each in values]
    return ", ".join(said).replace("-", "−")


def known(gpu: int, hops: int) -> dict[str, str]:
    """What a GPU's late token has seen after so many hops, by the first word."""
    late = DEALT[gpu][1]
    came = [DEALT[(gpu - hop) % N] for hop in range(hops + 1)]
    query = QUERIES[late - 1]
    told = [query * KEYS[k - 1] if k <= late else None for k in came[-1]]
    weighted = [VALUES[k - 1] if k <= late else None for k in came[-1]]
    seen_ = [k - 1 for block in came for k in block if k <= late]
    scores = np.array([query * KEYS[k] for k in seen_])
    weights = np.exp(scores - scores.max())
    mixed = weights @ np.array([VALUES[k] for k in seen_]) / weights.sum()
    return {
        "GPU": f"GPU {gpu}: token {late}",
        "scores": f"scores {listed(told)}",
        "values": f"values {listed(weighted)}",
        "max": f"max {scores.max():.1f}, sum {weights.sum():.2f}",
        "output": f"output {mixed:.2f}",
    }


@pytest.mark.parametrize("hops", range(N))
def test_every_block_and_sum_of_the_ring_after_each_hop(hops: int) -> None:
    figure, log = made("parallelism.ring"), "pass-KV"
    assert len(figure.logs[log].frames) == N
    at: dict[int, list[Row]] = {gpu: [] for gpu in range(N)}
    for r in rows(figure, log, hops, "cells"):
        at[nearest(figure, r["x"] + 1, r["y"] + 0.5)].append(r)
    said: dict[int, dict[str, str]] = {gpu: {} for gpu in range(N)}
    for r in rows(figure, log, hops, "words"):
        word = r["text"].split()[0]
        if word != "KV":
            said[nearest(figure, r["x"], r["y"])][word] = r["text"]
    for gpu in range(N):
        block = (gpu - hops) % N
        own, came = (f"{a}, {b}" for a, b in (DEALT[gpu], DEALT[block]))
        assert {(r["ink"], r["text"]) for r in at[gpu]} == {
            ("new", f"Q {own}"),
            (LETTERS[block], f"KV {came}"),
        }
        assert said[gpu] == known(gpu, hops)
    pairs = [
        sum(
            k <= q for q in DEALT[0] for hop in range(hops + 1) for k in DEALT[-hop % N]
        )
    ]
    numbers = 2 * len(DEALT[0]) * hops  # a key and a value of each token
    assert [*counted(figure, log, hops).values()] == [hops, numbers, *pairs]


@pytest.mark.parametrize("hops", range(N))
def test_an_arrow_of_the_ring_carries_the_block_that_it_brings(hops: int) -> None:
    """Its ink and the words beside it are of the block that lies where it ends."""
    figure, log = made("parallelism.ring"), "pass-KV"
    links = rows(figure, log, hops, "links")
    words = [r for r in rows(figure, log, hops, "words") if r["text"].startswith("KV")]
    assert len(words) == len(links) == (N if hops else 0)
    for r in links:
        start, end = (nearest(figure, r[f"x{i}"], r[f"y{i}"]) for i in ("", "2"))
        block = (end - hops) % N
        assert end == (start + 1) % N and r["ink"] == LETTERS[block]
        x, y = (r["x"] + r["x2"]) / 2, (r["y"] + r["y2"]) / 2
        near = min(words, key=lambda w: abs(w["x"] - x) + abs(w["y"] - y))
        assert near["text"] == "KV {}, {}".format(*DEALT[block])


def test_a_sentence_of_the_ring_tells_how_far_it_is() -> None:
    first, *others = (
        f.sentence for f in made("parallelism.ring").logs["pass-KV"].frames
    )
    assert "begins with its own block" in first and "scores of its late token" in first
    assert all("passes its block on" in each for each in others)
    assert ["every key" in each for each in others] == [False, False, True]


# A pipeline: what each stage has in each tick


def passes(log: str, stage: int, tick: int) -> str:
    """The text of a place: the batch, in decode with the number of its token."""
    since = tick - stage
    if log == "prefill, six batches":
        return LETTERS[since] if 0 <= since < len(LETTERS) else ""
    together = {"decode, one batch": 1, "decode, four batches": N}[log]
    turn, batch = divmod(since, N)  # a token needs all stages before the next begins
    return f"{LETTERS[batch]}{turn + 1}" if 0 <= turn < 2 and batch < together else ""


LOGS = [*made("parallelism.pipeline").logs]


@pytest.mark.parametrize("log", LOGS)
def test_every_place_of_the_pipeline_has_its_batch(log: str) -> None:
    cells = made("parallelism.pipeline").logs[log].tables["cells"]
    frames = made("parallelism.pipeline").logs[log].frames
    end = {
        "prefill, six batches": 6,
        "decode, one batch": 5,
        "decode, four batches": 8,
    }
    assert len(frames) == end[log] + N - 1
    assert len(cells) == N * len(frames)
    for r in cells:
        assert r["end"] == r["start"] + 1
        text = passes(log, int(r["slot"].split()[1]) - 1, int(r["start"]))
        assert (r["text"], r["ink"]) == (text, text[:1] or "idle")


@pytest.mark.parametrize("log", LOGS)
def test_a_sentence_of_the_pipeline_tells_of_its_tick(log: str) -> None:
    frames = made("parallelism.pipeline").logs[log].frames
    used = 0
    for tick, frame in enumerate(frames):
        now = [passes(log, stage, tick) for stage in range(N)]
        work = [stage for stage in range(N) if now[stage]]
        letters = ", ".join(now[stage][0] for stage in work)
        used += len(work)
        said = frame.sentence
        if tick == len(frames) - 1:
            idle = 1 - used / N / len(frames)
            assert (
                f"Of {N} × {tick + 1} the stages used {used}: idle {idle:.0%}." in said
            )
        elif log.startswith("prefill"):
            assert ("full" in said) == (len(work) == N)
            full = f"{letters} are in it"
            assert (full if len(work) == N else f"{len(work)} of {N} stages") in said
        elif len(work) == 1:
            assert said.startswith(f"Only stage {work[0] + 1} works: {letters} needs")
        elif len(work) == N:
            assert said.startswith("Full: when a batch leaves stage 4")
        else:
            assert said == f"{len(work)} of {N} stages work: {letters}."


# Two servers of four


def sizes(name: str) -> list[int]:
    """Copies, stages and GPUs of a group, as the title of a layout has them."""
    found = dict(re.findall(r"(TP|PP|DP) (\d+)", name))
    return [int(found.get(axis, 1)) for axis in ("DP", "PP", "TP")]


def inside(frame: Any, x: float, y: float) -> bool:
    (left, top), wide, high = frame.get_xy(), frame.get_width(), frame.get_height()
    return bool(left < x < left + wide and top < y < top + high)


def test_squares_and_frames_of_two_servers_are_ranks_and_groups() -> None:
    """Equal fill is equal layers; a row is a server; a frame is a group."""
    every = drawn.panels(two_servers.two_servers)
    assert len(every) == 6
    for panel in every:
        ranks = np.arange(8).reshape(sizes(panel.get_title()))
        squares = [p for p in panel.patches if p.get_fill()]
        frames = [p for p in panel.patches if not p.get_fill()]
        fills = dict[int, Any]()
        groups = dict[int, int]()
        for text in panel.texts:
            rank, (x, y) = int(text.get_text()), text.xy
            (square,) = (p for p in squares if inside(p, x, y))
            fills[rank] = square.get_facecolor()
            assert (int(x), int(y)) == (rank % 4, rank // 4)
            (groups[rank],) = (i for i, f in enumerate(frames) if inside(f, x, y))
        assert sorted(fills) == list(range(8)) and len(squares) == 8
        stage = {int(r): at for (_, at, _), r in np.ndenumerate(ranks)}
        group = {int(r): (copy, at) for (copy, at, _), r in np.ndenumerate(ranks)}
        for one in range(8):
            for two in range(8):
                assert (fills[one] == fills[two]) == (stage[one] == stage[two])
                assert (groups[one] == groups[two]) == (group[one] == group[two])
        assert len(frames) == len({*group.values()})


# A layer in three cuts


def test_a_bar_of_a_layer_is_as_tall_as_its_bytes_are_many() -> None:
    """Of two ranks that ran: a half is one part; all sums are told below."""
    model, n = Transformer(SMALL), len(PROMPT)
    sent = {
        "TP": tensor_parallel(model, PROMPT, 2),
        "TP with SP": sequence_parallel(model, PROMPT, 2),
        "DP attention": data_parallel_attention(
            model, [[PROMPT[: n // 2]], [PROMPT[n // 2 :]]]
        ),
    }
    panels = drawn.panels(layer_cuts.layer_cuts)
    assert [panel.get_title() for panel in panels] == [*sent]
    tall, told = {}, {}
    for panel in panels:
        bars = [p for p in panel.patches if p.get_width() == 2]
        names = [
            t.get_text() for t in panel.texts if any(inside(b, *t.xy) for b in bars)
        ]
        halves = [1 + (name == "all-reduce") for name in names]
        heights = [bar.get_height() for bar in bars]
        assert heights == pytest.approx([heights[0] / halves[0] * h for h in halves])
        tall[panel.get_title()] = sum(heights)
        (said,) = (t.get_text() for t in panel.texts if "sends" in t.get_text())
        told[panel.get_title()] = int(said.split()[1])
    nbytes = {name: run.ledger.sent_bytes() for name, run in sent.items()}
    for name, bytes_ in nbytes.items():
        assert bytes_ / nbytes["TP"] == pytest.approx(tall[name] / tall["TP"])
        assert bytes_ / nbytes["TP"] == pytest.approx(told[name] / told["TP"])
