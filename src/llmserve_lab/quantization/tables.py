"""The chapter's tables: formats, errors of the tiny model, what fits, shared heads."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab import running_example
from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.page.table import Table
from llmserve_lab.quantization import tiny_model as tm
from llmserve_lab.quantization.codecs import FORMATS, Array
from llmserve_lab.quantization.schemes import SCHEMES, quantize, relative_error
from llmserve_lab.quantization.speed import (
    Bits,
    decode_s,
    served,
)

CALIBRATION, HELD_OUT = 512, 256  # tokens
CALIBRATED = ("int4", "mxfp4", "nvfp4")
BOTH = ("int8", "fp8", "mxfp4", "nvfp4")  # the products may run in these
LOUD, LOUD_TIMES = 4, 100.0  # planted outlier channels of activations
CACHED = ("bf16", "fp8", "int8", "int4-row")
SHARED = ("llama-2-7b", "llama-3.1-8b", "qwen3-32b", "llama-3.1-70b", "deepseek-v3")
TOKENS = 1100  # prompt and half of the answer of the book's request
LONG_PROMPT = 8192


def formats_table() -> Table:
    """Table of the number formats: fields, largest and smallest numbers, how many."""
    rows = []
    for each in FORMATS.values():
        numbers = each.numbers()
        sign, exponent, mantissa = each.fields
        rows.append(
            (
                each.name,
                f"{sign} + {exponent} + {mantissa}"
                if exponent
                else f"{each.bits}, two’s complement",
                f"{each.largest:,.6g}" if each.largest < 1e9 else f"{each.largest:.2e}",
                f"{numbers[numbers > 0].min():.2g}",
                f"{len(numbers):,}",
            )
        )
    columns = ("format", "sign + exponent + mantissa bits", "largest", "smallest > 0")
    return Table("Number formats", (*columns, "numbers"), rows)


@cache
def errors() -> dict[str, dict[str, float]]:
    """Errors of the tiny model by scheme: of a matrix, and of the logits.

    The logits are off by rounded weights alone, by GPTQ's, by weights and activations,
    and by both in the same model with outlier channels.
    """
    model = tm.model()
    loud, _ = tm.with_outlier_channels(model, num=LOUD, times=LOUD_TIMES)
    calibration, text = (
        tm.text(size, seed=seed) for size, seed in ((CALIBRATION, 1), (HELD_OUT, 2))
    )
    right, seen, right_loud = (
        of.forward(tokens)
        for of, tokens in ((model, text), (model, calibration), (loud, text))
    )
    inputs = tm.layer_inputs(model, calibration)
    found = {}
    for key in ("bf16", "int8", "fp8", "int4", "mxfp4", "nvfp4"):
        scheme = SCHEMES[key]
        weight = model.weights.arrays["q_proj"][0].T
        nearest = tm.rounded_to_nearest(model, scheme)
        found[key] = {
            "bits": scheme.bits_per_number(tm.WIDTH),
            "weights": relative_error(weight, quantize(weight, scheme).dequantize()),
            "logits": tm.logit_error(right, nearest, text),
        }
        if key in CALIBRATED:
            better = tm.rounded_by_gptq(model, scheme, calibration, seen=inputs)
            found[key]["gptq"] = tm.logit_error(right, better, text)
            found[key]["gptq seen"] = tm.logit_error(seen, better, calibration)
        if key in BOTH:
            found[key]["both"] = tm.both_rounded_error(model, scheme, text, right=right)
            found[key]["loud"] = tm.both_rounded_error(
                loud, scheme, text, right=right_loud
            )
    return found


def errors_table() -> Table:
    """Table of how far the logits are off, by format and by what is rounded.

    The last column has outlier channels in the activations.
    """
    kinds = ("logits", "gptq", "both", "loud")
    rows = [
        (
            SCHEMES[key].name,
            *(f"{found[kind]:.1%}" if kind in found else "–" for kind in kinds),
        )
        for key, found in errors().items()
        if key != "bf16"
    ]
    columns = (
        "format",
        "weights, RTN",
        "weights, GPTQ",
        "activations too",
        "and outliers",
    )
    return Table("Tiny model: how far its logits are off", columns, rows)


@cache
def layers() -> dict[str, tuple[float, float]]:
    """Error of each layer's output in INT4: to nearest, and by GPTQ."""
    model, scheme = tm.model(), SCHEMES["int4"]
    calibration, text = tm.text(CALIBRATION, seed=1), tm.text(HELD_OUT, seed=2)
    both = (
        tm.rounded_to_nearest(model, scheme),
        tm.rounded_by_gptq(model, scheme, calibration),
    )
    nearest, better = (tm.layer_errors(model, each, text) for each in both)
    return {
        f"block {block + 1}, {name}": (nearest[name, block], better[name, block])
        for name, block in nearest
    }


