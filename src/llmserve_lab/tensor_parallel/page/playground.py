"""The chapter's bench: any model of the catalog, cut over any number of its ranks."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog import ACCELERATORS, LINKS, Given, ModelShape, machine, wire
from llmserve_lab.catalog import MODELS as SHAPES
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import sizes_of
from llmserve_lab.tensor_parallel.page.stills import degrees
from llmserve_lab.transformer.shard import check_degree

MODELS = {each.name: each for each in SHAPES.values()}
MACHINES = {each.name: each for each in ACCELERATORS.values() if each.disclosed}
WIRES = {each.name: each for each in LINKS.values() if each.latency is not None}
DEGREES = tuple(2**i for i in range(8))
STEPS = (f.RANK_S, f.LINK_S, f.TP_S, f.LINK_SHARE, f.TP_SPEEDUP)


def bench() -> Bench:
    """Time and share of communication, worked out; the picture shows the start."""
    knobs: dict[str, Knob] = {
        "model": Choose("model", tuple(MODELS), "Llama-3-70B"),
        "accelerator": Choose("accelerator", tuple(MACHINES), "H100 SXM"),
        "link": Choose("link", tuple(WIRES), LINKS["nvlink4"].name),
        "tp": Turn("ranks (TP degree)", 1, 512, 8),
        "batch": Turn("requests in the batch", 1, 100_000, 32),
        "context": Turn("tokens in cache each", 0, 10_000_000, 1024),
        "chunk": Turn("new tokens each", 1, 1_000_000, 1),
    }
    start: dict[str, Any] = {
        name: getattr(knob, "default", "") for name, knob in knobs.items()
    }
    picture = _picture(**start)[0]
    return Bench("Bench: cut a model of your choice", knobs, _show, picture)


def _picture(
    *, model: str, accelerator: str, link: str, tp: int, **load: int
) -> tuple[StaticFigure, dict[str, Given]]:
    """The picture, and every argument of the chapter's formulas at these settings.

    Raises:
        ValueError: the model cannot be cut for so many ranks.
    """
    shape = MODELS[model]
    check_degree(shape, tp)
    known = sizes_of(shape) | machine(MACHINES[accelerator]) | wire(WIRES[link])
    known |= {"n_ranks": tp, **load}
    title = f"{model} on {tp} × {accelerator} over {link}"
    return degrees(title, known, [g for g in DEGREES if _can_be_cut(shape, g)]), known


def _can_be_cut(shape: ModelShape, tp: int) -> bool:
    try:
        check_degree(shape, tp)
    except ValueError:
        return False
    return True


def _show(**settings: Any) -> str:
    """The picture, and the worked substitution of each step."""
    picture, known = _picture(**settings)
    worked = (f"$${step.worked(known).latex}$$" for step in STEPS)
    return "\n".join([picture.html(), *worked])
