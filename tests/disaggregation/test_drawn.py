"""The routing is played once more; bars and words of the pools are those of the log."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.disaggregation import hop
from llmserve_lab.formula.text import si
from llmserve_lab.running_example import cost, share
from tests.page.frames import Row, counted, made, rows

ROUTES, POOLS = made("disaggregation.routes_by_rule"), "disaggregation.pools_by_layer"
LINKS = ("nvlink4", "nvlink4", "infiniband-ndr", "infiniband-ndr")
BEFORE, SHOWN, RUN = 264, 8, 400  # requests before the figure's, its own, of the mean
MS = 1e3
# Which GPU a rule takes: by what it needs, and what it looks at first.
RULES: dict[str, Callable[[Any], Any]] = {
    "least loaded": lambda gpu: gpu["queue"],
    "nearest": lambda gpu: (gpu["far"], gpu["free"]),
    "most cached": lambda gpu: (gpu["tokens"], gpu["free"]),
    "soonest": lambda gpu: max(gpu["queue"], gpu["sends"]),
}


@cache
def decided(rule: str) -> list[dict[str, Any]]:
    """Every request of the run: what it met on each GPU, and which was taken."""
    draw, now, found = random.Random(0), 0.0, list[dict[str, Any]]()
    free, held = [0.0] * 4, [list[int]() for _ in range(4)]
    for _ in range(RUN):
        now += draw.expovariate(80.0)
        talk = draw.randrange(12)
        gpus = []
        for i, name in enumerate(LINKS):
            tokens = 2000 if talk in held[i] else 8000
            per_s = float(catalog.link(name).bandwidth) * float(share().link)
            sends = tokens * cost().kv_bytes_per_token / per_s
            gpus.append(
                {"i": i, "free": free[i], "queue": max(0.0, free[i] - now)}
                | {"tokens": tokens, "sends": sends, "far": name != LINKS[0]}
            )
        taken = min(gpus, key=RULES[rule])
        i = int(taken["i"])
        wait = max(taken["queue"], taken["sends"])
        free[i] = now + wait + 0.020
        held[i] = [*(t for t in held[i] if t != talk), talk][-3:]
        found.append({"talk": talk, "gpus": gpus, "taken": taken, "wait": wait})
    return found


def near(seconds: float) -> Any:
    """In ms, to the thousandths to which a place in a picture is rounded."""
    return pytest.approx(MS * seconds, abs=2e-3)


def lane_of(i: int) -> str:
    return f"D{i + 1}, {'InfiniBand' if i > 1 else 'NVLink'}"


@pytest.mark.parametrize("log", RULES)
@pytest.mark.parametrize("at", range(SHOWN))
def test_every_bar_word_and_counter_of_the_routing(log: str, at: int) -> None:
    assert [*ROUTES.logs] == [*RULES] and len(ROUTES.logs[log].frames) == SHOWN
    met = decided(log)[BEFORE + at]
    bars = [
        (lane_of(gpu["i"]), ink, near(x), near(x2))
        for gpu in met["gpus"]
        for ink, x, x2 in (
            ("idle", 0, gpu["queue"]),
            ("communication", gpu["queue"], gpu["sends"]),
        )
        if x2 > x
    ]
    drawn = rows(ROUTES, log, at, "bars")
    assert [(r["y"], r["ink"], r["x"], r["x2"]) for r in drawn] == bars
    taken = met["taken"]
    for gpu, word in zip(met["gpus"], rows(ROUTES, log, at, "words"), strict=True):
        held = "holds 6,000" if gpu["tokens"] == 2000 else "holds none"
        own = "◀ chosen, " * (gpu is taken) + held
        assert (word["y"], word["text"]) == (lane_of(gpu["i"]), own)
        assert word["x"] == pytest.approx(MS * max(gpu["queue"], gpu["sends"]) + 1.5)
    waits = [each["wait"] for each in decided(log)]
    assert counted(ROUTES, log, at) == {
        "this request waits": si(met["wait"], "s"),
        "tokens sent": f"{taken['tokens']:,}",
        "mean wait of 400 requests": si(sum(waits) / len(waits), "s"),
    }
    queue = (
        f" after {si(taken['queue'], 's', 2)} in its queue" if taken["queue"] else ""
    )
    node = "in another node" if taken["far"] else "in the same node"
    beginning = "the beginning, so 2,000" if taken["tokens"] == 2000 else ""
    sent = beginning or "nothing of it, so all 8,000"
    assert ROUTES.logs[log].frames[at].sentence == (
        f"Request {BEFORE + at + 1}, of conversation {met['talk'] + 1}, goes to "
        f"D{taken['i'] + 1} {node}{queue}; it holds {sent} tokens are sent."
    )


# Three requests on two GPUs

WAYS = {way.name: way for way in hop.WAYS}


def letters(ids: tuple[int, ...]) -> str:
    return "+".join("ABC"[i] for i in sorted(ids))


def spans(log: str, lane: str) -> list[Row]:
    return [dict(r) for r in made(POOLS).logs[log].tables["spans"] if r["y"] == lane]


@pytest.mark.parametrize("log", WAYS)
def test_every_bar_of_the_pools_is_an_iteration_of_its_gpu(log: str) -> None:
    run = hop.played(WAYS[log])
    read = [
        (near(a), near(b), "ABC"[n], f"prompt of {'ABC'[n]}")
        for n, (a, b) in run.prefills.items()
    ]
    wrote = [(near(a), near(b), "other", letters(ids)) for a, b, ids in run.steps]
    both: list[list[Any]] = [[], []]
    for a, b, ids, prompts, gpu in hop.shared().steps:
        if not prompts:
            ink, said = "other", letters(ids)
        else:
            ink = letters(prompts)
            rest = letters(tuple({*ids} - {*prompts}))
            said = f"{ink}, token of {rest}" if rest else f"prompt of {ink}"
        both[gpu].append((near(a), near(b), ink, said))
    lanes = dict(zip(("GPU 1, both", "GPU 2, both"), both, strict=True))
    for lane, want in {**lanes, "prefill GPU": read, "decode GPU": wrote}.items():
        found = [(r["x"], r["x2"], r["ink"], r["text"]) for r in spans(log, lane)]
        assert found == want, lane


@pytest.mark.parametrize("log", WAYS)
def test_every_layer_on_the_link_is_sent_when_it_is_made_and_the_link_free(
    log: str,
) -> None:
    """Strokes where a layer begins while the link waits for it, else one bar."""
    way, run = WAYS[log], hop.played(WAYS[log])
    one_s = cost().kv_bytes_per_token * 1000 / cost().n_layers / hop.bytes_per_s(way)
    free, starts, ends = 0.0, list[tuple[str, float]](), dict[str, float]()
    for n, (begun, end) in run.prefills.items():
        for layer in range(1, cost().n_layers + 1):
            done = begun + (end - begun) * layer / cost().n_layers
            start = max(free, done if way.streamed else end)
            free = start + one_s
            starts.append(("ABC"[n], start))
        ends["ABC"[n]] = free
    strokes = dict[str, list[float]]()
    for r in made(POOLS).logs[log].tables["sent"]:
        assert r["y"] == "link"
        strokes.setdefault(r["ink"], []).append(r["x"])
    bars = spans(log, "link")
    for name in "ABC":
        begins = [at for letter, at in starts if letter == name]
        if name in strokes:
            assert strokes[name] == [near(at) for at in begins]
        mine = [(r["x"], r["x2"]) for r in bars if r["ink"] == name]
        if name not in strokes:
            assert mine == [(near(begins[0]), near(ends[name]))]
        assert all(MS * begins[0] - 0.01 <= x for x, _ in mine)


@pytest.mark.parametrize("log", WAYS)
def test_tokens_gaps_and_counters_of_the_pools(log: str) -> None:
    figure, run = made(POOLS), hop.played(WAYS[log])
    times = {"A's tokens": hop.shared().tokens(0), "A's tokens ": run.tokens[0]}
    for lane, tokens in times.items():
        drawn = [r for r in figure.logs[log].tables["tokens"] if r["y"] == lane]
        assert [r["x"] for r in drawn] == [near(t) for t in tokens]
        assert {r["ink"] for r in drawn} == {"A"} and len(tokens) == 9
        (gap,) = (r for r in figure.logs[log].tables["gaps"] if r["y"] == lane)
        longest = max(b - a for a, b in pairwise(tokens))
        assert gap["text"].removeprefix("≤ ") == si(longest, "s")
        inside = [(a, b) for a, b in pairwise(tokens) if a < gap["x"] / MS < b]
        if gap["text"].startswith("≤"):
            assert gap["x"] / MS > tokens[-1]
        else:
            assert [b - a for a, b in inside] == [longest]
    (begun, end), layers = run.prefills[0], 32
    for at, frame in enumerate(figure.logs[log].frames):
        now = (frame.at or 0.0) / MS + 1e-9
        done = min(layers, int(layers * (now - begun) / (end - begun)))
        second = run.tokens[0][1]
        found = counted(figure, log, at)
        assert found["layers of A computed"] == f"{done} of {layers}"
        late = f"after {si(second, 's')}" if second <= now else "not yet"
        assert found["A's second token"] == late
        told(log, frame.sentence, now)


# What a sentence of a frame says is so from its moment on, and which times it says.
Says = tuple[Callable[[Any], float], Callable[[Any], tuple[float, ...]]]


def no_time(_: Any) -> tuple[float, ...]:
    return ()


def gaps(times: tuple[float, ...]) -> float:
    return max(b - a for a, b in pairwise(times))


SAID: dict[str, Says] = {
    "8 of 32 layers of A are computed": (lambda run: run.layers[0][7].made_s, no_time),
    "Each layer leaves its keys": (lambda run: run.layers[0][15].made_s, no_time),
    "A's last layer is computed": (lambda run: run.prefills[0][1], no_time),
    "A's whole cache has arrived": (
        lambda run: run.layers[0][-1].sent_s,
        lambda run: (run.layers[0][-1].sent_s - run.prefills[0][1],),
    ),
    "has read A's cache for the first time": (
        lambda run: run.tokens[0][1],
        lambda run: (run.tokens[0][1] - run.prefills[0][1],),
    ),
    "A gets a token from every step": (lambda run: run.tokens[0][3], no_time),
    "Above, A's next token comes only now": (
        lambda _: max(pairwise(hop.shared().tokens(0)), key=lambda p: p[1] - p[0])[1],
        lambda _: (gaps(hop.shared().tokens(0)),),
    ),
    "B's prompt is read, too": (
        lambda run: run.prefills[1][1],
        lambda _: (hop.shared().tokens(1)[0],),
    ),
    "B's cache has arrived as well": (lambda run: run.layers[1][-1].sent_s, no_time),
    "of 9, 4 and 2 tokens, are complete": (
        lambda run: max(each[-1] for each in run.tokens.values()),
        lambda run: (max(each[-1] for each in run.tokens.values()),),
    ),
    "On the same two GPUs A's longest gap": (
        lambda run: 1e-3 + max(run.steps[-1][1], hop.shared().steps[-1][1]),
        lambda run: (
            gaps(hop.shared().tokens(0)),
            gaps(run.tokens[0]),
            hop.shared().tokens(1)[0],
            run.tokens[1][0],
        ),
    ),
}  # fmt: skip
TIME = re.compile(r"[\d.]+ (?:µs|ms|s)\b")


def told(log: str, sentence: str, now: float) -> None:
    """A sentence comes at the moment of which it tells, with the times of the log."""
    run = hop.played(WAYS[log])
    ((when, times),) = (says for words, says in SAID.items() if words in sentence)
    assert now == pytest.approx(when(run), abs=1e-6), sentence
    assert TIME.findall(sentence) == [si(each, "s") for each in times(run)], sentence
    before = now < run.prefills[1][1]
    if "A gets a token" in sentence:
        assert ("is read elsewhere" in sentence) == before
        assert ("still on its way" in sentence) == (not before)
        assert before or now < run.arrived_s(1)
    if "layers of A are computed. " in sentence:
        sends = {
            "layer by layer": "as soon as it is there",
            "all at the end": "The link is idle",
            "layer by layer, slow link": "slower than the prefill",
        }
        assert sends[log] in sentence
