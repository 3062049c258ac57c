"""Prefill and decode pools, stepped: the cache crosses the link, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from llmserve_lab.disaggregation.hop import (
    ANSWERS,
    AT_THE_END,
    BY_LAYERS,
    SLOW,
    WAYS,
    Played,
    Way,
    played,
    shared,
)
from llmserve_lab.disaggregation.kv_transfer_timeline import Layer
from llmserve_lab.formula.text import si
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis, Ticks
from llmserve_lab.running_example import cost

NAMES = ("A", "B", "C")
LANES = (
    "GPU 1, both",
    "GPU 2, both",
    "A's tokens",
    "two pools:",
    "prefill GPU",
    "link",
    "decode GPU",
    "A's tokens ",
)
*BOTH, SHARED_A, BETWEEN, PREFILL, WIRE, DECODE, POOLED_A = LANES
MS = 1e3
SOON_MS = 1e-6  # rounding
SHORT_S = 0.001  # on the link: drawn as a stroke
WIDE_S, BESIDE_S = 0.02, 0.016  # a gap that holds its words; else they stand behind
LAYERS = cost().n_layers
Row = dict[str, Any]


def pools_by_layer() -> StepFigure:
    """Three requests on two GPUs, shared or in two pools, caches sent in three ways."""
    runs = {way.name: played(way) for way in WAYS}
    ends = [step[1] for run in runs.values() for step in run.steps]
    until = max(*ends, shared().steps[-1][1]) + SHORT_S
    logs = {way.name: _log(way, runs[way.name]) for way in WAYS}
    last = len(logs[BY_LAYERS.name].frames) - 1
    return StepFigure(
        name="pools",
        title="The same two GPUs: in two pools A's stream is even, but prompts wait",
        scene=Scene(
            x=SceneAxis((0, MS * until), "time (ms)"),
            y=SceneAxis(LANES),
            marks=(
                Cells(table="spans", x2="x2", text="text", grows=True),
                Ticks(table="tokens", grows=True),
                Ticks(table="sent", grows=True),
                Labels(table="gaps", grows=True),
            ),
            height=240,
            now=True,
        ),
        logs=logs,
        stills=((BY_LAYERS.name, 2), (BY_LAYERS.name, 5), (BY_LAYERS.name, last)),
        start=last,
        legend={
            "A": "request A (strokes: its layers on the link, its tokens)",
            "B": "request B",
            "C": "request C",
            "other": "a decode step, and for whom",
        },
        counters=(
            Counter("layers of A computed"),
            Counter("layers of A arrived"),
            Counter("A's second token"),
        ),
    )


def _log(way: Way, run: Played) -> StepLog:
    moments = _moments(way, run)
    frames = [
        Frame(text, _counters(run, at), at=MS * at)
        for at, text in sorted(moments, key=lambda moment: moment[0])
    ]
    tables = _tables(run)
    for gap in tables["gaps"]:
        over = gap.pop("over")
        gap["since"] = next(i for i, f in enumerate(frames) if (f.at or 0) >= over)
    return StepLog(tuple(frames), tables)


def _tables(run: Played) -> dict[str, list[Row]]:
    """Layers on the link are a bar where they touch; else a stroke for each."""
    bars, strokes = [], []
    for number, layers in run.layers.items():
        joined = _joined(layers)
        for start_s, end_s in joined:
            if end_s - start_s > SHORT_S:
                bars.append(_row(WIRE, start_s, end_s, NAMES[number]))
        for layer in layers if len(joined) > 1 else ():
            at = {"y": WIRE, "x": round(MS * layer.begun_s, 3)}
            strokes.append(at | {"ink": NAMES[number]})
    spans = [*_together(), *_spans(run), *bars]
    gaps = [_gap(SHARED_A, shared().tokens(0)), _gap(POOLED_A, run.tokens[0])]
    return {"spans": spans, "tokens": _tokens(run), "sent": strokes, "gaps": gaps}


def _gap(lane: str, tokens: Sequence[float]) -> Row:
    """The longest gap of an answer: in it, or behind the last token."""
    first_s, second_s = _longest(tokens)
    words, wide = si(second_s - first_s, "s"), second_s - first_s > WIDE_S
    at_s, over_s = (first_s + second_s) / 2, second_s
    if not wide:
        words, at_s, over_s = f"≤ {words}", tokens[-1] + BESIDE_S, tokens[-1]
    over = MS * over_s - SOON_MS
    return {"y": lane, "x": round(MS * at_s, 3), "text": words, "over": over}


def _longest(tokens: Sequence[float]) -> tuple[float, float]:
    """The two tokens of an answer that are furthest apart."""
    return max(pairwise(tokens), key=lambda pair: pair[1] - pair[0])


def _longest_s(tokens: Sequence[float]) -> float:
    first_s, second_s = _longest(tokens)
    return second_s - first_s


def _joined(layers: Sequence[Layer]) -> list[list[float]]:
    """Spans of the link in which it never rests."""
    found: list[list[float]] = []
    for layer in layers:
        if found and layer.begun_s <= found[-1][1] + 1e-9:
            found[-1][1] = layer.sent_s
        else:
            found.append([layer.begun_s, layer.sent_s])
    return found


def _together() -> list[Row]:
    """Steps of GPUs that do both: in the colour of the prompt that rides."""
    rows = []
    for start_s, end_s, ids, prompts, gpu in shared().steps:
        ink = NAMES[prompts[0]] if prompts else "other"
        whom = "+".join(NAMES[i] for i in sorted(ids))
        said = f"prompt of {ink}" if prompts else whom
        if prompts and len(ids) > len(prompts):
            said = f"{ink}, token of A"
        rows.append(_row(BOTH[gpu], start_s, end_s, ink) | {"text": said})
    return rows


def _spans(run: Played) -> list[Row]:
    """The prompts, each in one iteration, and the decode steps."""
    rows = []
    for number, (start_s, end_s) in run.prefills.items():
        name = NAMES[number]
        said = {"text": f"prompt of {name}"}
        rows.append(_row(PREFILL, start_s, end_s, name) | said)
    for start_s, end_s, ids in run.steps:
        whom = "+".join(NAMES[i] for i in sorted(ids))
        rows.append(_row(DECODE, start_s, end_s, "other") | {"text": whom})
    return rows


def _row(lane: str, x: float, x2: float, ink: str) -> Row:
    ends = {"x": round(MS * x, 3), "x2": round(MS * x2, 3)}
    return {"y": lane, **ends, "ink": ink, "text": ""}


def _tokens(run: Played) -> list[Row]:
    lanes = {SHARED_A: shared().tokens(0), POOLED_A: run.tokens[0]}
    return [
        {"y": lane, "x": round(MS * at, 3), "ink": NAMES[0]}
        for lane, times in lanes.items()
        for at in times
    ]


def _counters(run: Played, now: float) -> tuple[float | str, ...]:
    soon = now + 1e-9
    made = sum(layer.made_s <= soon for layer in run.layers[0])
    sent = sum(layer.sent_s <= soon for layer in run.layers[0])
    second = run.tokens[0][1]
    said = f"after {si(second, 's')}" if second <= soon else "not yet"
    return f"{made} of {LAYERS}", f"{sent} of {LAYERS}", said


def _moments(way: Way, run: Played) -> list[tuple[float, str]]:
    """What happens, and when, as the log has it."""
    layers, (_, read_s) = run.layers[0], run.prefills[0]
    quarter, half = layers[LAYERS // 4 - 1].made_s, layers[LAYERS // 2 - 1].made_s
    b_read = run.prefills[1][1]
    third = run.tokens[0][3]
    _, held_s = _longest(shared().tokens(0))
    said = f"{', '.join(map(str, ANSWERS[:-1]))} and {ANSWERS[-1]}"
    moments = [
        (
            quarter,
            f"{LAYERS // 4} of {LAYERS} layers of A are computed. {_sends(way)}",
        ),
        (half, "Each layer leaves its keys and values: its part of the cache."),
        (
            read_s,
            "A's last layer is computed, and the first token of A's answer goes out. "
            "The prefill GPU turns to B at once.",
        ),
        (
            run.arrived_s(0),
            "A's whole cache has arrived: "
            f"{si(run.arrived_s(0) - read_s, 's')} after the prefill ended.",
        ),
        (
            run.tokens[0][1],
            "The decode GPU has read A's cache for the first time: the second token, "
            f"{si(run.tokens[0][1] - read_s, 's')} after the first.",
        ),
        (third, _calm(run, third)),
        (
            held_s,
            "Above, A's next token comes only now, "
            f"{si(_longest_s(shared().tokens(0)), 's')} after the last: C's prompt "
            "rode in its step.",
        ),
        (
            b_read,
            "B's prompt is read, too; B's first token goes out. Above, GPU 2 had it "
            f"at {si(shared().tokens(1)[0], 's')}.",
        ),
        (run.arrived_s(1), "B's cache has arrived as well."),
        (
            max(step[1] for step in run.steps),
            f"The answers, of {said} tokens, are complete after "
            f"{si(run.steps[-1][1], 's')}. No decode step carried a prompt.",
        ),
        (
            max(run.steps[-1][1], shared().steps[-1][1]) + SHORT_S,
            _done(run),
        ),
    ]
    return moments


def _done(run: Played) -> str:
    """What two pools change on the same GPUs: an even stream, later first tokens."""
    above, below = (_longest_s(each) for each in (shared().tokens(0), run.tokens[0]))
    firsts = [si(each[0], "s") for each in (shared().tokens(1), run.tokens[1])]
    return (
        f"On the same two GPUs A's longest gap is {si(above, 's')} above and "
        f"{si(below, 's')} below. B's first token comes at {firsts[0]} above and "
        f"at {firsts[1]} below, because one GPU reads all prompts."
    )


def _sends(way: Way) -> str:
    return {
        BY_LAYERS.name: "The link sends each one as soon as it is there.",
        AT_THE_END.name: "The link is idle: nothing is sent before the last layer.",
        SLOW.name: "The link is slower than the prefill and falls behind.",
    }[way.name]


def _calm(run: Played, now: float) -> str:
    if now < run.prefills[1][1]:
        return "While B's prompt is read elsewhere, A gets a token from every step."
    return "A gets a token from every step. B's cache is still on its way."