@cache
def cache_errors() -> dict[str, float]:
    """Error of the logits by the format of the cache, a scale a head and token."""
    return {key: _cache_error(tm.CacheRounding(SCHEMES[key])) for key in CACHED}


def fixed_cache_error() -> float:
    """Error of the logits with an FP8 cache whose scales are all 1."""
    return _cache_error(tm.CacheRounding(SCHEMES["fp8"], fixed_scale=True))


def _cache_error(rounding: tm.CacheRounding) -> float:
    return tm.cache_error(tm.model(), rounding, _cached_text(), right=_exact_decoded())


@cache
def _cached_text() -> np.ndarray:
    return tm.text(96, seed=2)


@cache
def _exact_decoded() -> Array:
    text = _cached_text()
    return tm.decoded(tm.model(), text, tm.model().new_cache(len(text)))


def cache_table() -> Table:
    """Table of what a rounded cache does to the logits."""
    rows = [
        (SCHEMES[key].numbers.name, f"{error:.2%}")
        for key, error in cache_errors().items()
    ]
    return Table("Tiny model, cache", ("format of the cache", "of the logits"), rows)


STEPS = (  # formats, batch
    (Bits(), 1),
    (Bits("int4"), 1),
    (Bits(), 256),
    (Bits("int4"), 256),
    (Bits("fp8", "fp8"), 256),
)


def step_parts(bits: Bits, batch: int) -> dict[str, float]:
    """Terms of a decode step in seconds, and their sum."""
    cost = served(bits)
    read, compute = cost.weights_s, batch * cost.row_s
    pairs = batch * (TOKENS + 1) * cost.pair_s
    return {
        "read weights": read,
        "compute layers": compute,
        "longer + ½ shorter": max(read, compute) + cost.exposed_s(batch),
        "attention": pairs,
        "read cache": batch * TOKENS * cost.kv_token_s,
        "fixed time": cost.overhead_s,
        "requests": batch * cost.request_s,
        "step": decode_s(cost, batch=batch, context=TOKENS),
    }


def step_line(bits: Bits, batch: int) -> str:
    """The sum of a step in ms: the longer and half of the shorter, caches, fixed."""
    ms = {name: 1e3 * seconds for name, seconds in step_parts(bits, batch).items()}
    digits = 2 if batch == 1 else 1
    shorter, longer = sorted((ms["read weights"], ms["compute layers"]))
    caches = ms["attention"] + ms["read cache"] + ms["requests"]
    terms = (longer, shorter / 2, caches, ms["fixed time"])
    one, other, *rest = (f"{each:.{digits}f}" for each in terms)
    return f"({one} + {other}) + {' + '.join(rest)} = {ms['step']:.{digits}f}"


def steps_table() -> Table:
    """Table of a decode step term by term, at batch one and at 256."""
    found = [step_parts(*each) for each in STEPS]
    rows = [
        (name, *(f"{1e3 * parts[name]:.3f}" for parts in found)) for name in found[0]
    ]
    names = (f"{SCHEMES[b.weights].numbers.name.split()[0]}, {n}" for b, n in STEPS)
    caption = "A decode step in ms, by format of the weights and batch"
    return Table(caption, ("term", *names), rows, notes=(_off(),))


def _off() -> str:
    """How far off steps like those of the table were, where one was measured."""
    said = []
    for bits, batch in STEPS:
        name = SCHEMES[bits.weights].numbers.name.split()[0]
        found = running_example.band(
            "decode_step", clients=batch, precision=bits.weights
        )
        said.append(f"{name}, {batch}: {found.short}")
    return (
        f"Errors of the whole step, on other models, at most 128 requests: "
        f"{'; '.join(said)}. Its terms: not measured alone."
    )


def unshared(shape: ModelShape) -> float:
    """Numbers a token would leave in a layer if every head kept its own (MHA)."""
    spec = shape.attention
    if isinstance(spec, GroupedQueryAttention):
        return 2.0 * spec.n_heads * spec.d_head
    return float(spec.n_heads * (spec.d_head + spec.d_rope + spec.d_v))


def saved_by_sharing(shape: ModelShape) -> float:
    """How many times the cache that heads with keys of their own would need."""
    would = 2.0 * shape.n_layers * unshared(shape)
    return would / shape.kv_bytes_per_token(2.0)


def shared_table() -> Table:
    """Table of bytes per token of models of the catalog, and without sharing."""
    rows = []
    for key in SHARED:
        shape = MODELS[key]
        has, saved = shape.kv_bytes_per_token(2.0), saved_by_sharing(shape)
        would = has * saved
        rows.append(
            (
                shape.name,
                f"{has / 1024:.1f} KiB",
                f"{saved:.0f}×",
                f"{would / 1024:,.0f} KiB",
                shape.attention.kind,
            )
        )
    columns = ("model", "a token", "saved", "if each head had its own", "attention")
    return Table("KV cache in 16 bits", columns, rows)
