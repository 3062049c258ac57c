"""Count FLOPs and bytes of an iteration, matrix by matrix and row by row.

The closed forms of the chapter say what the bill must come to. The walk knows none of
them: it looks at one weight tensor after the other and at every row of the causal mask.
It also notes what the closed forms leave out, so that the text can say how much it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmserve_lab.catalog import ModelShape, workload
from llmserve_lab.checks import MOST_PLAYED, positive, whole
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.origin import Computed, Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import formulas as f

FLOPS_PER_MAC = 2


@dataclass
class IterationCount:
    """FLOPs done and bytes moved by one iteration, over all layers."""

    linear_flops: int = 0
    attn_flops: int = 0
    attn_pairs: int = 0
    weight_bytes: float = 0.0
    kv_read_bytes: float = 0.0
    kv_write_bytes: float = 0.0
    activation_bytes: float = 0.0
    expand_flops: int = 0

    @property
    def iteration_flops(self) -> int:
        """Linear layers and attention together; what ``iteration_flops`` counts."""
        return self.linear_flops + self.attn_flops

    @property
    def iteration_bytes(self) -> float:
        """What the roofline counts: weights and cache, read once."""
        return self.weight_bytes + self.kv_read_bytes

    @property
    def overlooked_bytes(self) -> float:
        """What it leaves out: the new cache entries, and rows between two kernels."""
        return self.kv_write_bytes + self.activation_bytes


def walk(
    model: ModelShape,
    *,
    batch: int,
    context: int,
    chunk: int,
    absorbed: bool = True,
    last_scored: bool = False,
    bytes_weight: float = 2,
    bytes_kv: float = 2,
    bytes_act: float = 2,
) -> IterationCount:
    """Count one iteration: ``batch`` requests, ``context`` cached, ``chunk`` new rows.

    Every expert's weights are read (a large batch touches them all), but a row is
    multiplied only with those that it is sent to. MLA works on its latents, as in
    decode; or, not ``absorbed``, on keys and values made from them, as in prefill.
    The LM head scores every row; or, with ``last_scored``, each request's last one.

    Raises:
        TypeError: a count is no whole number.
        ValueError: a count is negative, there is no request or no row, or a number
            takes no bytes.
    """
    whole(of="request", most=MOST_PLAYED, batch=batch)
    whole(of="row", most=MOST_PLAYED, chunk=chunk)
    whole(context=context, first=0)
    positive("bytes_weight", bytes_weight)
    positive("bytes_act", bytes_act)
    bill = IterationCount()
    scored = batch if last_scored else batch * chunk
    _linear_layers(bill, model, batch * chunk, scored, bytes_weight, bytes_act)
    for _ in range(batch):
        _attention(bill, model, context, chunk, bytes_kv, absorbed)
        if not absorbed:
            _expansion(bill, model, context)
    return bill


def _linear_layers(
    bill: IterationCount,
    model: ModelShape,
    n_rows: int,
    scored: int,
    bytes_weight: float,
    bytes_act: float,
) -> None:
    """Read every tensor once but a look-up; multiply every row with its matrices."""
    for tensor in model.tensors():
        if tensor.name == "embed_tokens" and not model.tied:
            continue  # a look-up: a row for a token, as little as an activation
        bill.weight_bytes += tensor.params * bytes_weight
        if len(tensor.shape) == 2:
            inputs, outputs = tensor.shape
            head = tensor.name in ("lm_head", "embed_tokens")
            passes = (scored if head else n_rows) * tensor.active
            bill.linear_flops += FLOPS_PER_MAC * inputs * outputs * passes
            bill.activation_bytes += (inputs + outputs) * passes * bytes_act


def _expansion(bill: IterationCount, model: ModelShape, context: int) -> None:
    """Make keys and values of one request's cached latents again; MLA alone has any."""
    for tensor in model.tensors():
        if tensor.name == "kv_b_proj":
            bill.expand_flops += FLOPS_PER_MAC * tensor.params_active * context


def _attention(
    bill: IterationCount,
    model: ModelShape,
    context: int,
    chunk: int,
    bytes_kv: float,
    absorbed: bool,
) -> None:
    """Read one request's cache; walk down the rows of its causal mask."""
    one_token = model.kv_bytes_per_token(bytes_kv)
    one_pair = model.attn_flops_per_pair(absorbed=absorbed)
    bill.kv_read_bytes += context * one_token
    for row in range(chunk):
        visible = context + row + 1
        bill.attn_pairs += visible
        bill.attn_flops += visible * one_pair
        bill.kv_write_bytes += one_token


CLOSED = (
    f.WEIGHT_BYTES,
    f.KV_READ_BYTES,
    f.LINEAR_FLOPS,
    f.ATTN_PAIRS,
    f.ATTN_FLOPS,
    f.KV_WRITE_BYTES,
)


@dataclass(frozen=True)
class ComparedCount:
    """A closed form beside what the walk counted."""

    formula: Formula
    closed: Computed
    counted: float

    @property
    def ratio(self) -> float | None:
        """The closed form over the count; None where both are nothing."""
        if self.closed.value == self.counted == 0:
            return None
        return self.closed.value / self.counted


def compared(
    model: ModelShape, *, batch: int, context: int, chunk: int
) -> tuple[ComparedCount, ...]:
    """Each closed form beside what the walk counted.

    One row works on the latents of MLA, a chunk on keys and values made from them.
    """
    size: dict[str, Any] = {"batch": batch, "context": context, "chunk": chunk}
    absorbed = chunk == 1
    bill = walk(model, absorbed=absorbed, **size)
    known = workload(model, absorbed=absorbed) | size
    return tuple(
        ComparedCount(each, each.computed(known), float(getattr(bill, each.name)))
        for each in CLOSED
    )


def comparison(model: ModelShape, *, batch: int, context: int, chunk: int) -> Table:
    """Table of each closed form beside what the walk counted, and their ratio."""
    rows = []
    for each in compared(model, batch=batch, context=context, chunk=chunk):
        of, unit = each.formula, each.formula.result.unit
        rows.append(
            (
                f"{of.result.meaning}, {of.link}",
                Sourced(si(each.closed.value, unit, 5), each.closed),
                si(each.counted, unit, 5),
                "both none" if each.ratio is None else f"{each.ratio:.4f}",
            )
        )
    caption = f"{model.name}: closed form against the walk"
    return Table(caption, ("quantity", "closed form", "counted", "ratio"), rows)
