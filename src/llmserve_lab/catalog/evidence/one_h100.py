"""What one H100 did: copies, reads, products, attention and whole passes, timed alone.

Measured for this book by ``tools/gpu``, which says how: replayed from CUDA graphs,
random weights in the shapes of Llama-3.1-8B, no engine, no scheduler, no sampling, no
client. So a pass here is what the GPU does in an iteration, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from llmserve_lab.catalog.records.cited import Cited

DATA = Path(__file__).with_name("one_h100.json")
Run = TypeVar("Run")


@cache
def _record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DATA.read_text("utf8"))
    return found


def provenance() -> dict[str, Any]:
    """Card, driver, CUDA, PyTorch, Triton, date, multiprocessors and memory."""
    return dict(_record()["provenance"])


def source() -> str:
    """One line that names card, driver, CUDA and date."""
    said = provenance()
    return (
        f"measured for this book: {said['card']}, driver {said['driver']}, CUDA "
        f"{said['cuda']}, PyTorch {said['pytorch']}, {said['date']}"
    )


def as_note() -> str:
    """The same, as the beginning of a table's note."""
    return f"M{source()[1:]}"


def _runs(kind: str, make: type[Run]) -> tuple[Run, ...]:
    """The rows of a kind; whatever was timed is cited."""
    table, where = _record()[kind], source()
    found = []
    for row in table["rows"]:
        values = dict(zip(table["columns"], row, strict=True))
        for name in ("seconds", "launched_seconds"):
            if values.get(name) is not None:
                values[name] = Cited(values[name], "s", "measured", where)
        found.append(make(**values))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Copy:
    """So many bytes copied within the GPU's memory: each is read and written."""

    bytes: int
    seconds: Cited

    @property
    def bytes_per_s(self) -> float:
        """Bytes read and bytes written, a second."""
        return 2 * self.bytes / float(self.seconds)


@dataclass(frozen=True, kw_only=True)
class Read:
    """Bytes read by so many blocks side by side, each with ``at_a_time`` under way."""

    blocks: int
    at_a_time: int
    bytes: int
    seconds: Cited

    @property
    def bytes_per_s(self) -> float:
        """What all blocks together read."""
        return self.bytes / float(self.seconds)


@dataclass(frozen=True, kw_only=True)
class Product:
    """``rows`` × a matrix of the model [n_in, n_out]; the result is in BF16.

    ``matrix`` is the model's name for it, or ``"square"``.
    """

    precision: str
    matrix: str
    n_in: int
    n_out: int
    rows: int
    seconds: Cited

    @property
    def flops(self) -> float:
        """A multiplication and an addition for each number of each row."""
        return 2.0 * self.rows * self.n_in * self.n_out

    @property
    def traffic_bytes(self) -> float:
        """Rows and weights once in, results once out."""
        each = 2 if self.precision == "bf16" else 1
        read = self.rows * self.n_in + self.n_in * self.n_out
        return float(each * read + 2 * self.rows * self.n_out)

    @property
    def flops_per_s(self) -> float:
        """What the product computes a second."""
        return self.flops / float(self.seconds)

    @property
    def bytes_per_s(self) -> float:
        """What the product reads and writes a second."""
        return self.traffic_bytes / float(self.seconds)


@dataclass(frozen=True, kw_only=True)
class DecodeAttention:
    """Attention of one layer for one token of each request, its keys in splits.

    ``splits`` is ``None`` where PyTorch's FlashAttention-2 chose them; elsewhere a
    kernel of this book's reads and merges them.
    """

    heads: int
    kv_heads: int
    batch: int
    context: int
    splits: int | None
    seconds: Cited
    width: int = 128

    @property
    def cache_bytes(self) -> int:
        """Keys and values of all requests in 16 bits."""
        return 4 * self.batch * self.kv_heads * self.context * self.width

    @property
    def bytes_per_s(self) -> float:
        """Keys and values read a second."""
        return self.cache_bytes / float(self.seconds)


@dataclass(frozen=True, kw_only=True)
class PrefillAttention:
    """Causal attention of one layer over a prompt of so many tokens."""

    code: str
    tokens: int
    heads: int
    kv_heads: int
    seconds: Cited
    width: int = 128

    @property
    def flops(self) -> float:
        """Two products for each pair that is not masked, each of them two FLOPs."""
        pairs = self.tokens * (self.tokens + 1) / 2
        return 4.0 * self.heads * self.width * pairs

    @property
    def flops_per_s(self) -> float:
        """What the two products compute a second."""
        return self.flops / float(self.seconds)


class PassSize(NamedTuple):
    """Decodes with a context, and a chunk of a prompt after its prefix."""

    decodes: int
    context: int
    chunk: int
    prefix: int


@dataclass(frozen=True, kw_only=True)
class TimedPass:
    """One iteration of Llama-3.1-8B, attention by cuDNN and a kernel with splits.

    ``decodes`` requests with ``context`` tokens write one each; beside them ``chunk``
    tokens of a prompt are read after ``prefix`` others. ``launched_seconds`` is the
    time of the same with each kernel launched from Python.
    """

    precision: str
    decodes: int
    context: int
    chunk: int
    prefix: int
    seconds: Cited
    launched_seconds: Cited | None

    @property
    def size(self) -> PassSize:
        """What the iteration carries."""
        return PassSize(self.decodes, self.context, self.chunk, self.prefix)


@cache
def copies() -> tuple[Copy, ...]:
    """From 4 KiB to 4 GiB."""
    return _runs("copy", Copy)


@cache
def reads() -> tuple[Read, ...]:
    """By one block up to eight on each multiprocessor."""
    return _runs("read", Read)


@cache
def products() -> tuple[Product, ...]:
    """The four matrices of a layer, the head and squares; BF16, and two in FP8."""
    return _runs("product", Product)


@cache
def decode_attention() -> tuple[DecodeAttention, ...]:
    """By splits, for the shapes of a published report and for Llama-3.1-8B's."""
    return _runs("decode attention", DecodeAttention)


@cache
def prefill_attention() -> tuple[PrefillAttention, ...]:
    """Whole prompts of 512 to 65,536 tokens, by two libraries."""
    return _runs("prefill attention", PrefillAttention)


@cache
def passes() -> tuple[TimedPass, ...]:
    """Decode steps, prompts, and chunks beside decodes; all in 16 bits timed twice."""
    return _runs("pass", TimedPass)


@cache
def mean_seconds(precision: str = "bf16") -> Mapping[PassSize, float]:
    """Seconds of each size of pass, the mean of its runs.

    Raises:
        ValueError: no pass was timed with weights of this precision.
    """
    seconds: dict[PassSize, list[float]] = {}
    for run in passes():
        if run.precision == precision:
            seconds.setdefault(run.size, []).append(float(run.seconds))
    if not seconds:
        known = ", ".join(sorted({run.precision for run in passes()}))
        raise ValueError(f"precision must be one of {known}, got {precision!r}")
    return MappingProxyType({size: fmean(found) for size, found in seconds.items()})
