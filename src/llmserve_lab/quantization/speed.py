"""What fewer bits buy: the cost of an iteration with weights and cache quantized apart.

The machine is the one that was fitted to servers (``running_example``): a peak twice
as high counts as √2 times as fast there; the LM head multiplies in 16 bits. A
weight-only format is read in few bits and multiplied in sixteen; so is one whose
arithmetic the GPU does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from llmserve_lab import validation
from llmserve_lab.catalog import Accelerator, ModelShape, workload
from llmserve_lab.catalog.evidence.servers import VLLM_MEMORY_SHARE
from llmserve_lab.checks import key_of, whole
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.formula.formula import Formula
from llmserve_lab.quantization import formulas as f
from llmserve_lab.quantization.schemes import scheme
from llmserve_lab.running_example import device, model, served_by
from llmserve_lab.validation import room

WIDE = "bf16"
# In which format the tensor cores multiply weights of each; None: weight-only.
ARITHMETIC: Mapping[str, str | None] = MappingProxyType(
    {
        "bf16": None,
        "fp8": "fp8",
        "int8": "int8",
        "int4": None,
        "mxfp4": "fp4",
        "nvfp4": "fp4",
    }
)
CACHES = ("bf16", "fp8", "int4-row")
UTILISATION = float(VLLM_MEMORY_SHARE)  # vLLM's default share of the memory


@dataclass(frozen=True)
class Bits:
    """Formats of weights and cache, by the keys of their schemes.

    Raises:
        ValueError: there is no such scheme, or it is priced for the other alone.
    """

    weights: str = WIDE
    cache: str = WIDE

    def __post_init__(self) -> None:
        scheme(self.weights), scheme(self.cache)
        if self.weights not in ARITHMETIC:
            known = ", ".join(ARITHMETIC)
            raise ValueError(f"weights must be one of {known}, got {self.weights!r}")
        key_of("cache", self.cache, CACHES)


def multiplies_in(weights: str, gpu: Accelerator) -> str:
    """Precision of the tensor cores for weights of this format: 16 bits if need be."""
    wanted = ARITHMETIC[weights]
    return wanted if wanted in gpu.peak_flops and wanted else WIDE


def bytes_quantized(weights: str, shape: ModelShape) -> float:
    """Bytes of a parameter in this format, with its share of a scale."""
    return scheme(weights).bits_per_number(shape.d_model) / 8


def cached_bytes(cache: str, shape: ModelShape) -> float:
    """Bytes of a cached number; scales for FP8 are one a tensor, and not counted."""
    each = scheme(cache)
    width = getattr(shape.attention, "d_head", shape.d_model)
    bits = each.numbers.bits if cache == "fp8" else each.bits_per_number(width)
    return bits / 8


def sizes(bits: Bits, shape: ModelShape) -> dict[str, float]:
    """What the formulas ask about the model's bytes."""
    known = {name: float(value) for name, value in workload(shape).items()}
    head = float(shape.vocab * shape.d_model)
    return {
        **known,
        "params_head": head,
        "bytes_quantized": bytes_quantized(bits.weights, shape),
        "kv_bytes_per_token": shape.kv_bytes_per_token(cached_bytes(bits.cache, shape)),
    }


def asked(formula: Formula, known: Mapping[str, float]) -> float:
    """A formula's number; intermediate results that are known are not computed."""
    leaves = formula.leaves(keep=frozenset(known))
    return float(formula(**{leaf.name: known[leaf.name] for leaf in leaves}))


@cache
def served(
    bits: Bits,
    shape: ModelShape | None = None,
    gpu: Accelerator | None = None,
    exponent: float | None = None,
) -> IterationCost:
    """The book's machine with these formats; by default model and GPU of the book.

    A peak n times as high computes n to the ``exponent`` times as fast: by default the
    number that was set with measured servers in view.
    """
    shape, gpu = shape or model(), gpu or device()
    wide, known = served_by(shape, gpu), sizes(bits, shape)
    read = asked(f.WEIGHT_BYTES, known)
    narrow = known["kv_bytes_per_token"]
    faster = float(gpu.peak(multiplies_in(bits.weights, gpu))) / float(gpu.peak(WIDE))
    whole = known["bytes_weight"] * known["params_read"]
    head = known["params_head"] / known["params_active"]
    reached = validation.achieved().exponent if exponent is None else exponent
    blocks_row = (1 - head) / faster**reached
    return replace(
        wide,
        weights_s=wide.weights_s * read / whole,
        row_s=wide.row_s * (head + blocks_row),
        kv_token_s=wide.kv_token_s * narrow / wide.kv_bytes_per_token,
        kv_bytes_per_token=narrow,
        weight_bytes=asked(f.STORED_BYTES, known),
    )


