"""One H100 timed alone beside the bound: its reading, its products, whole iterations.

A bare iteration has no engine around it, no scheduler and no client. What a server
takes beyond it is the server's; what it takes beyond the datasheet is the GPU's.
"""

from __future__ import annotations

from functools import cache

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
    prompt_terms,
    terms,
)
from llmserve_lab.running_example import ANSWER, PROMPT, band, ideal, model
from llmserve_lab.validation import datasheet_bound

LAYER = ("qkv", "out", "gate and up", "down")  # the matrices of a layer, as measured
MANY = 4096  # rows with which the products of a layer are quickest
LOADS = ((1, 0), (BATCH, 0), (256, 0), (0, PROMPT))  # decodes, or a prompt


@cache
def _products() -> dict[tuple[str, int], one_h100.Product]:
    found = (each for each in one_h100.products() if each.precision == "bf16")
    return {(each.matrix, each.rows): each for each in found}


def products_of(matrix: str) -> tuple[one_h100.Product, ...]:
    """The products of a matrix in BF16, the fewest rows first."""
    found = [each for (name, _), each in _products().items() if name == matrix]
    return tuple(sorted(found, key=lambda each: each.rows))


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


def reading_share(matrix: str) -> float:
    """Share of the datasheet's bandwidth at which a product of one row reads."""
    run = _products()[matrix, 1]
    return run.bytes_per_s / float(ideal()["hbm_bw"])


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


def fastest_copy() -> float:
    """Bytes a second of the quickest copy, read and written counted."""
    return max(each.bytes_per_s for each in one_h100.copies())


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


def rate_with_prompts(batch: int) -> float:
    """Output tokens a second of one GPU, if each answer's prompt is read, too.

    Decodes and prompts in iterations of their own, both as timed: each of ``batch``
    requests needs a prompt in the tokens of an answer.
    """
    each = alone_s(batch) + batch / ANSWER * alone_s(chunk=PROMPT)
    return batch / each


def split_of_launches() -> dict[str, float]:
    """What the fitted time of launches and gaps is, for one request that decodes.

    The whole as served stays; the bare pass and its products, timed one by one, say
    which part of it is which.
    """
    served, bare, products = terms(1), alone_s(1), products_s(1)
    slower = products - served["read weights"]
    added = sum(served.values()) - bare
    return {
        "slower reading": slower,
        "other kernels": served["launches and gaps"] - slower - added,
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
    """Table of iterations: the bound, one GPU alone, the prediction for a server."""
    rows = []
    for batch, chunk in LOADS:
        served = sum((terms(batch) if batch else prompt_terms(chunk)).values())
        around = band("decode_step" if batch else "ttft", clients=batch if batch else 1)
        least = f"{1e3 * bound(batch, chunk).value:.1f}"
        rows.append(
            (
                f"decode of {batch}" if batch else f"prompt of {chunk:,}",
                banded(least, datasheet_bound("decode_step")),
                f"{1e3 * alone_s(batch, chunk=chunk):.1f}",
                banded(f"{1e3 * served:.1f}", around),
                f"{mbu(batch, chunk):.0%}",
                f"{mfu(batch, chunk):.1%}",
            )
        )
    columns = ("iteration", "bound", "one GPU", "as served", "MBU", "MFU")
    caption = (
        f"Milliseconds of an iteration, {MEAN_CONTEXT:,} tokens in each cache; "
        "MBU and MFU of the one GPU"
    )
    note = f"One GPU: {one_h100.source()}; mean of two runs. As served: fitted."
    return Table(caption, columns, rows, notes=(note,))
