"""The chapter's live figures: links, promises, and what each way serves."""

from __future__ import annotations

from typing import Any

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    BUDGETS,
    EXTRAS,
    GPUS,
    HANDS,
    LIMITS_S,
    LOADS,
    POOLS,
    SHOWN,
    SMALLS,
    TTFT_S,
    WHOLE,
    Demand,
    served_best,
)
from llmserve_lab.disaggregation.page import charts
from llmserve_lab.disaggregation.page.controls import (
    FITS_ALL,
    choice,
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
from llmserve_lab.page.live.readout import Bound, Readout, Refusal
from llmserve_lab.running_example import cost, device, model

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
            *link_choice(),
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
        refusal=Refusal(
            "two_decode_batch",
            1.0,
            "promise cannot be kept",
            f"{MACHINE}, prompts of {{prompt_len}}, answers of {{new_tokens}}: one "
            "request alone takes longer than {tpot_target} for a token. The promise "
            "cannot be kept in either way, so there is no rate to compare.",
        ),
        sentence=(
            f"{MACHINE}, prompts of {{prompt_len}}, answers of {{new_tokens}} "
            "at {tpot_target} promised for a token: {one_shared_rate} with one engine "
            "on each GPU, {two_best_pools_rate} with two pools at their best split, "
            "as a large fleet could have it."
        ),
        goal=Goal(
            "find a promise under which the best split carries less than ten percent "
            "more than one engine: too little for this page to draw a conclusion.",
            lambda one_shared_rate, two_best_pools_rate, two_decode_batch: (
                (two_best_pools_rate < 1.1 * one_shared_rate) & (two_decode_batch >= 1)
            ),
            {"tpot_target": 0.05},
        ),
    )


def goodput() -> LiveFigure:
    """Goodput against the promise, in three ways; what a small step launches chosen."""
    limits = {si(each, "s"): {"tpot_target": each} for each in LIMITS_S}
    asked = tuple(limits)
    paid = [f"{1e3 * share * cost().prompt_s:.1f} ms" for share in EXTRAS]
    extras = ("none, replayed", *paid[1:-1], f"{paid[-1]}, one by one")
    loads = tuple(each.name for each in LOADS)
    return LiveFigure(
        name="goodput",
        title="Simulated: under the strictest promise two pools serve most",
        chart=charts.goodput,
        controls=(
            Choice("load", "Load", loads, loads[0]),
            choice("limit", "Promised TPOT", limits, asked[1]),
            Choice("hand", "Hand-over", HANDS, HANDS[1]),
            Choice("extra", "Extra launches of a small step", extras, extras[0]),
            _looked_up("large_goodput", "", (WHOLE, HANDS[0])),
            _looked_up("small_goodput", "extra", *((w, HANDS[0]) for w in SMALLS)),
            _looked_up("pools_goodput", "hand", *((POOLS, hand) for hand in HANDS)),
        ),
        readouts=tuple(
            banded(Readout(f"{key}_goodput", f"Goodput, {way}"), PROMISED)
            for key, way in zip(("large", "small", "pools"), SHOWN, strict=True)
        ),
        sentence=(
            f"{MACHINE}, {{load}}, a first token within {si(TTFT_S, 's')} and "
            "{limit} for each further one. Goodput: {large_goodput} with one engine on "
            f"each GPU and {BUDGETS[0]:,} tokens an iteration; {{small_goodput}} with "
            f"{BUDGETS[-1]} (extra launches {{extra}}); "
            "{pools_goodput} with two pools, hand-over: {hand}."
        ),
        goal=Goal(
            "find extra launches with which two pools lead both budgets by more than "
            "ten percent under 20 ms.",
            lambda tpot_target, pools_goodput, large_goodput, small_goodput: (
                (tpot_target > 0.019)
                & (tpot_target < 0.021)
                & (pools_goodput > 1.1 * large_goodput)
                & (pools_goodput > 1.1 * small_goodput)
            ),
            {"limit": "20 ms", "extra": extras[1]},
        ),
    )


def _looked_up(name: str, by: str, *cases: tuple[str, str]) -> Lookup:
    """Goodput of a way by load, promise, and the choice that is its own."""

    def served(load: Demand, limit_s: float) -> tuple[float, ...]:
        return tuple(served_best(w, limit_s, h, load).per_s for w, h in cases)

    rows = tuple(tuple(served(each, s) for s in LIMITS_S) for each in LOADS)
    if by:
        return Lookup(name, ("load", "limit", by), rows, "request/s")
    alone = tuple(tuple(cell[0] for cell in row) for row in rows)
    return Lookup(name, ("load", "limit"), alone, "request/s")
