"""Dispatch, experts, combine, stepped: every copy of eight tokens on four GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.moe import toy
from llmserve_lab.moe.parallel import Copies, ExecutedLayer
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis

PER = toy.EXPERTS // toy.GPUS  # experts of a GPU
HOME, RESULT, HELD, QUEUE = 2.2, 3.4, 8.1, 9.35  # where columns begin
COPY, LEFT, RIGHT = 1.1, 3.4, 8.0  # width of a copy; ends of the wires
HEAD = -0.35  # height of the columns' names
ROUTE, SEND, RUN, BACK, SUM = 1, 2, 3, 4, 5  # frames
Row = dict[str, Any]
LOGS: dict[str, tuple[Copies, bool]] = {
    "a copy for each expert": ("expert", False),
    "a copy for each GPU": ("rank", False),
    "two popular experts, E0 and E1": ("expert", True),
}


def dispatch_and_combine() -> StepFigure:
    """The same tokens, sent in two ways, and with a router that has favourites."""
    runs = {name: toy.executed(*how) for name, how in LOGS.items()}
    longest = max(len(queue) for run in runs.values() for queue in queues(run))
    first = next(iter(LOGS))
    return StepFigure(
        name="dispatch",
        title="Tokens travel to their experts, and the outputs travel back",
        scene=_scene(QUEUE + COPY * longest + 0.1),
        logs={name: _log(name, run) for name, run in runs.items()},
        start=SEND,
        stills=((first, ROUTE), (first, SEND), (first, RUN)),
        legend={
            **{"ABCD"[g]: f"tokens of GPU {g}" for g in range(toy.GPUS)},
            "weights": "experts (grey: not read, or not yet)",
            "other": "stays on its GPU",
            "new": "sum of the outputs",
        },
        counters=(
            Counter("copies and outputs sent between GPUs"),
            Counter("choices at the busiest GPU"),
            Counter("experts read"),
        ),
    )


def _scene(width: float) -> Scene:
    """Bands of GPUs: tokens at the left, experts and what has arrived at the right."""
    bands = [
        {"x": 0, "x2": width, "y": PER * g + 0.06, "y2": PER * (g + 1) - 0.06}
        | {"ink": "empty", "text": "", "faint": 0.45}
        for g in range(toy.GPUS)
    ]
    names = [{"x": 0.95, "y": PER * g + 1, "text": f"GPU {g}"} for g in range(toy.GPUS)]
    names.append({"x": HOME + COPY / 2, "y": HEAD, "text": "tokens"})
    return Scene(
        x=SceneAxis((0, width), shown=False),
        y=SceneAxis((PER * toy.GPUS, -0.7), shown=False),
        marks=(
            Cells(table="bands", x2="x2", y2="y2", opacity="faint"),
            Links(table="wires", width="wide", arrow=False),
            Cells(table="boxes", x2="x2", y2="y2", text="text", opacity="faint"),
            Labels(table="routes", align="left"),
            Labels(table="names"),
            Labels(table="heads"),
        ),
        height=290,
        fixed={"bands": bands, "names": names},
    )


def loads(run: ExecutedLayer) -> list[int]:
    """Choices that fall on the experts of each GPU."""
    return [sum(len(queue) for queue in queues(run)[g : g + PER]) for g in _firsts()]


def _firsts() -> range:
    return range(0, toy.EXPERTS, PER)


def queues(run: ExecutedLayer) -> list[list[tuple[int, int]]]:
    """For each expert the tokens that have come, as (GPU, token), in order."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(toy.EXPERTS)]
    for gpu, log in enumerate(run.exchanges):
        for row, gates in zip(log.parcels.rows, log.parcels.gates, strict=True):
            for expert in np.flatnonzero(gates):
                found[expert].append((gpu, int(row)))
    return found


def parcels(run: ExecutedLayer) -> list[tuple[int, int, int, list[int]]]:
    """Every copy: its GPU, its token, the GPU it goes to, the experts it is for."""
    found = []
    for gpu, log in enumerate(run.exchanges):
        targets = np.repeat(np.arange(toy.GPUS), log.parcels.counts)
        for row, gates, there in zip(
            log.parcels.rows, log.parcels.gates, targets, strict=True
        ):
            asked = [int(expert) for expert in np.flatnonzero(gates)]
            found.append((gpu, int(row), int(there), asked))
    return found


def sent(run: ExecutedLayer) -> int:
    """Copies that leave their GPU."""
    return sum(gpu != there for gpu, _, there, _ in parcels(run))


def _log(name: str, run: ExecutedLayer) -> StepLog:
    busiest = float(max(loads(run)))
    wire, read = float(sent(run)), float(sum(bool(queue) for queue in queues(run)))
    nothing = (0.0, "not yet", "not yet")
    routed, there = (0.0, busiest, "not yet"), (wire, busiest, "not yet")
    counted, back = (wire, busiest, read), (2 * wire, busiest, read)
    frames = (
        Frame("Each GPU has two tokens of its own and two of the experts.", nothing),
        Frame(
            "Route: each token's two best experts, with their router weights.",
            routed,
        ),
        Frame(_dispatch(name, run), there),
        Frame(_experts(run, int(read)), counted),
        Frame(_combine(name), back),
        Frame(
            "Each GPU adds up what came back, each output times its weight. The sums "
            "are those of a layer on one GPU.",
            back,
        ),
    )
    one = toy.layer(name.startswith("two")).dense(np.concatenate(toy.tokens()))
    assert np.allclose(run.rows, one)
    boxes = _boxes(run) + _received(run)
    tables = {"boxes": boxes, "wires": _wires(run), "routes": _routes(run)}
    return StepLog(frames, tables | {"heads": _heads()})


