"""The chapter's live figures: lanes of tokens, a chunk from a target, its price."""

from __future__ import annotations

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import CHUNKS, beats, in_chunks, ttft_s
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    LONG,
    PROMPT,
    TARGET_S,
    decodes,
    setting,
)
from llmserve_lab.continuous_batching.page import charts
from llmserve_lab.continuous_batching.page.controls import (
    PREFIXES,
    PRICED,
    PROMPTS,
    STOPS,
    TARGETS,
    constants,
)
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.roofline import formulas as roofline

KEPT = ("breaks the target", "keeps the target")
LARGEST_FITTING = 512.0  # of the chunks on the slider, on the default machine


def mixed(**at: Value) -> dict[str, Bound]:
    """The time of a mixed iteration and its three parts; ``at`` ties some leaves."""
    parts = (f.MIXED_COMPUTE_S, roofline.WEIGHTS_S, f.MIXED_KV_S)
    found = {}
    for formula in parts:
        asked = {leaf.name for leaf in formula.arguments}
        own = {name: value for name, value in at.items() if name in asked}
        found[formula.name] = Bound(formula, **own)
    found["iteration_s"] = Bound(f.MIXED_ITERATION_S, **{name: name for name in found})
    return found


def lanes() -> LiveFigure:
    """Runs of the engine, one a chunk: each token of each reader as a tick."""
    known: dict[str, Value] = {**setting(), **decodes()}
    until_s = round(1.12 * max(ttft_s(in_chunks(chunk)) for chunk in CHUNKS), 1)
    fixed = {k: v for k, v in known.items() if k != "hbm_bytes"}
    return LiveFigure(
        name="lanes-of-tokens",
        title="Five readers' streams while a long prompt, F, is read",
        chart=lambda: charts.lanes([(c, beats(in_chunks(c))) for c in CHUNKS], until_s),
        controls=(
            Slider(quantity("chunk"), STOPS, float(LONG), "Chunk"),
            Slider(quantity("tbt_target"), TARGETS, TARGET_S, "Target for the gap"),
        ),
        derived={
            "last_prefix": Bound(f.LAST_PREFIX, prompt_len=float(LONG)),
            **mixed(context="last_prefix", **fixed),
            "chunk_fits": Bound(
                f.CHUNK_FITS,
                **f.CHUNK_FITS.given(
                    known, context="last_prefix", tbt_target="tbt_target"
                ),
            ),
        },
        readouts=(
            Verdict("kept", "The gap", "tbt_target", "iteration_s", KEPT),
            Readout(f.NUM_CHUNKS, "Iterations for the prompt", prompt_len=float(LONG)),
        ),
        sentence=(
            "In chunks of {chunk} the longest gap is {iteration_s}; the target is "
            "{tbt_target}."
        ),
        goal=Goal(
            "find the longest chunk that keeps the target.",
            lambda chunk, chunk_fits: (chunk <= chunk_fits) & (2 * chunk > chunk_fits),
            {"chunk": LARGEST_FITTING},
        ),
    )


def chunk_from_target() -> LiveFigure:
    """The chunk that a target leaves room for, with and without a prefix."""
    held = {"decode_context": float(PROMPT)}
    return LiveFigure(
        name="chunk-from-target",
        title="From a target to a chunk: the further the prompt, the fewer rows fit",
        chart=charts.chunk_from_target,
        controls=(
            Slider(quantity("tbt_target"), TARGETS, TARGET_S, "Target for the gap"),
            Slider(quantity("context"), PREFIXES, 65_536.0, "Prefix of the chunk"),
            *constants(n_decodes=float(DECODES)),
        ),
        derived={
            "weights_s": Bound(roofline.WEIGHTS_S),
            "chunk_fits": Bound(f.CHUNK_FITS, **held),
        },
        readouts=(),
        sentence=(
            "Beside {n_decodes} that decode and after a prefix of {context}, a chunk "
            "of {chunk_fits} fits a target of {tbt_target}."
        ),
    )


def price() -> LiveFigure:
    """A whole prompt in chunks: what is computed, and what is read again."""
    return LiveFigure(
        name="price-of-chunks",
        title="Reading again costs time only where it takes longer than computing",
        chart=lambda: charts.price(PRICED[-1]),
        controls=(
            Slider(quantity("chunk"), PRICED, 512.0, "Chunk"),
            Slider(quantity("prompt_len"), PROMPTS, float(LONG), "Prompt"),
            *constants(),
        ),
        readouts=(
            Readout(f.PROMPT_COMPUTE_S, "Computing the prompt"),
            Readout(f.PROMPT_WEIGHTS_S, "Reading the weights"),
            Readout(f.PROMPT_KV_S, "Reading the cache again"),
            Readout(f.PROMPT_S, "Prefill in chunks"),
        ),
        sentence=(
            "A prompt of {prompt_len} in chunks of {chunk} computes for "
            "{prompt_compute_s}; meanwhile weights are read for {prompt_weights_s} and "
            "cache for {prompt_kv_s}."
        ),
    )
