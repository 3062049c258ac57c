"""The chapter's figures: a pipeline to fill, and two mechanisms to step through."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.catalog import MODELS, Given
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import (
    CHOSEN_LINKS,
    DEVICE,
    MODEL,
    on,
    over,
    sizes_of,
)
from llmserve_lab.parallelism.page import charts, pipe_steps, ring_steps
from llmserve_lab.validation import achieved

STOPS = {
    "n_stages": (1.0, 2.0, 4.0, 8.0),
    "n_batches": tuple(map(float, charts.IN_FLIGHT)),
    "batch": tuple(2.0**i for i in range(8)),
    "context": (0.0, 1000.0, *(2.0**i for i in range(11, 15))),
}
FITS = ("it fits", "it does not fit")
WANTED, TARGET_S = 2000, 0.060
MODELS_SHOWN = (MODEL, MODELS["llama-3.1-8b"])
UNSEEN = Unmeasured("no pipeline is among the measured servers")


def pipeline() -> StepFigure:
    """Batches through four stages: prefill, and decode with one batch and with four."""
    return pipe_steps.pipeline_steps()


def ring() -> StepFigure:
    """Blocks of keys and values round four GPUs."""
    return ring_steps.ring_of_blocks()


def _slider(name: str, default: float, label: str = "") -> Slider:
    return Slider(quantity(name), STOPS[name], default, label)


def _choice(
    name: str, label: str, settings: Mapping[str, Mapping[str, Given]]
) -> Choice:
    """A choice whose options each give a number to the same signals."""
    default, first = next(iter(settings.items()))
    columns = {
        signal: tuple(each[signal] for each in settings.values()) for signal in first
    }
    return Choice(name, label, tuple(settings), default, columns)


def pipe_rate() -> LiveFigure:
    """Tokens per second of a pipeline against the batches in flight."""
    common = {**achieved().beside_the_work(), **on(DEVICE), "chunk": 1.0}
    models = {each.name: {**sizes_of(each), **common} for each in MODELS_SHOWN}
    return LiveFigure(
        name="pipe-rate",
        title="Throughput grows until as many batches as stages are in flight",
        chart=charts.pipe_rate,
        controls=(
            _slider("n_stages", 4.0, "Stages, a GPU each"),
            _slider("n_batches", 2.0, "Batches in flight"),
            _slider("batch", 16.0, "Requests in a batch"),
            _slider("context", 1000.0, "Tokens in each cache"),
            _choice("model", "Model", models),
            _choice("link", "Link", {each.name: over(each) for each in CHOSEN_LINKS}),
        ),
        derived={
            "pipe_token_s": Bound(f.PIPE_TOKEN_S),
            "stage_bytes": Bound(f.STAGE_BYTES),
        },
        readouts=(
            banded(Readout("pipe_token_s", "Token to token"), UNSEEN),
            banded(Readout(f.PIPE_RATE, "Whole pipeline"), UNSEEN),
            Readout(f.DECODE_BUBBLE, "Bubble"),
            Verdict("fits", "In its memory", "stage_bytes", "hbm_bytes", FITS),
        ),
        sentence=(
            "{model} in a pipeline of {n_stages} H100 SXM, each an equal stage; "
            "the link is {link}. In flight are {n_batches} (the "
            "framed bar), with {batch} in each. "
            "The time from token to token is {pipe_token_s}, "
            "and the pipeline makes {pipe_rate} (over the bars); its bubble, the share "
            "of time in "
            "which a stage has nothing to do, is {decode_bubble}. Weights and cache of "
            "a GPU take {stage_bytes}: {fits}. The times are predicted; in decode "
            "no pipeline was measured."
        ),
        goal=Goal(
            f"Llama-3.1-70B: at least {WANTED:,} tokens per second, at most "
            f"{1e3 * TARGET_S:.0f} ms from token to token, 1,000 tokens or more in "
            "each cache, and room in memory",
            lambda model, context, pipe_rate, pipe_token_s, stage_bytes, hbm_bytes: (
                (model < 1)
                & (context >= 1000)
                & (pipe_rate >= WANTED)
                & (pipe_token_s <= TARGET_S)
                & (stage_bytes < hbm_bytes)
            ),
            {"n_stages": 4.0, "n_batches": 4.0, "batch": 32.0},
        ),
    )
