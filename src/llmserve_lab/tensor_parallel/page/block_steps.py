"""A whole block on two GPUs, stepped: what each holds of a row after every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel.arguments import BYTES_ACT
from llmserve_lab.tensor_parallel.article import ExecutedCut
from llmserve_lab.tensor_parallel.steps import RankStep, shown

Row = dict[str, Any]
GPUS, FLOAT = 2, 8  # GPUs; bytes of a number in NumPy
WIDEST = 2048  # features of the FFN
LOGS = {
    "columns, then rows": "paired",
    "columns everywhere": "gathered",
}
WORDS = {
    "input": "The rows enter: both GPUs have them whole",
    "norm (redundant)": "Norm: each GPU normalises its own copy, nothing is sent",
    "QKV projection (A)": "Queries, keys and values, column-parallel: whole heads",
    "attention": "Attention: each GPU mixes the values of its own heads",
    "o_proj (A)": "Output projection, column-parallel",
    "o_proj (B)": "Output projection, row-parallel: every output, in part",
    "up_proj (A)": "FFN up, column-parallel: a part of the wide features",
    "GeLU": "GeLU: each number alone, so a part suffices",
    "down_proj (A)": "FFN down, column-parallel",
    "down_proj (B)": "FFN down, row-parallel: every output, in part",
    "+ residual": "The residual is added: both GPUs have the rows whole",
    "all-gather": "All-gather: the parts are sent, both GPUs have them whole",
    "all-reduce": "All-reduce: the parts of each sum are added on both GPUs",
}


def block_on_two() -> StepFigure:
    """The block cut either way, as two ranks executed it."""
    logs = {name: _log(strategy) for name, strategy in LOGS.items()}
    first = next(iter(logs))
    return StepFigure(
        name="block",
        title="Where two GPUs hold whole rows, parts of rows, or parts of sums",
        scene=Scene(
            x=SceneAxis((0, WIDEST), "features held of each row"),
            y=SceneAxis(tuple(f"GPU {gpu}" for gpu in range(GPUS))),
            marks=(Cells(table="held", x2="x2", text="text"),),
            height=130,
        ),
        logs=logs,
        stills=((first, 3), (first, 4), (first, 5)),
        start=3,
        legend={
            "new": "complete features",
            "compute": "part of a sum",
            "communication": "just exchanged",
        },
        counters=(
            Counter("exchanges"),
            Counter("sent by each GPU", "byte"),
            Counter("features held of each row, GPU 0"),
        ),
    )


def executed(strategy: str) -> ExecutedCut:
    """The block of four rows on two ranks."""
    return article.execute(strategy, GPUS, article.batch())


def _log(strategy: str) -> StepLog:
    done = executed(strategy)
    uncut = article.execute(strategy, 1, article.batch()).steps[0]
    sent = [record.wire.sent_bytes for record in done.ledger.select(rank=0)]
    frames, rows = list[Frame](), list[Row]()
    exchanges = 0
    for number, step in enumerate(done.steps[0]):
        exchanges += step.is_collective
        bytes_sent = sum(sent[:exchanges]) / FLOAT * float(BYTES_ACT)
        counters = (float(exchanges), bytes_sent, float(step.given[1]))
        frames.append(Frame(_sentence(step), counters))
        for gpu in range(GPUS):
            rows.append(_held(gpu, done.steps[gpu][number], uncut[number], number))
    return StepLog(tuple(frames), {"held": rows})


def _held(gpu: int, step: RankStep, uncut: RankStep, number: int) -> Row:
    """A slice where the ranks share the row, else all of it."""
    wide, first = step.given[1], 0
    ink = "communication" if step.is_collective else "new"
    if step.remark == "partial sum":
        ink = "compute"
    elif wide < uncut.given[1]:
        first = gpu * wide
    life = {"since": number, "until": number + 1}
    text = "×".join(map(str, step.given))
    row = {"x": first, "x2": first + wide, "y": f"GPU {gpu}", "ink": ink, "text": text}
    return {**row, **life}


def _sentence(step: RankStep) -> str:
    """What the step is, and its shapes on GPU 0."""
    weight = f"weights {shown(step.weight)}, " if step.weight else ""
    shapes = f"{weight}rows {shown(step.taken)} → {shown(step.given)}"
    return f"{WORDS[step.name]}. On each GPU: {shapes}."


def exchanges(strategy: str) -> Sequence[RankStep]:
    """The exchanges of one rank, in their order."""
    return [step for step in executed(strategy).steps[0] if step.is_collective]
