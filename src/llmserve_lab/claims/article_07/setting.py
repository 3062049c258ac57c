"""What article 07 claims, run again: two models, a node, and ranks that execute."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog import PRECISIONS, accelerator, machine
from llmserve_lab.checks import whole
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe import hybrid_parallel_block, parallel
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.moe.models import DEEPSEEK, DEFAULT, moe_of
from llmserve_lab.moe.placement import contiguous
from llmserve_lab.moe.routing_sampler import draw
from llmserve_lab.transformer import Meter
from llmserve_lab.transformer.ffn import moe_ffn
from llmserve_lab.transformer.shard import shape_of_share

MOST_ROWS = 65_536
CARDS, TP, WIDTH, ROWS = 8, 4, 16, 24
H200, H100 = accelerator("h200-sxm"), accelerator("h100-sxm")
SPEC = moe_of(DEEPSEEK)
TABLE = (
    "width of a row",
    "width of the FFN",
    "ratio of the two",
    "experts",
    "experts of a token",
    "parameters of a layer",
    "routing combinations",
    "all parameters",
    "active parameters",
)


def node_bytes(device: str) -> float:
    """Memory of a node of eight."""
    return CARDS * float(accelerator(device).hbm_bytes)


def model_bytes(precision: str) -> float:
    """Memory that the weights of DeepSeek-V3 take."""
    return DEEPSEEK.weight_bytes(PRECISIONS[precision].bytes_weight)


def slice_columns() -> float:
    """Columns of an expert's matrix on one of eight cards."""
    return float(shape_of_share(DEEPSEEK, CARDS).ffn.d_ff)


def slice_reaches() -> tuple[float, float]:
    """FLOPs per byte that such a slice can reach at best, and the ridge of an H100."""
    peaks = machine(H100)
    limit = f.SLICE_LIMIT.at(DEFAULT, ep=CARDS)
    return float(limit), float(peaks["peak_flops"]) / float(peaks["hbm_bw"])


@cache
def layer() -> MoeLayer:
    """A layer with so many experts that each of eight cards has two."""
    return layer_of(
        moe_of(hybrid_parallel_block.SMALL), d_model=WIDTH, scores="sigmoid"
    )


@cache
def dispatched() -> parallel.ExecutedLayer:
    """Three rows of each card through experts on all of them."""
    shares = np.split(batch(ROWS, d_model=WIDTH), CARDS)
    return parallel.execute(layer(), shares)


def off() -> float:
    """Largest difference from the dense evaluation of the same layer."""
    expected = layer().dense(batch(ROWS, d_model=WIDTH))
    return float(np.abs(dispatched().rows - expected).max())


def way_bytes() -> tuple[int, int]:
    """Bytes of rows that all cards send on the way out, and on the way back."""
    out = back = 0
    for page in dispatched().ledger.records:
        rows = [each.wire.sent_bytes for each in page if each.shape[1] == WIDTH]
        out, back = out + rows[0], back + rows[1]
    return out, back


@cache
def destinations() -> tuple[int, float]:
    """Cards that a token is sent to, most and mean, where choices fall at random."""
    chosen = draw(np.ones(SPEC.n_experts), n_rows=5000, top_k=SPEC.top_k, seed=7)
    homes = chosen // len(contiguous(SPEC.n_experts, CARDS).seats[0])
    met = [len(set(row)) for row in homes.tolist()]
    return max(met), float(np.mean(met))


def work_share() -> tuple[float, float]:
    """FLOPs of a mixture over all its experts': counted, and (k+E_s)/(E+E_s)."""
    meter, rows, spec = Meter(), batch(ROWS, d_model=WIDTH), layer().spec
    moe_ffn(rows, layer().weights, spec, scores="sigmoid", run=meter.on())
    per_row = 2 * WIDTH
    routed = meter.linear_flops - per_row * ROWS * spec.n_experts
    one = per_row * 3 * spec.d_ff * ROWS
    every = spec.n_experts + spec.n_shared
    return routed / (one * every), (spec.top_k + spec.n_shared) / every


def mixture_flops(n_rows: int) -> int:
    """FLOPs of the small mixture for so many rows, counted, the router included."""
    whole(of="row", most=MOST_ROWS, n_rows=n_rows)
    meter = Meter()
    rows = batch(n_rows, d_model=WIDTH)
    moe_ffn(rows, layer().weights, layer().spec, scores="sigmoid", run=meter.on())
    return meter.linear_flops


@cache
def block() -> hybrid_parallel_block.HybridRun:
    """A block on the article's node: two groups of four cards, a batch for each."""
    width = hybrid_parallel_block.SMALL.d_model
    batches = [batch(CARDS, d_model=width, seed=seed) for seed in range(CARDS // TP)]
    return hybrid_parallel_block.execute(batches, tp=TP)


def held(step: str) -> tuple[int, ...]:
    """Shape of what card 0 holds after a step of the block."""
    return next(each.shape for each in block().steps[0] if each.step == step)


def exchanges() -> float:
    """Collectives of rows in the block, on one card."""
    width = hybrid_parallel_block.SMALL.d_model
    calls = block().ledger.select(rank=0)
    return float(sum(each.shape[1] == width for each in calls))


def halves() -> tuple[int, int, int]:
    """Bytes that leave card 0: reduce-scatter, all-gather, an all-reduce instead."""
    ledger = block().ledger
    scatter, gather = (
        ledger.sent_bytes(call, rank=0) for call in ("reduce_scatter", "all_gather")
    )
    whole = hybrid_parallel_block.all_reduced(
        batch(CARDS, d_model=hybrid_parallel_block.SMALL.d_model), num_ranks=TP
    )
    return scatter, gather, whole.sent_bytes(rank=0)


def duplicates() -> float:
    """Copies sent when all cards of a group dispatch all its rows, over once each."""
    rows = batch(CARDS, d_model=WIDTH)
    where = contiguous(layer().spec.n_experts, CARDS)

    def copies(mine: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
        parcels = parallel.pack(*layer().route(mine), where, copies="expert")
        return sum(parcels.counts)

    apart = sum(copies(part) for part in np.split(rows, TP))
    return TP * copies(rows) / apart


def read_ratio(n_rows: float) -> float:
    """Bytes of an MoE layer that so many rows read, over its active parameters'."""
    return float(f.READ_RATIO.at(DEFAULT, n_rows=n_rows))
