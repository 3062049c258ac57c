"""The chapter's live figures: lanes of tokens, and a chunk from a target."""

from __future__ import annotations

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import (
    CHUNKS,
    beats,
    calm_s,
    in_chunks,
    ttft_s,
)
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    LONG,
    TARGET_S,
    beside,
    decodes,
    served,
)
from llmserve_lab.continuous_batching.page import charts
from llmserve_lab.continuous_batching.page.controls import (
    PREFIXES,
    REACHED,
    STOPS,
    TARGETS,
)
from llmserve_lab.continuous_batching.worked_example import prompt_error
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import si
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.running_example import ideal, setting

KEPT = ("breaks the target", "keeps the target")
LARGEST_FITTING = 768.0  # of the chunks on the slider, on the default machine
NEXT = 1.6  # times a chunk that fits: one that does not, for each target on the slider


def asked_by(formula: Formula, /, **at: Value) -> Bound:
    """A formula of the served machine, tied to the chapter's setting and to ``at``."""
    known: dict[str, Value] = {**setting(), **decodes(), **served(), **at}
    keep = frozenset(served()) & frozenset(formula.known())
    asked = {leaf.name for leaf in formula.leaves(keep=keep)}
    return Bound(formula, **{k: v for k, v in known.items() if k in asked})


def lanes() -> LiveFigure:
    """Runs of the engine, one a chunk: each token of each reader as a tick."""
    until_s = round(1.06 * max(ttft_s(in_chunks(chunk)) for chunk in CHUNKS), 1)
    long = float(LONG)
    return LiveFigure(
        name="lanes-of-tokens",
        title="While a chunk of F's prompt is read, A to E get no token",
        chart=lambda: charts.lanes([(c, beats(in_chunks(c))) for c in CHUNKS], until_s),
        controls=(
            Slider(quantity("chunk"), STOPS, float(LONG), "Chunk"),
            Slider(quantity("tbt_target"), REACHED, TARGET_S, "Target for the gap"),
        ),
        derived={
            "last_prefix": Bound(f.LAST_PREFIX, prompt_len=long),
            "served_iteration_s": asked_by(
                f.SERVED_ITERATION_S, chunk="chunk", context="last_prefix"
            ),
            "chunk_fits": asked_by(
                f.SERVED_CHUNK_FITS, context="last_prefix", tbt_target="tbt_target"
            ),
            "reading_gap_s": asked_by(
                f.READING_GAP_S, prompt_len=long, chunk="chunk", **beside()
            ),
            "chunks_s": asked_by(
                f.SERVED_PROMPT_S, prompt_len=long, chunk="chunk", **beside()
            ),
        },
        readouts=(
            banded(
                Readout("served_iteration_s", "Longest gap (last full iteration)"),
                prompt_error(),
            ),
            Verdict("kept", "This chunk", "tbt_target", "served_iteration_s", KEPT),
            Readout("reading_gap_s", "Mean gap while the prompt is read"),
            Readout(f.NUM_CHUNKS, "Chunks = tokens of each reader", prompt_len=long),
        ),
        sentence=(
            "In chunks of {chunk} the prefill takes {chunks_s}. At rest a gap is "
            f"{si(calm_s(), 's')}."
        ),
        goal=Goal(
            "find the longest chunk on the slider that keeps the target.",
            lambda chunk, chunk_fits: (
                (chunk <= chunk_fits) & (NEXT * chunk > chunk_fits)
            ),
            {"chunk": LARGEST_FITTING},
        ),
    )


def chunk_from_target() -> LiveFigure:
    """The chunk that a target leaves room for, with and without a prefix."""
    return LiveFigure(
        name="chunk-from-target",
        title="From a target to a chunk: the further the prompt, the fewer rows fit",
        chart=charts.chunk_from_target,
        controls=(
            Slider(quantity("tbt_target"), TARGETS, TARGET_S, "Target for the gap"),
            Slider(quantity("context"), PREFIXES, 65_536.0, "Prefix in cache"),
        ),
        derived={
            "chunk_fits": asked_by(
                f.SERVED_CHUNK_FITS, context="context", tbt_target="tbt_target"
            ),
            "ideal_chunk_fits": Bound(
                f.CHUNK_FITS,
                **f.CHUNK_FITS.given(
                    {**ideal(), **decodes()}, context="context", tbt_target="tbt_target"
                ),
            ),
        },
        readouts=(
            Readout("chunk_fits", "Chunk that reaches the target, as served"),
            Readout(
                "ideal_chunk_fits",
                "Chunk that reaches it, ideal machine (all of the datasheet)",
            ),
        ),
        sentence=(
            f"Beside {DECODES} requests that decode and after a prefix of {{context}}, "
            "the solid line reaches a target of {tbt_target} at a chunk of about "
            "{chunk_fits}; smaller ones keep it."
        ),
    )
