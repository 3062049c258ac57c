"""The chapter's live figures: two points under a roof, and what moves them."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.page import charts
from llmserve_lab.roofline.page.controls import (
    LARGE,
    kv_lookup,
    machine_choice,
    model_choice,
    share_choice,
    sliders,
)

SIDES = ("memory-bound", "compute-bound")
DECODE: dict[str, Value] = {"chunk": 1.0}
PREFILL: dict[str, Value] = {"batch": 1.0, "attn_flops_per_pair": "prefill_pair_flops"}
HELD = Verdict(
    "held",
    "In one device weights and cache",
    "hbm_bytes",
    "held_bytes",
    ("do not fit", "fit"),
)
ON_ONE_DEVICE = tuple(m for m in LARGE if m.weight_bytes() < 80e9)
KINDS = tuple(MODELS[key] for key in ("llama-2-7b", "llama-3-70b", "deepseek-v3"))


def roofline() -> LiveFigure:
    """Decode and prefill as two points on one roof, moved by everything there is."""
    return LiveFigure(
        name="roofline",
        title="One model, one machine, and two phases on opposite sides of the ridge",
        chart=charts.roofline,
        controls=(
            *sliders(batch=32.0, context=1024.0, chunk=2048.0),
            *model_choice(),
            *machine_choice(),
            share_choice(),
        ),
        derived={
            "ridge": f.RIDGE,
            "decode_intensity": Bound(f.INTENSITY, **DECODE),
            "prefill_intensity": Bound(f.INTENSITY, **PREFILL),
            "decode_attainable_flops": Bound(
                f.ATTAINABLE_FLOPS, intensity="decode_intensity"
            ),
            "prefill_attainable_flops": Bound(
                f.ATTAINABLE_FLOPS, intensity="prefill_intensity"
            ),
            "stored_bytes": f.STORED_BYTES,
            "held_bytes": Bound(f.ITERATION_BYTES, weight_bytes="stored_bytes"),
        },
        readouts=(
            Readout("ridge", "Ridge"),
            Readout("decode_intensity", "Decode: intensity"),
            Verdict("decode_side", "Decode is", "decode_intensity", "ridge", SIDES),
            Readout("decode_attainable_flops", "Decode: compute reached"),
            Readout("prefill_intensity", "Prefill: intensity"),
            Verdict("prefill_side", "Prefill is", "prefill_intensity", "ridge", SIDES),
            Readout("prefill_attainable_flops", "Prefill: compute reached"),
            HELD,
        ),
        sentence=(
            "{model} on {accelerator}: decoding {batch} with {context} in cache does "
            "{decode_intensity} and is {decode_side}; a prefill chunk of {chunk} does "
            "{prefill_intensity} and is {prefill_side}. The ridge is at {ridge}. "
            "Weights and cache take {held_bytes} and {held} in one device's memory."
        ),
        goal=Goal(
            "bring decode to the ridge while weights and cache fit into one device.",
            lambda decode_intensity, ridge, held_bytes, hbm_bytes: (
                (decode_intensity >= ridge) & (held_bytes <= hbm_bytes)
            ),
            {"model": "Llama-3-8B", "batch": 1024.0, "context": 128.0},
        ),
    )


def intensity_against_context() -> LiveFigure:
    """Both phases as the context grows, with crossover, memory limit and ridge."""
    return LiveFigure(
        name="intensity-against-context",
        title=(
            "Without the FLOPs of attention both phases sink; with them each settles"
        ),
        chart=charts.intensity_against_context,
        controls=(
            *sliders(batch=32.0, chunk=2048.0),
            *model_choice(models=ON_ONE_DEVICE),
            *machine_choice(),
            share_choice(),
        ),
        derived={"ridge": f.RIDGE},
        readouts=(
            Readout(f.CROSSOVER_CONTEXT, "KV bytes equal weight bytes at"),
            Readout(f.CONTEXT_FITS, "Memory is full at"),
            Readout(f.RIDGE_CONTEXT, "No batch reaches the ridge from", chunk=1.0),
            Readout(f.ATTN_INTENSITY, "Decode ends at", name="decode_limit", chunk=1.0),
            Readout(f.ATTN_INTENSITY, "Prefill ends at", name="prefill_limit"),
            Readout("ridge", "Ridge"),
        ),
        sentence=(
            "{model} on {accelerator}, decoding {batch}: the cache outweighs the "
            "weights from {crossover_context}, memory is full at {context_fits}; "
            "with the FLOPs of attention decode ends at {decode_limit} and a chunk of "
            "{chunk} at {prefill_limit}; the ridge is at {ridge}."
        ),
    )


def iteration_time() -> LiveFigure:
    """The time of one iteration, split into weights, cache and compute."""
    return LiveFigure(
        name="iteration-time",
        title="An iteration lasts as long as the longer of its two bars",
        chart=charts.iteration_time,
        controls=(
            *sliders(batch=32.0, context=1024.0, chunk=2048.0),
            *model_choice(),
            *machine_choice(),
            share_choice(),
        ),
        derived={
            "weights_s": f.WEIGHTS_S,
            "decode_kv_s": f.KV_S,
            "decode_compute_s": Bound(f.COMPUTE_S, **DECODE),
            "prefill_kv_s": Bound(f.KV_S, batch=1.0),
            "prefill_compute_s": Bound(f.COMPUTE_S, **PREFILL),
            "stored_bytes": f.STORED_BYTES,
            "held_bytes": Bound(f.ITERATION_BYTES, weight_bytes="stored_bytes"),
        },
        readouts=(
            Readout("weights_s", "Read the weights"),
            Readout("decode_kv_s", "Decode: read the cache"),
            Readout("decode_compute_s", "Decode: compute"),
            Readout(f.ITERATION_S, "Decode: iteration", name="decode_s", **DECODE),
            Readout("prefill_kv_s", "Prefill: read the cache"),
            Readout("prefill_compute_s", "Prefill: compute"),
            Readout(f.ITERATION_S, "Prefill: iteration", name="prefill_s", **PREFILL),
            HELD,
        ),
        sentence=(
            "{model} on {accelerator}: one decode iteration for {batch} takes at least "
            "{decode_s}, of which computing needs {decode_compute_s}; a prefill chunk "
            "of {chunk} takes {prefill_s}, of which reading needs {weights_s} for "
            "weights and {prefill_kv_s} for the cache. Weights and cache of the batch "
            "take {held_bytes} and {held} in one device's memory."
        ),
    )


def attention_kinds() -> LiveFigure:
    """Decode intensity against context for one model each of MHA, GQA and MLA."""
    kinds = {model.attention.kind: model for model in KINDS}
    ends = tuple(
        Readout(
            f.ATTN_INTENSITY,
            f"{kind} ends at",
            name=f"{kind.lower()}_limit",
            chunk=1.0,
            attn_flops_per_pair=float(model.attn_flops_per_pair()),
            kv_bytes_per_token=charts.kappa_of(kind),
        )
        for kind, model in kinds.items()
    )
    kappas = tuple(kv_lookup(charts.kappa_of(kind), (m,)) for kind, m in kinds.items())
    return LiveFigure(
        name="attention-kinds",
        title="What the cache holds decides where decode ends up",
        chart=lambda: charts.attention_kinds(kinds),
        controls=(*sliders(batch=64.0), *machine_choice(), share_choice(), *kappas),
        derived={"ridge": f.RIDGE},
        readouts=(*ends, Readout("ridge", "Ridge")),
        sentence=(
            "Decoding {batch} on {accelerator}: with a long context multi-head "
            "attention ends at {mha_limit}, grouped-query attention at {gqa_limit} and "
            "latent attention at {mla_limit}; the ridge is at {ridge}."
        ),
    )
