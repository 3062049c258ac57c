"""The chapter's live figures: what pays, idle shares, and batches going round."""

from __future__ import annotations

from typing import Any

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.page import charts
from llmserve_lab.afd.page.controls import START, sliders
from llmserve_lab.afd.page.gantt import BUNDLES, FLIGHTS, drawn, times
from llmserve_lab.afd.simulation.bundle import ascend
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.formula.formula import Formula
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict

HIDES = ("the wire is waited for", "the wire is hidden")
STEP = "pipeline_s"
UNMEASURED = Unmeasured(
    "the paper's machine was simulated, and no measurement of one like it is published"
)
WHOLE = tuple(float(r) for r in range(2, 33))
CORNERS = ("ratio_start", "ratio_attn", "ratio_loop", "ratio_end")


def signals(*names: str) -> dict[str, Any]:
    """Arguments of a formula that are read where they are derived once for all."""
    return {name: name for name in names}


def at_start(formula: Formula, *derived: str) -> Bound:
    """``formula`` at the paper's setting; it reads what is ``derived`` and chosen."""
    known = {**ascend(), "batch": START["batch"], "slot_tokens": 600.0}
    return Bound.tied(formula, known, *derived)


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
    """What each ratio pays, in the paper's model and with the loop counted."""
    at_best = TIMES | {"af_ratio": "ratio_best"}
    return LiveFigure(
        name="afd-throughput",
        title="Two batches cannot hide the wire: the top is lower and comes earlier",
        chart=charts.throughput,
        controls=sliders(),
        derived=derived(),
        readouts=(
            Readout("ratio_best", "Best ratio, paper"),
            Readout("ratio_pipeline", "Best ratio, loop counted"),
            banded(
                Readout(
                    f.BEST_TOKENS_PER_S,
                    "Tokens/s the paper promises there",
                    ratio_best="ratio_best",
                ),
                UNMEASURED,
            ),
            banded(
                Readout(f.PIPELINE_TOKENS_PER_S, "Loop counted, there", **at_best),
                UNMEASURED,
            ),
            Readout("comm_s", "Wire, there and back"),
            Readout(f.HIDDEN_COMM_S, "Wire that stays hidden", attn_s="attn_s"),
            Verdict("hidden", "At balance", "hidden_comm_s", "comm_s", HIDES),
        ),
        sentence=(
            "Batch {batch}, prompts of {mean_prompt} and answers of {mean_decode}, "
            "{n_batches} batches in flight: the paper's best ratio is {ratio_best} and "
            "promises {best_tokens_per_s} per instance; with the loop counted it is "
            "{ratio_pipeline}, and the paper's ratio leaves {pipeline_tokens_per_s}. "
            "At balance, {hidden}."
        ),
    )


def idle() -> LiveFigure:
    """Idle shares of Attention and FFN at each ratio, and at one ratio in numbers."""
    return LiveFigure(
        name="afd-idle",
        title="Too few Attention machines and the FFN waits; too many and they do",
        chart=charts.idle,
        controls=(Slider(quantity("af_ratio"), WHOLE, 6.0, "Ratio"), *sliders()),
        derived=derived(),
        readouts=(
            Readout("ratio_pipeline", "Best ratio, loop counted"),
            banded(Readout(f.PIPELINE_S, "A step takes", **TIMES), UNMEASURED),
            Readout(f.IDLE_ATTN, "Attention waits", **TIMES),
            Readout(f.IDLE_FFN, "FFN waits", **TIMES),
        ),
        sentence=(
            "Batch {batch}, prompts of {mean_prompt} and answers of {mean_decode}, "
            "{n_batches} batches in flight: at a ratio of {af_ratio} Attention waits "
            "for a share of {idle_attn} of the time and the FFN for {idle_ffn}; the "
            "best ratio is {ratio_pipeline}."
        ),
    )


def rounds() -> LiveFigure:
    """Batches going round, as the state machine logged them."""
    (step_s, attn_s), by = times(), ("bundle", "flight")
    seen = {"pipeline_s": "seen_step_s"}
    return LiveFigure(
        name="afd-rounds",
        title="A gap is a machine that waits: a third batch fills few of them",
        chart=lambda: charts.rounds(drawn()),
        controls=(
            Choice(
                "bundle",
                "Bundle",
                tuple(f"{r}A–1F" for r in BUNDLES),
                "9A–1F",
                {"af_ratio": tuple(float(r) for r in BUNDLES)},
            ),
            Choice(
                "flight",
                "In flight",
                tuple(f"{m} batches" for m in FLIGHTS),
                "2 batches",
                {"n_batches": tuple(float(m) for m in FLIGHTS)},
            ),
            Lookup("seen_step_s", by, step_s),
            Lookup("seen_attn_s", by, attn_s),
        ),
        derived={
            "attn_s": at_start(f.ATTN_S),
            "ffn_s": at_start(f.FFN_S),
            STEP: at_start(f.PIPELINE_S, "attn_s", "ffn_s"),
        },
        readouts=(
            Readout("attn_s", "Attention, mean load"),
            Readout("ffn_s", "FFN"),
            Readout("seen_step_s", "A step, as drawn"),
            Readout(
                f.IDLE_ATTN,
                "Attention waits, as seen",
                name="seen_attn",
                attn_s="seen_attn_s",
                **seen,
            ),
            Readout(
                f.IDLE_FFN,
                "FFN waits, as seen",
                name="seen_ffn",
                **signals("ffn_s"),
                **seen,
            ),
            Readout(STEP, "A step, equal loads"),
            Readout(
                f.IDLE_ATTN, "Attention waits, equal loads", **signals("attn_s", STEP)
            ),
            Readout(f.IDLE_FFN, "FFN waits, equal loads", **signals("ffn_s", STEP)),
        ),
        sentence=(
            "{bundle} with {flight} in flight: as simulated and drawn Attention waits "
            "for a share of {seen_attn} of the time and the FFN for {seen_ffn}. At "
            "equal loads Attention takes {attn_s}, the FFN {ffn_s} and a step "
            "{pipeline_s}, and they wait for {idle_attn} and {idle_ffn}."
        ),
    )