def _heads() -> list[Row]:
    """What stands at the right, until the sums need the room."""
    columns = {"experts": HELD + COPY / 2, "received": QUEUE + 3 * COPY}
    return [
        {"x": x, "y": HEAD, "text": text, "since": 0, "until": SUM}
        for text, x in columns.items()
    ]


def _dispatch(name: str, run: ExecutedLayer) -> str:
    made = parcels(run)
    stay = len(made) - sent(run)
    each = "GPU" if name.endswith("GPU") else "expert"
    return (
        f"Dispatch: a copy of each token for each {each} that it needs. {len(made)} "
        f"copies; {stay} stay on their GPU, {sent(run)} travel."
    )


def _combine(name: str) -> str:
    if name.endswith("GPU"):
        return (
            "Combine: for each copy one vector travels back. A GPU with two outputs "
            "to a token adds them up first, each times its weight."
        )
    return "Combine: every output travels back to the token's own GPU."


def _experts(run: ExecutedLayer, read: int) -> str:
    found = loads(run)
    busiest = found.index(max(found))
    return (
        f"Experts: each reads its weights once for all that has come. {read} of "
        f"{toy.EXPERTS} are read. GPU {busiest} has the most to do, "
        f"{max(found)} of {sum(found)} choices."
    )


def _box(x: float, y: float, ink: str, text: str, **more: Any) -> Row:
    size = {"x2": x + COPY - 0.06, "y2": y + 0.84}
    return {"x": x, "y": y, "ink": ink, "text": text, "faint": 1.0} | size | more


def _boxes(run: ExecutedLayer) -> list[Row]:
    """Tokens, experts, copies that have come, and the sums."""
    found = []
    for gpu, log in enumerate(run.exchanges):
        for token in range(len(log.chosen)):
            y, ink = PER * gpu + token + 0.08, "ABCD"[gpu]
            found.append(_box(HOME, y, ink, toy.name(gpu, token)))
            done = {"since": SUM, "until": SUM + 1}
            found.append(_box(RESULT, y, "new", "Σ", **done))
    for expert, queue in enumerate(queues(run)):
        y = expert + 0.08
        found.append(_box(HELD, y, "empty", f"E{expert}", until=RUN))
        ink = "weights" if queue else "empty"
        found.append(_box(HELD, y, ink, f"E{expert}", since=RUN, until=SUM))
    return found


def _received(run: ExecutedLayer) -> list[Row]:
    """What has come to each GPU, until the sums are made: one box for each copy.

    A copy for two experts is as high as both, while they run as well.
    """
    found, places = [], dict.fromkeys(range(toy.EXPERTS), 0)
    for gpu, token, there, asked in sorted(parcels(run), key=lambda copy: copy[:2]):
        rows = {PER * there, PER * there + 1} if len(asked) > 1 else set(asked)
        place = max(places[row] for row in rows)
        places |= dict.fromkeys(rows, place + 1)
        x, y = QUEUE + COPY * place, min(rows) + 0.08
        arrived = {"since": SEND, "until": SUM, "y2": max(rows) + 0.92}
        found.append(_box(x, y, "ABCD"[gpu], toy.name(gpu, token), **arrived))
    return found


def _wires(run: ExecutedLayer) -> list[Row]:
    """The ways of all copies, out and back."""
    found = []
    for gpu, token, there, asked in parcels(run):
        many = len(asked) > 1
        end = PER * there + PER / 2 if many else asked[0] + 0.5
        row = {"x": LEFT, "y": PER * gpu + token + 0.5, "x2": RIGHT, "y2": end}
        ink, wide = ("other", 1.5) if gpu == there else ("ABCD"[gpu], 2.5)
        found += [
            {**row, "ink": ink, "wide": wide, "since": frame, "until": frame + 1}
            for frame in (SEND, BACK)
        ]
    return found


def _routes(run: ExecutedLayer) -> list[Row]:
    """What the router says of each token, beside it."""
    found = []
    for gpu, log in enumerate(run.exchanges):
        for token, (experts, weights) in enumerate(
            zip(log.chosen, log.weight, strict=True)
        ):
            said, added = (
                joint.join(form(e, w) for e, w in zip(experts, weights, strict=True))
                for joint, form in ((" ", _choice), (" + ", _term))
            )
            y = PER * gpu + token + 0.5
            place = {"x": LEFT, "y": y, "since": ROUTE, "until": ROUTE + 1}
            found.append({**place, "text": said})
            summed = {"x": RESULT + COPY + 0.2, "y": y, "since": SUM}
            found.append({**summed, "until": SUM + 1, "text": f"= {added}"})
    return found


def _choice(expert: int, weight: float) -> str:
    return f"E{expert} {weight:.2f}".replace("0.", ".")


def _term(expert: int, weight: float) -> str:
    return f"{weight:.2f} E{expert}".replace("0.", ".")
