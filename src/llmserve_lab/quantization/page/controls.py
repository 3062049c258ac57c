"""What a reader can choose in the live figure: model, GPU, formats, load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmserve_lab.catalog import MODELS, Accelerator, ModelShape, workload
from llmserve_lab.catalog.selection import (
    beginning_with,
    driver_known,
    in_servers,
    stacks_known,
)
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.quantization.schemes import SCHEMES
from llmserve_lab.quantization.speed import (
    CACHES,
    WIDE,
    bytes_quantized,
    cached_bytes,
    multiplies_in,
    room_bytes,
)
from llmserve_lab.quantization.tables import TOKENS
from llmserve_lab.running_example import DEVICE, share
from llmserve_lab.validation import achieved, room, working_space

SERVED = tuple(MODELS[key] for key in ("llama-3.1-8b", "llama-3.1-70b"))
# What fits is shown, so the memory that their drivers leave must be known.
DEVICES = beginning_with(DEVICE, in_servers("bf16", stacks_known, driver_known))
WEIGHTS = {
    "bf16": "BF16",
    "fp8": "FP8",
    "int8": "INT8",
    "int4": "INT4 (weight-only)",
    "mxfp4": "MXFP4",
    "nvfp4": "NVFP4",
}
CACHE_NAMES = {key: SCHEMES[key].numbers.name.split()[0] for key in CACHES}
BATCHES = (1.0, 4.0, 16.0, 64.0, 128.0, 256.0, 414.0, 935.0)
CONTEXTS = (256.0, float(TOKENS), 8192.0, 32_768.0)
START = {"weights": "int4", "cache": "bf16"}


def _by_model(row: Callable[[ModelShape], tuple[float, ...]]) -> tuple[object, ...]:
    return tuple(row(shape) for shape in SERVED)


def model_controls() -> tuple[Choice | Lookup, ...]:
    """A choice of model, formats of weights and cache, and what follows of bytes."""
    works: list[dict[str, Any]] = [dict(workload(shape)) for shape in SERVED]
    names = ("params_active", "params_read", "params_total", "attn_flops_per_pair")
    sets: dict[str, tuple[Any, ...]] = {
        name: tuple(work[name] for work in works) for name in names
    }
    sets["slot_bytes"] = tuple(room.slot_bytes(s.vocab) for s in SERVED)
    sets["params_head"] = tuple(float(s.vocab * s.d_model) for s in SERVED)
    sets["wide_kv_bytes_per_token"] = tuple(w["kv_bytes_per_token"] for w in works)
    sets["overhead_s"] = tuple(s.n_layers * achieved().layer_s for s in SERVED)
    quantized = _by_model(lambda s: tuple(bytes_quantized(key, s) for key in WEIGHTS))
    cached = _by_model(
        lambda s: tuple(s.kv_bytes_per_token(cached_bytes(key, s)) for key in CACHES)
    )
    options = tuple(shape.name for shape in SERVED)
    weights, caches = tuple(WEIGHTS.values()), tuple(CACHE_NAMES.values())
    return (
        Choice("model", "Model", options, options[0], sets),
        Choice("weights", "Weights", weights, WEIGHTS[START["weights"]], {}),
        Choice("cache", "KV cache", caches, CACHE_NAMES[START["cache"]], {}),
        Lookup("bytes_quantized", ("model", "weights"), quantized, "byte/parameter"),
        Lookup("kv_bytes_per_token", ("model", "cache"), cached, "byte/token"),
    )


def low_peak(key: str, gpu: Accelerator) -> float:
    """Peak of the format in which weights of this format are multiplied on the GPU."""
    return float(gpu.peak(multiplies_in(key, gpu)))


def machine_controls() -> tuple[Choice | Lookup, ...]:
    """A choice of GPU, and the peaks that it has for each format of the weights."""
    sets = {
        "hbm_bw": tuple(a.hbm_bw for a in DEVICES),
        "hbm_bytes": tuple(room_bytes(a) for a in DEVICES),
        "peak_flops": tuple(a.peak(WIDE) for a in DEVICES),
    }
    low = tuple(tuple(low_peak(key, gpu) for key in WEIGHTS) for gpu in DEVICES)
    options = tuple(gpu.name for gpu in DEVICES)
    return (
        Choice("accelerator", "GPU", options, options[0], sets),
        Lookup("low_peak_flops", ("accelerator", "weights"), low, "FLOP/s"),
    )


def reached() -> tuple[Lookup, ...]:
    """Constants of the machine as measured servers reach it."""
    fitted = achieved()
    known = {
        "eff_compute": share().compute,
        "eff_mem": share().memory,
        "peak_exponent": fitted.exponent,
        "overlap": fitted.overlap,
        "request_s": fitted.request_s,
        "token_space_bytes": working_space(),
        "library_bytes": room.library_bytes(),
    }
    tables: dict[str, Any] = dict(known)
    return tuple(Lookup(name, (), value) for name, value in tables.items())


def load_controls() -> tuple[Slider, Slider]:
    """How many requests decode, and how much each has in its cache."""
    return (
        Slider(quantity("batch"), BATCHES, 256.0, "Requests in the batch"),
        Slider(quantity("context"), CONTEXTS, float(TOKENS), "Tokens in cache, each"),
    )
