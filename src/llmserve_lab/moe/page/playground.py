"""The chapter's bench: any number of experts, ranks and copies, and a popularity."""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.text import plain
from llmserve_lab.moe.page.stills import loads, placements
from llmserve_lab.moe.placement import balance
from llmserve_lab.moe.routing_sampler import popular
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Knob, Turn
from llmserve_lab.transformer.arithmetic import Integers

PER_CENT = 100


def bench() -> Bench:
    """Loads of ranks as simulated; the picture shows the start."""
    knobs: dict[str, Knob] = {
        "n_experts": Turn("routed experts", 1, 1024, 256),
        "top_k": Turn("experts of a token", 1, 64, 8),
        "num_ranks": Turn("GPUs", 1, 128, 64),
        "n_rows": Turn("tokens in the batch", 1, 16_384, 4096),
        "steepness": Turn("Zipf's exponent, in %", 0, 300, 200),
        "extra": Turn("replicas", 0, 512, 64),
        "seed": Turn("seed", 0, 10_000, 0),
    }
    start = {name: int(getattr(knob, "default", 0)) for name, knob in knobs.items()}
    return Bench("Bench: place the experts yourself", knobs, _show, _picture(start)[0])


def _picture(settings: dict[str, int]) -> tuple[StaticFigure, Integers]:
    """The picture, and the rows of each expert at these settings.

    Raises:
        ValueError: experts fill the ranks evenly neither alone nor with copies, or
            top_k is more than there are experts.
    """
    known = dict(settings)
    num_ranks, extra = known.pop("num_ranks"), known.pop("extra")
    steepness = known.pop("steepness") / PER_CENT
    rows = popular(steepness=steepness, **known)
    title = (
        f"{known['n_rows']} tokens, {known['top_k']} of {known['n_experts']} experts "
        f"each, on {num_ranks} GPUs, Zipf {plain(steepness)}"
    )
    found = loads(title, rows, num_ranks=num_ranks, extra=extra, name="moe.bench")
    return found, rows


def _show(**settings: Any) -> str:
    """The picture, and for each placement what the layer waits for."""
    picture, rows = _picture(settings)
    ways = placements(rows, settings["num_ranks"], settings["extra"])
    found = {name: way.loads(rows) for name, way in ways.items()}
    table = Table(
        "What the slowest rank has to do",
        ("experts housed", "rows, mean", "rows, busiest", "balancedness"),
        [
            (name, float(load.mean()), float(load.max()), balance(load))
            for name, load in found.items()
        ],
    )
    return "\n".join([picture.html(), table._repr_html_()])
