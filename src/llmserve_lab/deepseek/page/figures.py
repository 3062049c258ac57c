"""One step of the chapter as a live figure, a bar for each part."""

from __future__ import annotations

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.page import bands, charts
from llmserve_lab.deepseek.page.controls import (
    BALANCED,
    RATES,
    device_choice,
    fixed,
    group,
    sizes,
    sliders,
)
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict

GROUP = ("local_experts", "n_nodes", "far_share")
ROOM = Verdict(
    "room", "Weights and cache", "hbm_bytes", "held_bytes", ("do not fit", "fit")
)


def _step(formula: Formula, batch: str, **more: str | float) -> Bound:
    """A step's formula, what no control moves tied to its number."""
    at: dict[str, str | float] = {
        **fixed(),
        **{name: name for name in GROUP},
        "batch": batch,
        "chunk": 1.0,
        **more,
    }
    asked = {leaf.name for leaf in formula.leaves(keep=frozenset(at))}
    return Bound(formula, **{name: at[name] for name in at if name in asked})


def _held(**more: str | float) -> dict[str, Bound]:
    """Memory that weights take, and that all takes."""
    whole = {**more, "resident_bytes": "resident_bytes"}
    return {
        "resident_bytes": _step(f.RESIDENT_BYTES, "gpu_requests", **more),
        "held_bytes": _step(f.HELD_BYTES, "gpu_requests", **whole),
    }


def _sent() -> float:
    """What dispatch and combine take of the standing example's step, as a share."""
    blocks = worked.blocks_ms()
    return blocks["all_to_all_s"] / sum(blocks.values())


def waterfall() -> LiveFigure:
    """One batch through one step: what is read, computed and sent."""
    return LiveFigure(
        name="decode-step",
        title=(
            f"With {worked.MANY} requests on each of {worked.PLACE.n_gpus} H100s, "
            f"all-to-alls take {_sent():.0%} of a step"
        ),
        chart=charts.waterfall,
        controls=(
            *sliders(
                gpu_requests=256.0, context=2000.0, balancedness=BALANCED, ep=72.0
            ),
            device_choice(*RATES, "hbm_bytes"),
        ),
        derived={
            **group(n_experts=sizes()["n_experts"]),
            **_held(**sizes()),
            **{p.name: _step(p, "gpu_requests", **sizes()) for p in charts.PARTS},
            "mla_s": _step(f.MLA_S, "gpu_requests", **_known(charts.ATTENTION)),
            "experts_s": _step(f.EXPERTS_S, "gpu_requests", **_known(charts.EXPERTS)),
            "attn_phase_s": _step(
                f.ATTN_PHASE_S, "gpu_requests", **_known(("mla_s", charts.WHOLE[0]))
            ),
            "moe_phase_s": _step(
                f.MOE_PHASE_S, "gpu_requests", **_known(("experts_s", charts.WHOLE[1]))
            ),
            "turn_s": _step(
                f.TURN_S,
                "gpu_requests",
                **_known(("mla_s", "experts_s", *charts.WHOLE)),
            ),
        },
        readouts=(
            banded(Readout("attn_phase_s", "Attention"), bands.PART),
            banded(Readout("moe_phase_s", "Experts"), bands.PART),
            banded(Readout("all_to_all_s", "Dispatch and combine"), bands.PART),
            banded(Readout("turn_s", "The step"), bands.OF_STEP),
            ROOM,
        ),
        sentence=(
            "DeepSeek-V3 on {ep} × {device}, {gpu_requests} per GPU with {context}: "
            "attention takes {attn_phase_s} ({attn_elementwise_s} of it elementwise), "
            "the experts {moe_phase_s} ({moe_elementwise_s} of it elementwise), the "
            "all-to-alls {all_to_all_s}, other layers {other_s}; one after another, "
            "and with the time on the host, that is a step of {turn_s}. A frame is "
            "what reading and computing take together: they overlap, but not fully; in "
            "the attention kernel, the longer counts. Weights and cache {room}."
        ),
    )


def _known(names: tuple[str, ...]) -> dict[str, str]:
    """Results that are signals already."""
    return {name: name for name in names}