def decode_s(cost: IterationCost, *, batch: int, context: int) -> float:
    """Seconds of a decode step of ``batch`` requests with ``context`` tokens each."""
    return cost.seconds(IterationLoad.of(chunk=1, context=context).times(batch))


def prefill_s(cost: IterationCost, *, prompt: int) -> float:
    """Seconds of a prompt read at once."""
    return cost.seconds(IterationLoad.of(chunk=prompt))


def overtaken(
    first: Bits,
    second: Bits,
    *,
    context: int,
    most: int = 4096,
    gpu: Accelerator | None = None,
) -> int:
    """Least batch whose decode step takes no longer in ``second`` than in ``first``.

    Raises:
        ValueError: there is none up to ``most``.
    """
    priced = (served(each, gpu=gpu) for each in (first, second))
    return _level(*priced, context=context, most=most)


def overtaken_between(first: Bits, second: Bits, *, context: int) -> tuple[int, int]:
    """Least and most of that batch if assumptions were others, in any combination.

    Of the shorter of reading and computing nothing is hidden, half or all; the peak of
    ``second`` is reached by its power, or in full.
    """
    found = [
        _level(
            replace(served(first), overlap=hidden),
            replace(served(second, exponent=exponent), overlap=hidden),
            context=context,
        )
        for hidden in (0.0, 0.5, 1.0)
        for exponent in (None, 1.0)
    ]
    return min(found), max(found)


def _level(
    first: IterationCost, second: IterationCost, *, context: int, most: int = 4096
) -> int:
    """Least batch whose decode step takes no longer at the second price."""
    for batch in range(1, most + 1):
        one, other = (
            decode_s(c, batch=batch, context=context) for c in (first, second)
        )
        if other <= one:
            return batch
    raise ValueError(f"most must be a batch at which second is ahead, got {most}")


def room_bytes(gpu: Accelerator) -> float:
    """Bytes for weights, working space and caches: vLLM's default share."""
    return UTILISATION * float(gpu.usable_bytes)


def room_line(cost: IterationCost, *, context: int) -> str:
    """The sum of :func:`fits` in print, where slots decide: what is left, over each."""
    usable, libraries = float(device().usable_bytes), room.library_bytes()
    left = room_bytes(device()) - libraries - cost.weight_bytes
    cached, slot = _cached(cost, context), room.slot_bytes(model().vocab)
    giga = (f"{x / 1e9:.2f}" for x in (usable, libraries, cost.weight_bytes))
    whole_gpu, kept, weights = giga
    return (
        f"({UTILISATION:.2f} × {whole_gpu} − {kept} − {weights}) GB / "
        f"({cached / 1e6:.1f} + {slot / 1e6:.1f}) MB = {int(left / (cached + slot))}"
    )


def _cached(cost: IterationCost, context: int) -> float:
    """Bytes that a request of so many tokens keeps, in whole blocks."""
    return -(-context // 16) * 16 * cost.kv_bytes_per_token


def fits(cost: IterationCost, *, context: int) -> int:
    """Requests of so many tokens, a slot for each, that fit beside the weights.

    By the book's one rule, of vLLM's default share of the memory that the driver shows.
    Slots are those of the book's vocabulary, CUDA graphs are left out.

    Raises:
        ValueError: a request has less than a token.
    """
    whole(of="token", context=context)
    return room.requests_that_fit(
        UTILISATION * cost.hbm_bytes - cost.weight_bytes,
        request_bytes=_cached(cost, context),
        vocab=model().vocab,
    )
