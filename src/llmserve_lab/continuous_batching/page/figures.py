"""The chapter's live figures: an iteration, a mask, and what chunks cost."""

from __future__ import annotations

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.article_machine import (
    CONTEXT,
    DECODES,
    article_setting,
)
from llmserve_lab.continuous_batching.page import charts
from llmserve_lab.continuous_batching.page.controls import (
    CHUNKS,
    CROWDS,
    PREFIXES,
    STOPS,
    TARGETS,
    machine_choices,
    model_choice,
)
from llmserve_lab.continuous_batching.serving import LONG, around_the_stall, stalled
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.roofline import formulas as roofline

CALM = {"n_decodes": float(DECODES), "decode_context": float(CONTEXT)}
KEPT = ("breaks the target", "keeps the target")


def mixed(**at: Value) -> dict[str, Bound]:
    """The signals of ``iteration_s-mixed`` and its three parts; ``at`` ties leaves."""
    parts = (f.MIXED_COMPUTE_S, roofline.WEIGHTS_S, f.MIXED_KV_S)
    found = {}
    for formula in parts:
        asked = {leaf.name for leaf in formula.arguments}
        own = {name: value for name, value in at.items() if name in asked}
        found[formula.name] = Bound(formula, **own)
    found["iteration_s"] = Bound(f.MIXED_ITERATION_S, **{name: name for name in found})
    return found


def iteration_against_chunk() -> LiveFigure:
    """One iteration: its time against its chunk, its prefix, and who decodes beside."""
    return LiveFigure(
        name="iteration-against-chunk",
        title="The same chunk takes longer the further its prompt has come",
        chart=charts.iteration_against_chunk,
        controls=(
            Slider(quantity("chunk"), CHUNKS, 2048.0, "Chunk"),
            Slider(quantity("context"), PREFIXES, 65_536.0, "Prefix of the chunk"),
            Slider(quantity("n_decodes"), CROWDS, 8.0, "Decodes"),
            Slider(quantity("tbt_target"), TARGETS, 0.05, "Target for the gap"),
            model_choice(),
            *machine_choices(),
        ),
        derived={
            **mixed(decode_context=float(CONTEXT)),
            "chunk_fits": Bound(f.CHUNK_FITS, decode_context=float(CONTEXT)),
        },
        readouts=(
            Readout("iteration_s", "This iteration"),
            Verdict("kept", "The gap", "tbt_target", "iteration_s", KEPT),
            Readout("compute_s", "Time to compute"),
            Readout(f.MFU, "MFU", compute_s="compute_s", iteration_s="iteration_s"),
            Readout("chunk_fits", "Chunk that fits the target"),
        ),
        sentence=(
            "{model} on {accelerator}: a chunk of {chunk} after {context}, with "
            "{n_decodes} decoding, takes {iteration_s} and {kept} of {tbt_target}; "
            "{chunk_fits} would fit."
        ),
    )


def mask() -> LiveFigure:
    """The block of one chunk; with one row it is a decode."""
    stops = tuple(float(i) for i in (1, 2, 3, 4, 6, 8, 12, 16))
    return LiveFigure(
        name="chunk-mask",
        title="A prefill, a chunk and a decode are one shape with two sizes",
        chart=charts.mask,
        drag={"context": "0", "chunk": "context"},
        controls=(
            Slider(quantity("chunk"), stops, 8.0, "Chunk"),
            Slider(
                quantity("context"),
                tuple(float(i) for i in range(0, 25, 2)),
                16.0,
                "Cached prefix",
            ),
        ),
        readouts=(
            Readout(roofline.ATTN_PAIRS, "Pairs that count", batch=1.0),
            Readout(f.BLOCK_PAIRS, "Pairs in the block"),
        ),
        sentence=(
            "{chunk} of new rows after {context} in the cache: {attn_pairs:6} count "
            "of {block_pairs:6} in the block."
        ),
    )


def price() -> LiveFigure:
    """A whole prompt: compute, what is read again, and the longest gap."""
    return LiveFigure(
        name="price-of-chunks",
        title="Reading again costs time only where chunks are smaller than the ridge",
        chart=charts.price,
        controls=(
            Slider(quantity("chunk"), CHUNKS, 2048.0, "Chunk"),
            Slider(
                quantity("prompt_len"),
                tuple(2.0**i for i in range(11, 17)),
                65_536.0,
                "Prompt",
            ),
            model_choice(),
            *machine_choices(),
        ),
        derived={
            "hiding_chunk": f.HIDING_CHUNK,
            "last_prefix": f.LAST_PREFIX,
            **mixed(context="last_prefix", **CALM),
        },
        readouts=(
            Readout(f.NUM_CHUNKS, "Chunks"),
            Readout(f.PROMPT_COMPUTE_S, "Compute the prompt"),
            Readout(f.PROMPT_WEIGHTS_S, "Read the weights again"),
            Readout(f.PROMPT_KV_S, "Read the cache again"),
            Readout(f.PROMPT_S, "Prefill, at least"),
            Readout("iteration_s", "Longest gap: one iteration"),
            Readout("hiding_chunk", "The cache is read for free from"),
        ),
        sentence=(
            "{model} on {accelerator}: a prompt of {prompt_len} in chunks of {chunk} "
            "computes for {prompt_compute_s}, reads weights for {prompt_weights_s} and "
            "cache for {prompt_kv_s}; eight who decode see a gap of {iteration_s}."
        ),
    )


def timeline() -> LiveFigure:
    """Runs of the engine, one a chunk: the gap that everyone who decodes sees."""
    known = article_setting()
    whole = f.PROMPT_COMPUTE_S.given(known, prompt_len=float(LONG))
    return LiveFigure(
        name="stall-timeline",
        title="Chunks slice the stall; they do not shorten it",
        chart=lambda: charts.timeline(
            [(c, around_the_stall(stalled(c))) for c in STOPS]
        ),
        controls=(
            Slider(
                quantity("chunk"),
                tuple(map(float, STOPS)),
                float(LONG),
                "Chunk",
            ),
            Slider(quantity("tbt_target"), TARGETS, 0.05, "Target for the gap"),
        ),
        derived={
            "last_prefix": Bound(f.LAST_PREFIX, prompt_len=float(LONG)),
            **mixed(context="last_prefix", **CALM, **known),
        },
        readouts=(
            Readout(f.NUM_CHUNKS, "Iterations of the prompt", prompt_len=float(LONG)),
            Readout("iteration_s", "Longest gap: one iteration"),
            Verdict("kept", "The gap", "tbt_target", "iteration_s", KEPT),
            Readout(f.PROMPT_COMPUTE_S, "The prompt computes for", **whole),
        ),
        sentence=(
            "A prompt of about a hundred thousand tokens beside eight decodes, in "
            "chunks of {chunk}. Iterations: {num_chunks}; the longest gap is "
            "{iteration_s}, which {kept} of {tbt_target}."
        ),
    )
