"""The map of the chapter: what each axis cuts, stores and sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from llmserve_lab.catalog import ModelShape
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import MODEL, sizes_of

GPUS, ROWS = 8, 1000


@dataclass(frozen=True)
class Axis:
    """One way to cut a model, a request or a batch."""

    cuts: str
    stores: str
    sends: str


AXES: Mapping[str, Axis] = MappingProxyType(
    {
        "tensor (TP)": Axis(
            "every matrix",
            "1/g of the weights; of the cache 1/g, but at least one KV head",
            "two all-reduces in each layer",
        ),
        "sequence (SP)": Axis(
            "the rows between TP's matrices",
            "as TP, and 1/g of the rows between the matrices",
            "a reduce-scatter and an all-gather for each all-reduce",
        ),
        "pipeline (PP)": Axis(
            "the stack of layers",
            "1/p of weights and cache",
            "the rows, at each border",
        ),
        "context (CP)": Axis(
            "the tokens of one request",
            "all weights (with TP in a rank: a part); 1/g of the cache",
            "blocks of keys and values, or of queries, round a ring",
        ),
        "data (DP): replicas": Axis(
            "the requests, whole models apart",
            "all weights; the cache of its own requests",
            "nothing",
        ),
        "data-parallel attention": Axis(
            "the batch, in attention; the feed-forward network as TP",
            "all of attention's weights, 1/g of the others; its own requests' cache",
            "an all-gather and a reduce-scatter of rows in each layer",
        ),
    }
)


def sent_bytes(name: str, model: ModelShape = MODEL) -> float:
    """Bytes that leave all eight GPUs for a prompt of a thousand rows."""
    known = {**sizes_of(model), "batch": 1.0, "chunk": float(ROWS), "context": 0.0}
    reduced = float(f.REDUCED_BYTES.at(known, n_ranks=GPUS))
    if name.startswith(("tensor", "sequence")):
        return reduced
    if name.startswith("data (DP)"):
        return 0.0
    if name.startswith("pipeline"):
        return float(f.PIPE_BYTES.at(known, n_stages=GPUS))
    if name.startswith("context"):
        kv = known["kv_bytes_per_token"]
        ring = f.RING_KV_BYTES.at(known, n_ranks=GPUS, kv_bytes_per_token=kv)
        return GPUS * float(ring)
    return reduced / 2


def fitting_ring() -> tuple[float, float]:
    """Bytes of two servers of four that are a ring: round it, and inside them."""
    ranks = 2
    known = {**sizes_of(MODEL), "batch": 1.0, "chunk": float(ROWS), "context": 0.0}
    ring = f.RING_KV_BYTES.at(
        known, n_ranks=ranks, kv_bytes_per_token=known["kv_bytes_per_token"]
    )
    half = {**known, "chunk": ROWS / ranks}
    inside = f.REDUCED_BYTES.at(half, n_ranks=GPUS // ranks)
    return ranks * float(ring), ranks * float(inside)


def _sends(name: str, axis: Axis) -> str:
    nbytes = sent_bytes(name)
    return f"{axis.sends}: {si(nbytes, 'byte')}" if nbytes else axis.sends


def the_map() -> Table:
    """One row an axis."""
    rows = [
        (name, axis.cuts, axis.stores, _sends(name, axis))
        for name, axis in AXES.items()
    ]
    columns = ("axis", "cuts", "each GPU stores", "sends")
    round_it, inside = (si(nbytes, "byte") for nbytes in fitting_ring())
    note = (
        f"Bytes: all that leaves {GPUS} GPUs while {ROWS:,} rows go through "
        f"{MODEL.name} in 16 bits: one prompt, or in the last two lines a batch of "
        "requests shared out to the GPUs. vLLM's pipeline sends twice the bytes. "
        "Context: as if all weights had room in a GPU; CP 2 × TP 4 sends "
        f"{round_it} round the ring, {inside} inside the servers."
    )
    return Table("Six ways to cut", columns, rows, [note])
