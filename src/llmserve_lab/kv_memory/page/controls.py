"""What a reader can choose: a model, a GPU, how many of them, and the bits.

A combination in which no block of cache fits beside the weights does not exist.
"""

from __future__ import annotations

from llmserve_lab.catalog import ACCELERATORS, PRECISIONS
from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cache_layers import CacheLayers
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import key_of
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.kv_memory.machine import BLOCK, beside_bytes
from llmserve_lab.page.banded import BandTable
from llmserve_lab.page.live.controls import Choice, Lookup, Table
from llmserve_lab.running_example import MODEL
from llmserve_lab.validation.cache_blocks import band

FORMATS = ("bf16", "fp8")
GROUPS = (1, 2, 4, 8)
SHOWN = (
    MODEL, "llama-3.1-70b", "llama-3.1-405b", "qwen3-32b", "gpt-oss-120b",
    "llama-4-scout", "deepseek-v3", "mistral-7b-v0.1",
)  # fmt: skip
LAYERS = tuple(CACHE_LAYERS[key] for key in SHOWN)
BESIDE = CACHE_LAYERS["mistral-7b-v0.1"].name  # in grey, until another is chosen
DEVICES = tuple(
    ACCELERATORS[key]
    for key in ("h100-sxm", "h200-sxm", "b200-sxm", "a100-80-sxm", "mi300x", "l40s")
)


def copies(layers: CacheLayers, group: int) -> float:
    """How often each key and value is stored in a tensor-parallel group.

    No cut falls inside a head, so more GPUs than key–value heads store some twice; the
    latent of MLA is not cut at all.
    """
    assert layers.shape is not None
    spec = layers.shape.attention
    heads = spec.n_kv_heads if isinstance(spec, GroupedQueryAttention) else 1
    return max(1.0, group / heads)


def cache_bytes(
    layers: CacheLayers, device: Accelerator, group: int, precision: str
) -> float | None:
    """Memory for the cache of a group; None where no block fits."""
    assert layers.shape is not None
    weights = layers.shape.weight_bytes(PRECISIONS[precision].bytes_weight)
    allowed = float(MEMORY_SHARE) * float(device.usable_bytes)
    left = group * (allowed - float(beside_bytes())) - weights
    block = BLOCK * layers.naive_token_bytes() * copies(layers, group)
    return left if left >= block else None


def room_band(*, model: str, gpu: str, group: str, bits: str) -> Band | Unmeasured:
    """How far off the room for the cache was where vLLM printed its own count."""
    named = {one.name: one for one in LAYERS}
    devices = {each.name: each for each in DEVICES}
    key_of("model", model, named)
    key_of("gpu", gpu, devices)
    layers, device = named[model], devices[gpu]
    assert layers.shape is not None
    if isinstance(layers.shape.ffn, MoeFfn):
        return Unmeasured("a mixture of experts: the counts are of dense models")
    return band(device.key, bits.lower(), tp=int(group))


ROOM = BandTable(room_band, ("model", "gpu", "group", "bits"))


def choices() -> tuple[Choice | Lookup, ...]:
    """Model, GPU, their number and the bits of the weights; the cache has 16 bits."""
    room = tuple(
        tuple(
            tuple(
                tuple(cache_bytes(one, device, group, each) for each in FORMATS)
                for group in GROUPS
            )
            for device in DEVICES
        )
        for one in LAYERS
    )
    return (
        Choice(
            "model",
            "Model",
            tuple(one.name for one in LAYERS),
            LAYERS[0].name,
            {
                "most_context": tuple(_longest(one) for one in LAYERS),
                "too_long": tuple(_longest(one) + 1 for one in LAYERS),
                "unlike": tuple(float(_unlike(one)) for one in LAYERS),
            },
        ),
        Choice(
            "gpu",
            "GPU",
            tuple(d.name for d in DEVICES),
            DEVICES[0].name,
            {"usable_bytes": tuple(d.usable_bytes for d in DEVICES)},
        ),
        Choice(
            "group",
            "GPUs",
            tuple(map(str, GROUPS)),
            "1",
            {"n_ranks": tuple(float(each) for each in GROUPS)},
        ),
        Choice("bits", "Weights", tuple(p.upper() for p in FORMATS), "BF16"),
        Choice(
            "other",
            "Second model",
            tuple(one.name for one in LAYERS),
            BESIDE,
            {"other_most_context": tuple(_longest(one) for one in LAYERS)},
        ),
        Lookup("cache_bytes", ("model", "gpu", "group", "bits"), room, "byte"),
        Lookup(
            "other_cache_bytes",
            ("other", "gpu", "group", "bits"),
            _filled(room),
            "byte",
        ),
        Lookup("stored_bytes", ("model", "bits"), _stored(), "byte"),
        *_kept("", "model"),
        *_kept("other_", "other"),
    )


def _kept(prefix: str, model: str) -> tuple[Lookup, ...]:
    """Bytes that the layers of a model keep, and how far its windows look back."""
    both = (model, "group")
    return (
        *(
            Lookup(prefix + name, both, _each(name), unit)
            for name, unit in (
                ("full_token_bytes", "byte/token"),
                ("window_token_bytes", "byte/token"),
                ("state_bytes", "byte/request"),
            )
        ),
        Lookup(
            f"{prefix}window", (model,), tuple(float(one.window or 1) for one in LAYERS)
        ),
    )


def _filled(table: Table) -> Table:
    """One byte where no block fits: the line of the model beside is out of sight."""
    return tuple(
        _filled(entry) if isinstance(entry, tuple) else 1.0 if entry is None else entry
        for entry in table
    )


def _stored() -> Table:
    """Bytes of the weights of each model in each format."""
    found = []
    for one in LAYERS:
        assert one.shape is not None
        sizes = (PRECISIONS[each].bytes_weight for each in FORMATS)
        found.append(tuple(one.shape.weight_bytes(size) for size in sizes))
    return tuple(found)


def _unlike(layers: CacheLayers) -> bool:
    """Whether no published count of a model with such layers confirms the formula."""
    assert layers.shape is not None
    plain = isinstance(layers.shape.attention, GroupedQueryAttention)
    return bool(layers.window_layers or layers.state_layers or not plain)


def _longest(layers: CacheLayers) -> float:
    assert layers.shape is not None
    assert layers.shape.max_context is not None
    return float(layers.shape.max_context)


def _each(name: str) -> tuple[tuple[float, ...], ...]:
    """Bytes of each model, by the number of GPUs, copies counted."""
    return tuple(
        tuple(getattr(one, name)() * copies(one, group) for group in GROUPS)
        for one in LAYERS
    )
