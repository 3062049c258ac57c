"""A whole block on two GPUs: what each holds of a token vector after every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel.arguments import BYTES_ACT
from llmserve_lab.tensor_parallel.article import ExecutedCut
from llmserve_lab.tensor_parallel.steps import RankStep, shown

Row = dict[str, Any]
GPUS, FLOAT = 2, 8  # GPUs; bytes of a number in NumPy
WIDEST, APART = 2048, 2250  # features of the FFN; from one GPU to the other
NAMES = 1650  # room for the names of the steps, in features
LOGS = {
    "columns, then rows": "paired",
    "columns everywhere": "gathered",
}
SHORT = {
    "input": "input",
    "norm (redundant)": "norm",
    "QKV projection (columns)": "Q, K, V",
    "attention": "attention",
    "o_proj (columns)": "output",
    "o_proj (rows)": "output",
    "up_proj (columns)": "FFN up",
    "GeLU": "GeLU",
    "down_proj (columns)": "FFN down",
    "down_proj (rows)": "FFN down",
    "+ residual": "residual",
    "all-gather": "all-gather",
    "all-reduce": "all-reduce",
}
WORDS = {
    "input": "The token vectors enter: both GPUs have them whole",
    "norm (redundant)": "Norm: each GPU normalises its own copy, nothing is sent",
    "QKV projection (columns)": "Queries, keys, values, column-parallel: own heads",
    "attention": "Attention: each GPU mixes the values of its own heads",
    "o_proj (columns)": "Output projection, column-parallel",
    "o_proj (rows)": "Output projection, row-parallel: every output, in part",
    "up_proj (columns)": "FFN up, column-parallel: a part of the wide features",
    "GeLU": "GeLU: each number alone, so a part suffices",
    "down_proj (columns)": "FFN down, column-parallel",
    "down_proj (rows)": "FFN down, row-parallel: every output, in part",
    "+ residual": "The residual is added: both GPUs have the vectors whole",
    "all-gather": "All-gather: the parts are sent, both GPUs have them whole",
    "all-reduce": "All-reduce: the parts of each sum are added on both GPUs",
}


def block_on_two() -> StepFigure:
    """The block cut either way, as two ranks executed it."""
    logs = {name: _log(strategy) for name, strategy in LOGS.items()}
    first = next(iter(logs))
    return StepFigure(
        name="block",
        title="Through a block: whole vectors, parts of them, or parts of sums",
        scene=Scene(
            x=SceneAxis((-NAMES, APART + WIDEST), shown=False),
            y=SceneAxis((_longest(logs) + 1.0, -1.0), shown=False),
            marks=(
                Cells(table="held", x2="x2", y2="y2", text="text"),
                Labels(table="names", align="right"),
                Labels(table="words"),
                Labels(table="here", align="left"),
            ),
            height=17 * (_longest(logs) + 2),
        ),
        logs=logs,
        stills=((first, 2), (first, 4), (first, 5)),
        start=len(logs[first].frames) - 1,
        legend={
            "new": "complete numbers",
            "compute": "part of a sum",
        },
        counters=(
            Counter("exchanges"),
            Counter("sent by each GPU", "byte"),
            Counter("features held of each vector, GPU 0"),
        ),
    )


def _longest(logs: Mapping[str, StepLog]) -> int:
    return max(len(log.frames) for log in logs.values()) - 1


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
            held = _held(gpu, done.steps[gpu][number], uncut[number], number)
            rows += [{**part, "since": number} for part in held]
    steps = [step.name for step in done.steps[0]]
    words = [
        {"x": gpu * APART + article.SHAPE.d_model / 2, "y": -0.6, "text": f"GPU {gpu}"}
        for gpu in range(GPUS)
    ]
    tables = {"held": rows, "words": words, **_names(steps)}
    return StepLog(tuple(frames), tables)


def _names(steps: Sequence[str]) -> dict[str, list[Row]]:
    """What each line of the strip is, and a mark beside that of the frame."""
    names = [
        {"x": -120, "y": number + 0.45, "text": SHORT[name]}
        for number, name in enumerate(steps)
    ]
    here = [
        {"x": -NAMES, "y": n + 0.45, "text": "▶", "since": n, "until": n + 1}
        for n in range(len(steps))
    ]
    return {"names": names, "here": here}


def _held(gpu: int, step: RankStep, uncut: RankStep, number: int) -> list[Row]:
    """A slice where the ranks share the vector, else all of it; one line a step.

    Of queries, keys and values a rank has its own heads: a slice of each.
    """
    parts = 3 if step.name.startswith("QKV") else 1
    wide, whole = step.given[1] // parts, uncut.given[1] // parts
    first, ink = 0, "new"
    if step.remark == "partial sum":
        ink = "compute"
    elif wide < whole:
        first = gpu * wide
    look = {"y": number, "y2": number + 0.9, "ink": ink, "text": str(wide)}
    starts = (gpu * APART + part * whole + first for part in range(parts))
    return [{"x": start, "x2": start + wide, **look} for start in starts]


def _sentence(step: RankStep) -> str:
    """What the step is, and its shapes on GPU 0."""
    weight = f"weights {shown(step.weight)}, " if step.weight else ""
    shapes = f"{weight}vectors {shown(step.taken)} → {shown(step.given)}"
    return f"{WORDS[step.name]}. On each GPU: {shapes}."


def exchanges(strategy: str) -> Sequence[RankStep]:
    """The exchanges of one rank, in their order."""
    return [step for step in executed(strategy).steps[0] if step.is_collective]
