"""The chapter's figures that move: tiles, points under a roof, batch and context."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.controls import Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import BATCH, MEAN_CONTEXT
from llmserve_lab.roofline.page import charts, context_charts, reuse
from llmserve_lab.roofline.page.controls import (
    STOPS,
    constants,
    kv_lookup,
    machine_choice,
    model_choice,
    precision_choice,
    sliders,
)
from llmserve_lab.running_example import PROMPT, device, ideal, model
from llmserve_lab.validation import datasheet_bound

READ: dict[str, Value] = {"weight_bytes": "weight_bytes"}
DECODE: dict[str, Value] = {"chunk": 1.0, **READ}
PROMPT_SIZE: dict[str, Value] = {
    **{"batch": 1.0, "context": 0.0},
    **{"params_active": "prompt_params"},
}
PREFILL: dict[str, Value] = {**PROMPT_SIZE, **READ}
LEAST = datasheet_bound("decode_step")
HELD = Verdict(
    "held",
    "On one GPU, weights and cache",
    "hbm_bytes",
    "held_bytes",
    ("do not fit", "fit"),
)
STORED = Bound(f.ITERATION_BYTES, weight_bytes="stored_bytes")
KINDS = tuple(MODELS[key] for key in ("llama-2-7b", "llama-3-70b", "deepseek-v3"))
BATCHES = (1.0, 64.0)
RATES = ("peak_flops", "hbm_bw", "eff_compute", "eff_mem")


def tile_reuse() -> StepFigure:
    """Matrix times vector, and matrix times matrix, tile by tile."""
    return reuse.reuse()


def roofline() -> LiveFigure:
    """Decode and prefill as two points on one roof, each moved by its own sliders."""
    sizes = {"batch": float(BATCH), "context": float(MEAN_CONTEXT)}
    return LiveFigure(
        name="roofline",
        title="The same model on the same GPU: two phases, two points under one roof",
        chart=charts.roofline,
        controls=(
            *sliders(**sizes, chunk=float(PROMPT)),
            *model_choice(),
            *machine_choice(),
            *constants(eff_compute=1.0, eff_mem=1.0),
        ),
        derived={
            "ridge": f.RIDGE,
            "decode_intensity": Bound(f.INTENSITY, **DECODE),
            "prefill_intensity": Bound(f.INTENSITY, **PREFILL),
            "products_intensity": Bound(f.INTENSITY, context=0.0, **DECODE),
            "attn_intensity": Bound(f.ATTN_INTENSITY, chunk=1.0),
            "decode_iteration_s": Bound(f.ITERATION_S_APART, **DECODE),
            "prefill_iteration_s": Bound(f.ITERATION_S_APART, **PREFILL),
            "decode_mfu": Bound(
                f.MFU_MEASURED, measured_s="decode_iteration_s", chunk=1.0
            ),
            "prefill_mfu": Bound(
                f.MFU_MEASURED, measured_s="prefill_iteration_s", **PROMPT_SIZE
            ),
            "held_bytes": STORED,
        },
        readouts=(
            Readout("decode_intensity", "Decode: intensity"),
            Readout("prefill_intensity", "Prefill: intensity"),
            HELD,
        ),
        sentence=(
            "{model} on {accelerator}: when {batch} with {context} in cache decode, "
            "their products do {products_intensity} and their attention does "
            "{attn_intensity}; the ridge is at {ridge}. The prefill reads {chunk}. "
            "Weights and cache take {held_bytes} of memory."
        ),
        goal=Goal(
            "bring decode’s idle share below a third; all must fit into memory.",
            lambda decode_mfu, held_bytes, hbm_bytes: (
                (3 * decode_mfu > 2) & (held_bytes <= hbm_bytes)
            ),
            {"batch": 512.0, "context": 128.0},
        ),
    )


def batch_and_context() -> LiveFigure:
    """What a larger batch gains in intensity, the longer the contexts are."""
    known = ideal()
    of_model = ("params_active", "kv_bytes_per_token", "attn_flops_per_pair")
    held = {name: known[name] for name in (*of_model, "hbm_bytes")}
    read = float(f.WEIGHT_BYTES.at(known))
    ends = [
        (batch, float(f.CONTEXT_FITS.at(ideal(), batch=batch))) for batch in BATCHES
    ]
    return LiveFigure(
        name="batch-and-context",
        title="With long contexts no batch reaches the ridge, however large",
        chart=lambda: context_charts.batch_and_context(ends),
        controls=(
            Slider(quantity("batch"), STOPS["batch"][3:], float(BATCH)),
            Slider(quantity("context"), STOPS["context"], float(MEAN_CONTEXT)),
            *constants(**held, weight_bytes=read, stored_bytes=model().weight_bytes()),
            *constants(**{n: known[n] for n in RATES}),
        ),
        derived={
            "ridge": f.RIDGE,
            "attn_intensity": Bound(f.ATTN_INTENSITY, chunk=1.0),
            "decode_intensity": Bound(f.INTENSITY, **DECODE),
            "held_bytes": STORED,
        },
        readouts=(
            Readout("attn_intensity", "Attention alone: intensity"),
            Readout(
                f.CONTEXT_FITS, "Cache fills memory at", stored_bytes="stored_bytes"
            ),
            HELD,
        ),
        sentence=(
            "Decoding {batch} with {context} in cache does {decode_intensity}; "
            "the ridge is at {ridge}."
        ),
        goal=Goal(
            "fill more than half of the memory, below a twentieth of the ridge.",
            lambda decode_intensity, ridge, held_bytes, hbm_bytes: (
                (20 * decode_intensity < ridge)
                & (held_bytes <= hbm_bytes)
                & (2 * held_bytes > hbm_bytes)
            ),
            {"batch": 16.0, "context": 16384.0},
        ),
    )


def iteration_time() -> LiveFigure:
    """The time of one iteration, split into weights, cache and compute."""
    sizes = {"batch": float(BATCH), "context": float(MEAN_CONTEXT)}
    return LiveFigure(
        name="iteration-time",
        title=(
            "Products, then attention: each lasts as long as the longer of its two bars"
        ),
        chart=charts.iteration_time,
        controls=(
            *sliders(**sizes, chunk=float(PROMPT)),
            *precision_choice(model(), device()),
            *constants(eff_compute=1.0, eff_mem=1.0),
        ),
        derived={
            "weights_s": Bound(f.WEIGHTS_S, **READ),
            "decode_kv_s": f.KV_S,
            "decode_linear_s": Bound(f.LINEAR_S, chunk=1.0),
            "decode_pairs_s": Bound(f.PAIRS_S, chunk=1.0),
            "prefill_kv_s": Bound(f.KV_S, batch=1.0, context=0.0),
            "prefill_linear_s": Bound(
                f.LINEAR_S, batch=1.0, params_active="prompt_params"
            ),
            "prefill_pairs_s": Bound(f.PAIRS_S, batch=1.0, context=0.0),
            "held_bytes": STORED,
            "decode_iteration_s": Bound(f.ITERATION_S_APART, **DECODE),
            "prefill_iteration_s": Bound(f.ITERATION_S_APART, **PREFILL),
        },
        readouts=(
            banded(Readout("weights_s", "Read the weights"), LEAST),
            banded(Readout("decode_kv_s", "Decode: read the cache"), LEAST),
            HELD,
        ),
        sentence=(
            f"{model().name} on {device().name}, by the datasheet: one decode "
            "iteration for {batch} takes at least {decode_iteration_s}; a prefill of "
            "{chunk} takes at least {prefill_iteration_s}."
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
            kv_bytes_per_token=context_charts.kappa_of(kind),
        )
        for kind, model in kinds.items()
    )
    kappas = tuple(
        kv_lookup(context_charts.kappa_of(kind), (m,)) for kind, m in kinds.items()
    )
    return LiveFigure(
        name="attention-kinds",
        title="What the cache holds decides where decode ends up",
        chart=lambda: context_charts.attention_kinds(kinds),
        controls=(
            Slider(quantity("batch"), STOPS["batch"], 64.0),
            *machine_choice(),
            *constants(eff_compute=1.0, eff_mem=1.0),
            *kappas,
        ),
        derived={"ridge": f.RIDGE},
        readouts=(*ends, Readout("ridge", "Ridge")),
        sentence=(
            "Decoding {batch} on {accelerator}: with a long context multi-head "
            "attention ends at {mha_limit}, grouped-query attention at {gqa_limit} and "
            "latent attention at {mla_limit}; the ridge is at {ridge}. The models are "
            f"{', '.join(model.name for model in KINDS)}."
        ),
    )
