"""The chapter's live figure: what a ratio pays."""

from __future__ import annotations

from typing import Any

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.page import charts
from llmserve_lab.afd.page.controls import START, controls
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict

HIDES = ("the wire is not hidden", "the wire is hidden")
OPENS = "4 times slower"  # the wire of the first figure, so that the loop is seen
CORNERS = ("ratio_start", "ratio_attn", "ratio_loop", "ratio_end")


def signals(*names: str) -> dict[str, Any]:
    """Arguments of a formula that are read where they are derived once for all."""
    return {name: name for name in names}


TIMES = signals("attn_s", "comm_s")


def derived() -> dict[str, Formula | Bound]:
    """Times that no ratio changes, and the ratios, each from those before it."""
    return {
        "slot_tokens": f.SLOT_TOKENS_GEOMETRIC,
        "attn_s": f.ATTN_S,
        "comm_s": f.COMM_S,
        "ratio_attn": Bound(f.RATIO_ATTN, attn_s="attn_s"),
        "ratio_comm": Bound(f.RATIO_COMM, comm_s="comm_s"),
        "ratio_peak": f.RATIO_PEAK,
        "ratio_best": Bound(
            f.RATIO_BEST, **signals("ratio_attn", "ratio_comm", "ratio_peak")
        ),
        "ratio_start": Bound(f.RATIO_LOOP_START, **TIMES),
        "ratio_loop": Bound(f.RATIO_LOOP_PEAK, **TIMES),
        "ratio_end": Bound(f.RATIO_LOOP_END, **TIMES),
        "ratio_pipeline": Bound(f.RATIO_PIPELINE, **signals(*CORNERS, "ratio_peak")),
    }


def throughput() -> LiveFigure:
    """What each ratio pays, by three times alone and with the loop counted."""
    return LiveFigure(
        name="afd-throughput",
        title="The loop of a batch can bring the best ratio down",
        chart=charts.throughput,
        controls=controls(OPENS),
        derived=derived()
        | {
            "hidden_comm_s": Bound(f.HIDDEN_COMM_S, attn_s="attn_s"),
            "best_tokens_per_s": Bound(f.BEST_TOKENS_PER_S, ratio_best="ratio_best"),
        },
        readouts=(
            Readout("ratio_best", "Best ratio, paper"),
            Readout("ratio_pipeline", "Best ratio, loop counted"),
            Verdict("hidden", "At balance", "hidden_comm_s", "comm_s", HIDES),
        ),
        sentence=(
            "Batch {batch}, prompts of {mean_prompt} and answers of {mean_decode}, "
            "{n_batches} batches in flight, wire {wire}: the paper's best ratio is "
            "{ratio_best}; with the loop counted the best ratio is {ratio_pipeline}. "
            "At balance, {hidden}."
        ),
        goal=Goal(
            "bring the best ratio with the loop counted up to the paper's; leave the "
            "wire, the batch and the lengths as they are",
            lambda ratio_pipeline, ratio_best, wire, batch, mean_prompt, mean_decode: (
                (ratio_pipeline >= 0.999 * ratio_best)
                & (wire >= 1)
                & (wire <= 1)
                & (batch >= START["batch"])
                & (batch <= START["batch"])
                & (mean_prompt >= START["mean_prompt"])
                & (mean_prompt <= START["mean_prompt"])
                & (mean_decode >= START["mean_decode"])
                & (mean_decode <= START["mean_decode"])
            ),
            {"n_batches": 3.0},
        ),
    )
