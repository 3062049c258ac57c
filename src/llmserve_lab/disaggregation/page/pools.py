"""Prefill and decode pools, stepped: the cache crosses the link, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
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

NAMES = ("A", "B")
LANES = (
    "one shared GPU",
    "A's tokens",
    "B's tokens",
    "two pools:",
    "prefill GPU",
    "link",
    "decode GPU",
    "A's tokens ",
    "B's tokens ",
)
ONE, ONE_A, ONE_B, BETWEEN, PREFILL, WIRE, DECODE, *OF = LANES
MS = 1e3
SOON_MS = 1e-6  # rounding
SHORT_S = 0.001  # on the link: drawn as a stroke
WIDE_S, BESIDE_S = 0.02, 0.02  # a gap that holds its words; else they stand before
LAYERS = cost().n_layers
Row = dict[str, Any]


def pools_by_layer() -> StepFigure:
    """Two requests on one GPU, and through two pools, caches sent in three ways."""
    runs = {way.name: played(way) for way in WAYS}
    ends = [step[1] for run in runs.values() for step in run.steps]
    until = max(*ends, shared().steps[-1][1]) + SHORT_S
    logs = {way.name: _log(way, runs[way.name]) for way in WAYS}
    last = len(logs[BY_LAYERS.name].frames) - 1
    return StepFigure(
        name="pools",
        title="On a shared GPU B's prompt holds A up; in two pools only the cache does",
        scene=Scene(
            x=SceneAxis((0, MS * until), "time (ms)"),
            y=SceneAxis(LANES),
            marks=(
                Cells(table="spans", x2="x2", text="text", grows=True),
                Ticks(table="tokens", grows=True),
                Ticks(table="sent", grows=True),
                Labels(table="gaps", grows=True),
            ),
            height=260,
            now=True,
        ),
        logs=logs,
        stills=((BY_LAYERS.name, 2), (BY_LAYERS.name, 5), (BY_LAYERS.name, last)),
        start=last,
        legend={
            "A": "request A (strokes: its layers on the link, its tokens)",
            "B": "request B",
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
    gaps = [_gap(ONE_A, shared().tokens(0)), _gap(OF[0], run.tokens[0])]
    return {"spans": spans, "tokens": _tokens(run), "sent": strokes, "gaps": gaps}


def _gap(lane: str, tokens: Sequence[float]) -> Row:
    """How long the second token lets the user wait, written behind the first."""
    first_s, second_s = tokens[:2]
    words = f"{si(second_s - first_s, 's')}"
    wide = second_s - first_s > WIDE_S
    at_s = (first_s + second_s) / 2 if wide else first_s - BESIDE_S
    over = MS * second_s - SOON_MS
    return {"y": lane, "x": round(MS * at_s, 3), "text": words, "over": over}


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
    """Steps of the GPU that does both: in the colour of the prompt that rides."""
    rows = []
    for start_s, end_s, ids, prompts in shared().steps:
        ink = NAMES[prompts[0]] if prompts else "other"
        whom = "+".join(NAMES[i] for i in sorted(ids))
        said = f"prompt of {ink}" if prompts else whom
        if prompts and len(ids) > len(prompts):
            said = f"{ink}, token of A"
        rows.append(_row(ONE, start_s, end_s, ink) | {"text": said})
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
    lanes = [(OF[number], number, times) for number, times in run.tokens.items()]
    return [
        {"y": lane, "x": round(MS * at, 3), "ink": NAMES[number]}
        for lane, number, times in [
            *lanes,
            (ONE_A, 0, shared().tokens(0)),
            (ONE_B, 1, shared().tokens(1)),
        ]
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
            shared().tokens(0)[1],
            "Above, on the shared GPU, A's second token comes only now, "
            f"{si(shared().tokens(0)[1] - shared().tokens(0)[0], 's')} after the "
            "first: B's prompt rode in its step.",
        ),
        (b_read, "B's prompt is read, too; B's first token goes out."),
        (run.arrived_s(1), "B's cache has arrived as well."),
        (
            max(step[1] for step in run.steps),
            f"Both answers, of {ANSWERS[0]} tokens and of {ANSWERS[1]}, are complete "
            f"after {si(run.steps[-1][1], 's')}. No decode step carried a prompt.",
        ),
        (
            max(run.steps[-1][1], shared().steps[-1][1]) + SHORT_S,
            _done(run),
        ),
    ]
    return moments


def _done(run: Played) -> str:
    """What the second GPU has bought: all done sooner or not, and an even stream."""
    two_s, one_s = run.steps[-1][1], shared().steps[-1][1]
    second_s = run.tokens[0][1] - run.tokens[0][0]
    return (
        f"With twice the GPUs everything is done after {si(two_s, 's')} instead of "
        f"{si(one_s, 's')}. What the second GPU buys is the stream: A's second token "
        f"comes {si(second_s, 's')} after the first."
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
