"""One H100 timed alone beside the bound: its reading, its products, whole iterations.

A bare iteration has no engine around it, no scheduler and no client. What a server
takes beyond it is the server's; what it takes beyond the datasheet is the GPU's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.formula.origin import Computed
from llmserve_lab.page.banded import banded
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import (
    BATCH,
    MEAN_CONTEXT,
    decode,
    prompt,
    terms,
)
from llmserve_lab.running_example import PROMPT, ideal, model
from llmserve_lab.validation import datasheet_bound

LAYER = ("qkv", "out", "gate and up", "down")  # the matrices of a layer, as timed
MANY = 4096  # rows with which the products of a layer are quickest
SHORTER = (600, MEAN_CONTEXT)  # cached tokens with which every batch was timed
LOADS = ((1, 0), (BATCH, 0), (256, 0), (0, PROMPT))  # decodes, or a prompt


@cache
def _products() -> dict[tuple[str, int], one_h100.Product]:
    found = (each for each in one_h100.products() if each.precision == "bf16")
    return {(each.matrix, each.rows): each for each in found}


def products_of(matrix: str) -> tuple[one_h100.Product, ...]:
    """The products of a matrix in BF16, the fewest rows first."""
    found = [each for (name, _), each in _products().items() if name == matrix]
    return tuple(sorted(found, key=lambda each: each.rows))


def rows_timed() -> tuple[int, ...]:
    """Numbers of rows with which every product of an iteration was timed."""
    timed = _products()
    found = [rows for name, rows in timed if name == "head"]
    return tuple(sorted(n for n in found if all((name, n) in timed for name in LAYER)))


def layers_s(rows: int) -> float:
    """Seconds of the products of all layers, each of them timed alone.

    Raises:
        KeyError: no product was timed with so many rows.
    """
    timed = _products()
    each = sum(float(timed[name, rows].seconds) for name in LAYER)
    return model().n_layers * each


def products_s(rows: int) -> float:
    """The same with the LM head, which an iteration of decodes runs for every row."""
    return layers_s(rows) + float(_products()["head", rows].seconds)


def compute_rate(rows: int = MANY) -> float:
    """FLOP/s of the products of a layer together."""
    flops = sum(_products()[name, rows].flops for name in LAYER)
    return flops * model().n_layers / layers_s(rows)


def ridge_rows() -> float:
    """Rows at which reading, as with one row, and computing, as with many, are equal.

    Products of one row wait for their weights, those of ``MANY`` rows for the tensor
    cores: the ridge of the products as they were measured.
    """
    return layers_s(1) / (layers_s(MANY) / MANY)


def fastest_read() -> float:
    """Bytes a second of the quickest kernel that only reads."""
    return max(each.bytes_per_s for each in one_h100.reads())


def batches(context: int = MEAN_CONTEXT) -> tuple[int, ...]:
    """Numbers of requests whose decode was timed with so many cached tokens each."""
    timed = one_h100.mean_seconds()
    found = {s.decodes for s in timed if s.context == context and not s.chunk}
    return tuple(sorted(found))


def alone_s(batch: int = 0, *, chunk: int = 0, context: int = MEAN_CONTEXT) -> float:
    """Seconds of an iteration, the mean of its runs: decodes, or one whole prompt.

    Raises:
        ValueError: no such iteration was timed.
    """
    asked = one_h100.PassSize(batch, context if batch else 0, chunk, 0)
    timed = one_h100.mean_seconds()
    if asked not in timed:
        raise ValueError(f"batch and chunk must be timed ones, got {batch}, {chunk}")
    return timed[asked]


def decode_s(batch: int, context: float) -> float:
    """Seconds of a decode, on the straight line through the two contexts timed.

    A cached token adds what it adds between them.

    Raises:
        ValueError: no such batch was timed.
    """
    at_few, at_many = (alone_s(batch, context=each) for each in SHORTER)
    few, many = SHORTER
    return at_many + (context - many) * (at_many - at_few) / (many - few)


def split_of_launches() -> dict[str, float]:
    """What the fitted time of launches and gaps is, for one request that decodes.

    The fitted whole stays; the bare pass and its products, timed one by one, say
    which part of it is which.
    """
    fitted, bare, products = terms(1), alone_s(1), products_s(1)
    slower = products - fitted["read weights"]
    added = sum(fitted.values()) - bare
    return {
        "slower reading": slower,
        "other kernels": fitted["launches and gaps"] - slower - added,
        "server": added,
    }


def _size(batch: int, chunk: int) -> dict[str, float]:
    return decode(batch) if batch else prompt(chunk)


def bound(batch: int, chunk: int = 0) -> Computed:
    """The datasheet's bound on an iteration of decodes, or of one prompt."""
    return f.ITERATION_S_APART.computed(ideal(), _size(batch, chunk))


def mbu(batch: int, chunk: int = 0) -> float:
    """Share of the datasheet's bandwidth that a bare iteration makes use of."""
    took = alone_s(batch, chunk=chunk)
    return float(f.MBU.at(ideal(), _size(batch, chunk), measured_s=took))


def mfu(batch: int, chunk: int = 0) -> float:
    """Share of the datasheet's compute that a bare iteration makes use of."""
    took = alone_s(batch, chunk=chunk)
    return float(f.MFU_MEASURED.at(ideal(), _size(batch, chunk), measured_s=took))


def passes_table() -> Table:
    """Table of iterations: the bound, one GPU alone, and what it uses."""
    rows: list[tuple[Any, ...]] = []
    for batch, chunk in LOADS:
        least = f"{1e3 * bound(batch, chunk).value:.1f}"
        rows.append(
            (
                f"decode of {batch}" if batch else f"prompt of {chunk:,}",
                least if rows else banded(least, datasheet_bound("decode_step")),
                f"{1e3 * alone_s(batch, chunk=chunk):.1f}",
                f"{mbu(batch, chunk):.0%}",
                f"{mfu(batch, chunk):.1%}",
            )
        )
    columns = ("iteration", "bound", "one GPU", "MBU", "MFU")
    caption = (
        f"Milliseconds of an iteration, {MEAN_CONTEXT:,} tokens in each cache; "
        "MBU and MFU of the GPU"
    )
    note = f"One GPU: {one_h100.source()}; mean of two runs."
    return Table(caption, columns, rows, notes=(note,))
