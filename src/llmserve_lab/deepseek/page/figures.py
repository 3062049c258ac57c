"""The chapter's live figures: the frontier, one step as a waterfall, what fits."""

from __future__ import annotations

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.page import charts
from llmserve_lab.deepseek.page.controls import (
    HELD,
    RATES,
    device_choice,
    fixed,
    group,
    model_choice,
    roomy,
    sizes,
    sliders,
)
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.roofline.formulas import BATCH_FITS

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


def frontier() -> LiveFigure:
    """Throughput of a GPU against what a user sees, with and without two halves."""
    return LiveFigure(
        name="frontier",
        title="Two halves hide the wire from many users, and slow a few down",
        chart=lambda: charts.frontier(fixed()),
        controls=(
            *sliders(gpu_requests=256.0, context=2048.0, balancedness=0.7, ep=72.0),
            device_choice(*RATES, "hbm_bytes"),
            model_choice(),
        ),
        derived={
            **group(),
            **_held(),
            "half": Bound(f.SPLIT, n_batches=2.0),
            "hidden_s": _step(f.HIDDEN_S, "half", n_batches=2.0),
            "turn_s": _step(f.TURN_S, "gpu_requests"),
            "hidden_user": Bound(
                f.USER_TOKENS_PER_S, accepted=1.0, twin_step_s="hidden_s"
            ),
            "turn_user": Bound(f.USER_TOKENS_PER_S, accepted=1.0, twin_step_s="turn_s"),
            "hidden_gpu": Bound(f.GPU_TOKENS_PER_S, user_tokens_per_s="hidden_user"),
            "turn_gpu": Bound(f.GPU_TOKENS_PER_S, user_tokens_per_s="turn_user"),
        },
        readouts=(
            Readout("hidden_s", "Two halves: a step"),
            Readout("hidden_gpu", "Two halves: a GPU makes"),
            Readout("turn_s", "One after another: a step"),
            Readout("turn_gpu", "One after another: a GPU makes"),
            Verdict(
                "better",
                "Faster here:",
                "hidden_s",
                "turn_s",
                ("two halves", "one after another"),
            ),
            ROOM,
        ),
        sentence=(
            "{model} on {ep} × {device}, {gpu_requests} per GPU with {context}: in two "
            "halves a user sees {hidden_user} and a GPU makes {hidden_gpu}; one after "
            "another {turn_user} and {turn_gpu}. Faster here: {better}. Weights and "
            "cache {room}; the curves end where memory is full."
        ),
    )


def waterfall() -> LiveFigure:
    """One batch through one step: what is read, computed and sent."""
    return LiveFigure(
        name="decode-step",
        title="One block after another; a block lasts a little longer than its bars",
        chart=charts.waterfall,
        controls=(
            *sliders(gpu_requests=128.0, context=4096.0, balancedness=0.7, ep=72.0),
            device_choice(*RATES, "hbm_bytes"),
        ),
        derived={
            **group(n_experts=sizes()["n_experts"]),
            **_held(**sizes()),
            **{p.name: _step(p, "gpu_requests", **sizes()) for p in charts.PARTS},
            "mla_s": _step(f.MLA_S, "gpu_requests", **_known("mla")),
            "experts_s": _step(f.EXPERTS_S, "gpu_requests", **_known("expert")),
            "turn_s": _step(
                f.TURN_S,
                "gpu_requests",
                **{name: name for name in ("mla_s", "experts_s", *charts.WHOLE)},
            ),
        },
        readouts=(
            Readout("mla_s", "Attention"),
            Readout("experts_s", "Experts"),
            Readout("pass_s", "Between the products"),
            Readout("wire_s", "Dispatch and combine"),
            Readout("rest_s", "Dense layers, router, LM head"),
            Readout("turn_s", "The step"),
            Verdict(
                "bound",
                "Attention is",
                "mla_compute_s",
                "mla_read_s",
                ("memory-bound", "compute-bound"),
            ),
            ROOM,
        ),
        sentence=(
            "DeepSeek-V3 on {ep} × {device}, {gpu_requests} per GPU with {context}: "
            "attention takes {mla_s} and is {bound}, the experts {experts_s}, what "
            "lies between the products {pass_s}, the wire {wire_s}, the rest {rest_s}; "
            "one after another that is a step of {turn_s}. Weights and cache {room}."
        ),
    )


def _known(block: str) -> dict[str, str]:
    """The two times of a block, which are signals already."""
    return {f"{block}_{kind}_s": f"{block}_{kind}_s" for kind in ("read", "compute")}


def memory() -> LiveFigure:
    """The batch that fits against the context, for every setup."""
    return LiveFigure(
        name="batch-that-fits",
        title="Twice the context, half the batch; more GPUs leave more room on each",
        chart=charts.memory,
        controls=(
            *sliders(context=4096.0),
            roomy(),
            device_choice("hbm_bytes"),
            model_choice(*HELD),
        ),
        derived={
            "local_experts": group()["local_experts"],
            "resident_bytes": _held()["resident_bytes"],
            "fits": Bound(BATCH_FITS, weight_bytes="resident_bytes"),
        },
        readouts=(
            Readout("fits", "Requests that fit on a GPU"),
            Readout("resident_bytes", "Weights on a GPU"),
        ),
        sentence=(
            "{model} on {ep} × {device}: beside {resident_bytes} of weights {fits} of "
            "{context} fit on a GPU."
        ),
    )
