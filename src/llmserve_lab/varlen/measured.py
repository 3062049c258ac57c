"""An encoder with and without padding, as measured, beside the model's prediction."""

from __future__ import annotations

import math

from llmserve_lab.catalog.evidence.packing import BERT_BASE, UNPADDED, Unpadded
from llmserve_lab.page.table import Table

MANY_ROWS = 4096  # padded rows from which the measured factor is near the predicted


def flops(lengths: list[int]) -> float:
    """FLOPs of BERT-base on requests of these lengths, whole blocks of attention.

    An encoder masks nothing, so every pair of a block is computed.
    """
    per_layer = (each for each in BERT_BASE.tensors() if each.copies > 1)
    matrices = (each for each in per_layer if len(each.shape) == 2)
    weights = sum(each.copies * math.prod(each.shape) for each in matrices)
    pairs = sum(length**2 for length in lengths)
    return 2.0 * weights * sum(lengths) + BERT_BASE.attn_flops_per_pair() * pairs


def predicted(row: Unpadded) -> float:
    """FLOPs of the padded batch over those of the packed one."""
    padded = [row.stretched] * row.batch
    packed = [row.stretched // 2] * row.batch
    return flops(padded) / flops(packed)


def measured(row: Unpadded) -> float:
    """Time of the padded batch over that of the packed one."""
    return float(row.padded_s) / float(row.packed_s)


def off(row: Unpadded) -> float:
    """By how much the prediction exceeds the measurement, as a share of the latter."""
    return predicted(row) / measured(row) - 1


def large() -> list[Unpadded]:
    """The measured batches that have many rows."""
    return [row for row in UNPADDED if row.batch * row.stretched >= MANY_ROWS]


def most_rows() -> Unpadded:
    """The measured batch with the most rows."""
    return max(UNPADDED, key=lambda row: row.batch * row.stretched)


def without_gain() -> Unpadded:
    """The measured batch whose time removing the padding changes least."""
    return min(UNPADDED, key=lambda row: abs(measured(row) - 1))


def unpadded_table() -> Table:
    """Table of the measured batches: rows, times, factors, and how far the model is."""
    rows = []
    for row in sorted(UNPADDED, key=lambda each: each.batch * each.stretched):
        rows.append(
            (
                f"{row.batch} × {row.stretched}",
                row.batch * row.stretched,
                f"{1e3 * float(row.padded_s):.2f} ms",
                f"{1e3 * float(row.packed_s):.2f} ms",
                f"{measured(row):.2f}",
                f"{predicted(row):.2f}",
                f"{off(row):+.0%}",
            )
        )
    columns = (
        "batch",
        "padded rows",
        "padded",
        "packed",
        "measured factor",
        "predicted factor",
        "model off by",
    )
    caption = "BERT-base on an A100 (FasterTransformer), half of all rows padding"
    note = "A batch is prompts × rows of each; half of the rows are tokens."
    return Table(caption, columns, rows, (note,))
