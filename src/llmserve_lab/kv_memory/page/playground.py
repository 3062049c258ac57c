"""The chapter's bench: what fits on GPUs of the reader's choice."""

from __future__ import annotations

from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.cache_layers import CacheLayers
from llmserve_lab.checks import key_of
from llmserve_lab.kv_memory.page.controls import (
    DEVICES,
    GROUPS,
    LAYERS,
    cache_bytes,
    copies,
)
from llmserve_lab.page.palette import BLUE, GREEN, GREY
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn

MODEL_NAMES = tuple(each.name for each in LAYERS)
DEVICE_NAMES = tuple(each.name for each in DEVICES)
GROUP_NAMES = tuple(map(str, GROUPS))
FAR, MOST = 8192, 1_048_576  # tokens
GB = 1e9


def bench() -> Bench:
    """Model, GPUs and context open; its picture is the state at the start."""
    knobs: dict[str, Knob] = {
        "model": Choose("model", MODEL_NAMES, MODEL_NAMES[1]),
        "gpu": Choose("GPU", DEVICE_NAMES, DEVICE_NAMES[0]),
        "gpus": Choose("GPUs", GROUP_NAMES, GROUP_NAMES[1]),
        "context": Turn("tokens of a request", 1, MOST, FAR),
    }
    picture = memory(MODEL_NAMES[1], DEVICE_NAMES[0], GROUPS[1], FAR)
    return Bench("Bench: fill the memory", knobs, show, picture)


@figure_style()
def memory(model: str, gpu: str, gpus: int, context: int) -> StaticFigure:
    """One bar: weights, cache, and what the server leaves or needs besides."""
    from llmserve_lab.extras import pyplot as plt

    layers, device = _found(model, gpu)
    assert layers.shape is not None
    total = gpus * float(device.usable_bytes)
    weights = min(layers.shape.weight_bytes(), total)
    cache = cache_bytes(layers, device, gpus, "bf16") or 0.0
    parts = {
        "weights": (weights, BLUE.light),
        "cache": (cache, GREEN.light),
        "the rest": (total - weights - cache, GREY.light),
    }
    figure, axes = plt.subplots(figsize=(4.7, 1.3))
    left = 0.0
    for name, (size, ink) in parts.items():
        axes.barh([""], [size / GB], left=left / GB, color=ink, label=name)
        left += size
    axes.set(xlabel="memory of all GPUs (GB)", yticks=[])
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    said = ", ".join(f"{name} {size / GB:.0f} GB" for name, (size, _) in parts.items())
    fits = int(cache // (layers.request_bytes(context) * copies(layers, gpus)))
    title = f"{model} on {gpus} × {gpu}: {fits:,} requests of {context:,} tokens fit"
    return StaticFigure.of(
        figure, sentence=f"{said}.", title=title, name="kv-memory.bench"
    )


def _found(model: str, gpu: str) -> tuple[CacheLayers, Accelerator]:
    key_of("model", model, MODEL_NAMES)
    key_of("gpu", gpu, DEVICE_NAMES)
    (layers,) = (each for each in LAYERS if each.name == model)
    (device,) = (each for each in DEVICES if each.name == gpu)
    return layers, device


def show(*, model: str, gpu: str, gpus: str, context: int) -> str:
    """The bar, and a table of what fits.

    Raises:
        ValueError: the request is longer than the model reads.
    """
    layers, device = _found(model, gpu)
    assert layers.shape is not None
    layers.shape.require_context(context)
    group = int(gpus)
    picture = memory(model, gpu, group, context)
    left = cache_bytes(layers, device, group, "bf16")
    if left is None:
        return picture.html() + "<p>The weights leave no room for a block.</p>"
    one = layers.request_bytes(context) * copies(layers, group)
    rows = [
        ("memory for the cache", f"{left / GB:.1f} GB"),
        (f"cache of a request of {context:,} tokens", f"{one / GB:.3f} GB"),
        ("requests that fit, nothing shared", f"{int(left // one):,}"),
    ]
    table = Table(f"{model}, {gpus} × {gpu}", ("what", "how much"), rows)
    return picture.html() + table._repr_html_()
