"""The chapter's live figures: links, promises, and what each way serves."""

from __future__ import annotations

from typing import Any

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    BUDGETS,
    GPUS,
    HANDS,
    KINDS,
    LIMITS_S,
    LOADS,
    SHOWN,
    TTFT_S,
    best,
)
from llmserve_lab.disaggregation.page import charts
from llmserve_lab.disaggregation.page.controls import (
    FITS_ALL,
    hardware,
    link_choice,
    sliders,
)
from llmserve_lab.disaggregation.page.pools import pools_by_layer
from llmserve_lab.disaggregation.page.router import means as router_means
from llmserve_lab.disaggregation.page.router import routes_by_rule
from llmserve_lab.disaggregation.served import ALONE, PROMISED, SENT, known, load
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import si
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout
from llmserve_lab.running_example import device, model

__all__ = [
    "goodput",
    "links",
    "pools_by_layer",
    "promises",
    "router_means",
    "routes_by_rule",
]
MACHINE = f"{model().name}, {GPUS} × {device().name}"
FREE = ("prompt_len", "new_tokens", "tpot_target")


def links() -> LiveFigure:
    """Every link against the rate at which a prefill makes cache."""
    stand = {"weight_bytes": "weight_bytes"}
    return LiveFigure(
        name="links",
        title="A link right of the line hides the hand-over behind the prefill",
        chart=charts.ruler,
        controls=(
            Slider(quantity("prompt_len"), FITS_ALL, 1000.0, "Prompt"),
            *hardware(),
            link_choice(),
        ),
        derived={
            "made_prefill_s": Bound(f.PREFILL_S, **stand),
            "made_kv_made_per_s": Bound(f.KV_MADE_PER_S, prefill_s="made_prefill_s"),
        },
        readouts=(
            Readout(f.HANDOFF_BYTES, "Cache to hand over"),
            banded(Readout("made_kv_made_per_s", "Cache that a prefill makes"), ALONE),
            banded(Readout(f.TRANSFER_S, "Time to send the cache"), SENT),
            banded(
                Readout(
                    f.EXPOSED_S,
                    "Part of the sending that outlasts the prefill",
                    prefill_s="made_prefill_s",
                ),
                SENT,
            ),
        ),
        sentence=(
            "{model} on {accelerator}, a prompt of {prompt_len}: {handoff_bytes} of "
            "cache, made at {made_kv_made_per_s}. {link} sends it in {transfer_s}; "
            "layer by layer, {exposed_s} of that are left when the prefill ends."
        ),
        goal=Goal(
            "find a case in which InfiniBand HDR falls behind.",
            lambda link_bw, eff_link, made_kv_made_per_s: (
                (link_bw < 26e9)
                & (link_bw > 24e9)
                & (link_bw * eff_link < made_kv_made_per_s)
            ),
            {"model": "Llama-2-7B", "link": "InfiniBand HDR"},
        ),
    )


def tied(formula: Formula, **at: Any) -> Bound:
    """A formula on the chapter's machine, what the sliders move left open."""
    half = {"n_prefill": GPUS / 2, "n_decode": GPUS / 2}
    has = {**known(load(), **half), **at}
    stand = frozenset({"weight_bytes", *at})
    asked = {leaf.name for leaf in formula.leaves(keep=stand)}
    open_ = {name for name in FREE if name not in at}
    return Bound(formula, **{n: v for n, v in has.items() if n in asked - open_})


def promises() -> LiveFigure:
    """Time per token against the rate, and what a promise leaves each way."""
    return LiveFigure(
        name="promises",
        title="Under a strict promise two well-sized pools carry more than one engine",
        chart=charts.promises,
        controls=sliders(
            tpot_target=0.015,
            prompt_len=1000.0,
            new_tokens=200.0,
        ),
        derived={
            "batch_fits": tied(f.ROOM_BATCH),
            "one_shared_batch": tied(f.SHARED_BATCH, batch_fits="batch_fits"),
            "two_decode_batch": tied(f.DECODE_BATCH, batch_fits="batch_fits"),
            "one_shared_rate": tied(f.SHARED_RATE, shared_batch="one_shared_batch"),
            "two_best_pools_rate": tied(
                f.BEST_POOLS_RATE, decode_batch="two_decode_batch"
            ),
        },
        readouts=(
            Readout("one_shared_batch", "Batch of one engine"),
            Readout("two_decode_batch", "Batch of a decode GPU"),
            banded(
                Readout("one_shared_rate", "Rate of one engine on each GPU"), PROMISED
            ),
            banded(
                Readout("two_best_pools_rate", "Rate of two pools, best split"),
                PROMISED,
            ),
        ),
        sentence=(
            f"{MACHINE}, prompts of {{prompt_len}}, answers of {{new_tokens}} "
            "at {tpot_target} promised for a token: {one_shared_rate} with one engine "
            "on each GPU, {two_best_pools_rate} with two pools at their best split, "
            "as a large fleet could have it."
        ),
        goal=Goal(
            "find a promise under which the best split carries less than ten percent "
            "more than one engine: no difference that this model can tell.",
            lambda one_shared_rate, two_best_pools_rate: (
                two_best_pools_rate < 1.1 * one_shared_rate
            ),
            {"tpot_target": 0.05},
        ),
    )


def goodput() -> LiveFigure:
    """Share of requests within both limits against the rate, in three ways."""
    limits = tuple(si(each, "s") for each in LIMITS_S)
    default = limits[1]
    signals = ("large_goodput", "small_goodput", "pools_goodput")
    names = dict(zip(SHOWN, signals, strict=True))
    return LiveFigure(
        name="goodput",
        title="Simulated: two pools gain most under the strictest promise",
        chart=charts.goodput,
        controls=(
            Choice("load", "Load", tuple(e.name for e in LOADS), LOADS[0].name),
            Choice("limit", "Promised TPOT", limits, default),
            Choice("hand", "Hand-over", HANDS, HANDS[1]),
            *(
                Lookup(name, ("load", "limit", "hand"), _rates(way), "request/s")
                for way, name in names.items()
            ),
        ),
        readouts=tuple(
            banded(Readout(name, f"Goodput, {way}"), PROMISED)
            for way, name in names.items()
        ),
        sentence=(
            f"{MACHINE}, {{load}}, a first token within {si(TTFT_S, 's')} and "
            "{limit} for each further one, hand-over: {hand}. Goodput: "
            "{large_goodput} with one engine on each GPU that reads at most "
            f"{BUDGETS[0]:,} tokens an iteration, {{small_goodput}} with "
            f"{BUDGETS[-1]}; "
            "{pools_goodput} with two pools."
        ),
        goal=Goal(
            "find a load and a promise under which two pools serve 1.5 times as many.",
            lambda pools_goodput, large_goodput: pools_goodput > 1.5 * large_goodput,
            {"load": LOADS[1].name, "limit": limits[0]},
        ),
    )


def _rates(way: str) -> tuple[Any, ...]:
    """Goodput of a way, by load, promise and hand-over."""
    return tuple(
        tuple(
            tuple(
                best(each, way, kind=KINDS[0], limit_s=limit, hand=hand).per_s
                for hand in HANDS
            )
            for limit in LIMITS_S
        )
        for each in LOADS
    )
