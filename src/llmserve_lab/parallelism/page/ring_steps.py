"""Blocks of keys and values on four GPUs, going round, with what each GPU knows."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes
from llmserve_lab.parallelism.dealing import zigzag
from llmserve_lab.parallelism.online import TOKENS, BlockHeld, play

Row = dict[str, Any]
GPUS, NUMBER = 4, 8  # bytes of a number in NumPy
PLACES = ((0.0, 0.6), (6.4, 0.6), (6.4, 6.2), (0.0, 6.2))  # upper left of each GPU
LETTERS = "ABCD"  # of the GPU that a block began on
LOG = "pass-KV"


def ring_of_blocks() -> StepFigure:
    """Four GPUs, two tokens each: three hops, and every query has seen every key."""
    ranks = play(GPUS)
    return StepFigure(
        name="ring-attention",
        title="Three hops bring each GPU every block",
        scene=Scene(
            x=SceneAxis((-0.4, 10.8), shown=False),
            y=SceneAxis((9.6, -0.5), shown=False),
            marks=(
                Links(table="links"),
                Cells(table="cells", x2="x2", text="text"),
                Labels(table="words"),
            ),
            height=322,
        ),
        logs={LOG: _log(ranks)},
        stills=((LOG, 0), (LOG, 1), (LOG, 3)),
        start=GPUS - 1,
        legend={
            "new": "the GPU's own two queries",
            **{
                letter: f"keys and values that began on GPU {i}"
                for i, letter in enumerate(LETTERS)
            },
        },
        counters=(
            Counter("hops"),
            Counter("numbers that each GPU has sent (a key or a value is one)"),
            Counter("pairs that each GPU has computed"),
        ),
    )


def _log(ranks: tuple[tuple[BlockHeld, ...], ...]) -> StepLog:
    frames = [Frame(_sentence(step), _counted(ranks, step)) for step in range(GPUS)]
    words = [row for gpu in range(GPUS) for row in _words(gpu, ranks[gpu])]
    words += [row for gpu in range(GPUS) for row in _sent(gpu, ranks[gpu])]
    cells = [row for gpu in range(GPUS) for row in _cells(gpu, ranks[gpu])]
    links = [row for gpu in range(GPUS) for row in _links(gpu, ranks[gpu])]
    return StepLog(tuple(frames), {"cells": cells, "links": links, "words": words})


def _counted(
    ranks: tuple[tuple[BlockHeld, ...], ...], step: int
) -> tuple[float, float, float]:
    """Hops, numbers sent, pairs: the same on all GPUs, or it would not be shown."""
    sent = {each[step].sent_bytes / NUMBER for each in ranks}
    pairs = {sum(held.pairs for held in each[: step + 1]) for each in ranks}
    ((numbers,), (work,)) = (sent, pairs)
    return float(step), numbers, float(work)


def _names(gpu: int) -> str:
    early, late = zigzag(TOKENS, GPUS)[gpu]
    return f"{early + 1}, {late + 1}"


def _cells(gpu: int, steps: tuple[BlockHeld, ...]) -> list[Row]:
    """The queries, which stay, and the block held in each frame."""
    x, y = PLACES[gpu]
    own = {"x": x, "x2": x + 2, "y": y, "ink": "new", "text": f"Q {_names(gpu)}"}
    blocks = [
        {
            "held": {
                "x": x + 2.1,
                "x2": x + 4.1,
                "y": y,
                "ink": LETTERS[held.block],
                "text": f"KV {_names(held.block)}",
            }
        }
        for held in steps
    ]
    return [own, *lifetimes(blocks)]


def _words(gpu: int, steps: tuple[BlockHeld, ...]) -> list[Row]:
    """The GPU's name; what its later token meets, and the softmax that it keeps."""
    x, y = PLACES[gpu]
    late = zigzag(TOKENS, GPUS)[gpu][-1] + 1
    names = [
        {"x": x + 2.05, "y": y - 0.4, "text": f"GPU {gpu}: token {late}"},
    ]
    known = [
        {
            "scores": {
                **here,
                "y": y + 1.4,
                "text": f"scores {_listed(held.scores)}",
            },
            "values": {
                **here,
                "y": y + 1.95,
                "text": f"values {_listed(held.values)}",
            },
            "sums": {
                **here,
                "y": y + 2.5,
                "text": f"max {held.largest:.1f}, sum {held.total:.2f}",
            },
            "output": {**here, "y": y + 3.05, "text": f"output {held.mixed:.2f}"},
        }
        for held in steps
        for here in ({"x": x + 2.05},)
    ]
    return [*names, *lifetimes(known)]


def _listed(numbers: tuple[float | None, ...]) -> str:
    """One for each token of the block; a dash where the mask hides a later one."""
    return ", ".join(
        "–" if each is None else f"{each:.1f}".replace("-", "−") for each in numbers
    )


def _links(gpu: int, steps: tuple[BlockHeld, ...]) -> list[Row]:
    """The hop that brought a frame its blocks: from one GPU to the next."""
    following = (gpu + 1) % GPUS
    (x, y), (x2, y2) = PLACES[gpu], PLACES[following]
    ends = {"x": x + 2.05, "y": y + 0.5, "x2": x2 + 2.05, "y2": y2 + 0.5}
    if y == y2:
        ends["x"], ends["x2"] = (x + 4.2, x2 - 0.1) if x < x2 else (x - 0.1, x2 + 4.2)
    else:
        ends["y"], ends["y2"] = (y + 3.4, y2 - 0.8) if y < y2 else (y - 0.8, y2 + 3.4)
    return [
        {
            **ends,
            "ink": LETTERS[steps[frame - 1].block],
            "since": frame,
            "until": frame + 1,
        }
        for frame in range(1, len(steps))
    ]


def _sent(gpu: int, steps: tuple[BlockHeld, ...]) -> list[Row]:
    """What an arrow carries, beside it."""
    (x, y), (x2, y2) = PLACES[gpu], PLACES[(gpu + 1) % GPUS]
    if y == y2:  # over the arrow
        here = {"x": (x + x2) / 2 + 2.05, "y": y + 0.05}
    else:  # towards the middle of the picture
        inward = 1.15 if x < 5 else -1.15
        here = {"x": x + 2.05 + inward, "y": (y + y2) / 2 + 1.05}
    return [
        {
            **here,
            "text": f"KV {_names(steps[frame - 1].block)}",
            "since": frame,
            "until": frame + 1,
        }
        for frame in range(1, len(steps))
    ]


def _sentence(step: int) -> str:
    if not step:
        return (
            "Eight tokens, dealt zig-zag: every GPU has an early and a late one. It "
            "begins with its own block of keys and values. Under the blocks stand the "
            "scores of its late token and the values that they weight."
        )
    last = " Now every query has met every key that it may see." * (step == GPUS - 1)
    return (
        "Each GPU passes its block on and merges the next one into what it knows."
        f"{last}"
    )
