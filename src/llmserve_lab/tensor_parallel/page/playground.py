"""The chapter's bench: any dense model of the catalog on the GPUs of a server."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog import MODELS as SHAPES
from llmserve_lab.catalog import Given, ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.formula.text import si
from llmserve_lab.page.html import escape, tag
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import (
    CHOSEN_MACHINES,
    DEVICE,
    MODEL,
    served,
)
from llmserve_lab.tensor_parallel.page.stills import degrees, has_room
from llmserve_lab.transformer.shard import check_degree

MODELS = {
    each.name: each
    for each in SHAPES.values()
    if isinstance(each.attention, GroupedQueryAttention)
    and not isinstance(each.ffn, MoeFfn)
}
MACHINES = {each.name: each for each in CHOSEN_MACHINES}
DEGREES = (1, 2, 4, 8)
STEPS = (f.RANK_S, f.BESIDE_S, f.TP_S)
TARGET_S = 0.03
LEAST = 64  # requests
GOAL = (
    f"Goal: serve {LEAST} requests of {MODEL.name} with 8192 tokens in cache each, "
    f"with a token at least every {si(TARGET_S, 's')}, on as few GPUs as possible."
)


def bench() -> Bench:
    """Time and memory of a group, worked out; the picture shows the start."""
    knobs: dict[str, Knob] = {
        "model": Choose("model", tuple(MODELS), MODEL.name),
        "accelerator": Choose("accelerator", tuple(MACHINES), DEVICE.name),
        "tp": Turn("GPUs (TP degree)", 1, 8, 2),
        "batch": Turn("requests in the batch", 1, 4096, 16),
        "context": Turn("tokens in cache each", 0, 1_000_000, 1000),
    }
    start: dict[str, Any] = {
        name: getattr(knob, "default", "") for name, knob in knobs.items()
    }
    picture = _picture(**start)[0]
    return Bench("Bench: how many GPUs for a model?", knobs, _show, picture)


def _picture(
    *, model: str, accelerator: str, tp: int, **load: int
) -> tuple[StaticFigure, dict[str, Given]]:
    """The picture, and every argument of the chapter's formulas at these settings.

    Raises:
        ValueError: the model cannot be cut for so many ranks.
    """
    shape = MODELS[model]
    check_degree(shape, tp)
    known = served(shape, MACHINES[accelerator])
    known |= {"n_ranks": tp, "chunk": 1, **load}
    title = f"{model} on {tp} × {accelerator}"
    return degrees(title, known, [g for g in DEGREES if _can_be_cut(shape, g)]), known


def _can_be_cut(shape: ModelShape, tp: int) -> bool:
    try:
        check_degree(shape, tp)
    except ValueError:
        return False
    return True


def verdict(model: str, known: dict[str, Given]) -> str:
    """Whether it fits, and whether the goal is reached."""
    held, room = float(f.RANK_BYTES.at(known)), float(known["hbm_bytes"])
    enough = has_room(known, float(known["n_ranks"]))
    fits = "fits into" if enough else "does not fit into"
    text = f"Each GPU holds {si(held, 'byte')}, which {fits} {si(room, 'byte')}."
    if (
        enough
        and model == MODEL.name
        and float(known["batch"]) >= LEAST
        and float(known["context"]) >= 8192
        and float(f.TP_S.at(known)) <= TARGET_S
    ):
        text += " The goal is reached: could fewer GPUs do it?"
    return text


def _show(**settings: Any) -> str:
    """The goal, the picture, and the worked substitution of each step."""
    picture, known = _picture(**settings)
    words = (
        tag("p", escape(each)) for each in (GOAL, verdict(settings["model"], known))
    )
    worked = (f"$${step.worked(known).latex}$$" for step in STEPS)
    return "\n".join([*words, picture.html(), *worked])
