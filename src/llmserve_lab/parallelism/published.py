"""Prompts of a million tokens on 128 GPUs: the book's machine beside what was measured.

Nothing is fitted to these runs. Eight GPUs of a server cut every matrix, sixteen
servers share out the tokens, zig-zag, so that every server has 1/16 of rows and pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from llmserve_lab import catalog, running_example, validation
from llmserve_lab.catalog.evidence.long_context import (
    LONG_GPUS,
    LONG_PREFILLS,
    LONG_SERVERS,
    LONG_UTILISATION,
    PIPELINE_OVER_TENSOR,
    TENSOR_OVER_PIPELINE,
    LongPrefill,
)
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.formula.text import signed
from llmserve_lab.page.table import Table
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import over
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.validation.constants import record

MODEL, DEVICE = "llama-3.1-405b", "h100-sxm"
SERVED = "llama-3-70b"  # of the measured servers; its sizes are those of Llama-3.1-70B
BETWEEN = "infiniband-ndr"  # 400 Gb/s for each GPU; the abstract names RDMA and TCP
WAYS = ("16 bits", "8 bits", "16 bits, slower GPU")
TABLED = WAYS[:2]  # the third takes its peak from one of the two measured times


@dataclass(frozen=True)
class LongReading:
    """A published prefill, predicted in parts; ``ring_s`` is what nothing hides."""

    run: LongPrefill
    compute_s: float
    fixed_s: float
    ring_s: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.compute_s + self.fixed_s + self.ring_s

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.seconds / float(self.run.seconds) - 1


def served_error(*, engine: str = "", device: str = "") -> float:
    """Mean size of the errors of the times per token of Llama-70B, as predicted.

    Of all its measured servers, or of those with one engine, or on one kind of GPU.

    Raises:
        ValueError: no such server was measured.
    """
    pairs = zip(validation.dense_rows(), record()["errors"]["tpot"], strict=True)
    found = [
        abs(float(error))
        for row, error in pairs
        if row.model == SERVED
        and engine in {"", row.engine}
        and device in {"", row.system}
    ]
    if not found:
        raise ValueError(
            f"engine and device must be those of a server, got {engine!r}, {device!r}"
        )
    return sum(found) / len(found)


def _tp() -> int:
    return round(float(LONG_GPUS) / float(LONG_SERVERS))


@cache
def costs() -> dict[str, IterationCost]:
    """An iteration on the eight GPUs of one server, read in three ways."""
    shape, device = catalog.model(MODEL), catalog.accelerator(DEVICE)
    plain = running_example.served_by(shape, device, tp=_tp())
    faster = 2 ** validation.achieved().exponent  # half the bits
    # Weights and the products with them; attention stays in 16.
    light = replace(plain, row_s=plain.row_s / faster, weights_s=plain.weights_s / 2)
    slower = float(device.peak("bf16")) / implied_peak()
    slow = replace(plain, row_s=plain.row_s * slower, pair_s=plain.pair_s * slower)
    return dict(zip(WAYS, (plain, light, slow), strict=True))


def flops(tokens: int) -> float:
    """FLOPs of a prompt: what one row costs, and each pair that the mask allows."""
    shape = catalog.model(MODEL)
    pairs = tokens * (tokens + 1) / 2
    return 2 * shape.params_active * tokens + shape.attn_flops_per_pair() * pairs


def implied_peak() -> float:
    """FLOP/s of a GPU that the printed time and utilisation say, for a million."""
    run = LONG_PREFILLS[-1]
    reached = flops(run.tokens) / float(run.seconds) / float(LONG_GPUS)
    return reached / float(LONG_UTILISATION)


def predict(run: LongPrefill, way: str = WAYS[0]) -> LongReading:
    """One prompt, dealt zig-zag to the servers."""
    cost, servers = costs()[way], round(float(LONG_SERVERS))
    rows = run.tokens // servers
    pairs = run.tokens * (run.tokens + 1) // 2 // servers
    load = IterationLoad(rows, pairs, 0, 1, 1)
    compute_s = cost.compute_s(load)
    fixed_s = cost.seconds(load) - compute_s
    return LongReading(run, compute_s, fixed_s, exposed_s(rows, servers, cost))


def exposed_s(rows: int, servers: int, cost: IterationCost) -> float:
    """What of the ring's hops is longer than the attention that runs meanwhile."""
    shape = catalog.model(MODEL)
    link = over(catalog.link(BETWEEN))
    block = rows * cost.kv_bytes_per_token / shape.n_layers / _tp()
    rate = float(link["link_bw"]) * float(link["eff_link"])
    hop_s = float(link["link_latency"]) + block / rate
    pairs = rows * rows // 2  # of two zig-zag shares
    over_s = max(0.0, hop_s - pairs * cost.pair_s / shape.n_layers)
    return shape.n_layers * (servers - 1) * over_s


def ring_rows() -> float:
    """Rows on each server from which the ring hides, for this model and link."""
    known = catalog.workload(catalog.model(MODEL))
    gpu = catalog.machine(
        catalog.accelerator(DEVICE), efficiency=running_example.share()
    )
    return float(f.RING_ROWS.at(known, gpu, over(catalog.link(BETWEEN))))


def table() -> Table:
    """Every length read in three ways, beside what was measured."""
    rows = [
        (
            run.printed,
            way,
            f"{reading.compute_s:.3f} s",
            f"{reading.fixed_s:.3f} s",
            f"{reading.seconds:.3f} s",
            f"{float(run.seconds):g} s",
            signed(reading.error),
        )
        for run in LONG_PREFILLS
        for way in TABLED
        for reading in (predict(run, way),)
    ]
    columns = (
        "prompt", "assumed", "computing", "all-reduces, layers' fixed time",
        "predicted", "measured", "error",
    )  # fmt: skip
    exposed = max(predict(run, way).ring_s for run in LONG_PREFILLS for way in TABLED)
    notes = [
        "Llama-3.1-405B on 128 H100 in 16 servers; measured by Yang et al. 2024 "
        "(arXiv 2411.01783, abstract). "
        f"{exposed:.2f} s of the ring's hops show.",
        "8 bits: weights are stored and multiplied in 8 bits, attention stays in 16.",
    ]
    return Table("A million tokens on 128 GPUs", columns, rows, notes)


def least_latency() -> tuple[float, float]:
    """Tokens/s of TP 8 over those of PP 8 for one request: predicted, reported."""
    shape, device = catalog.model(MODEL), catalog.accelerator("h200-sxm")
    cut = GpuLayout(tp=8, model=shape, device=device).decode(1, 1000)
    pipe = GpuLayout(stages=8, model=shape, device=device).decode(1, 1000, 1)
    return pipe.token_s / cut.token_s, float(TENSOR_OVER_PIPELINE)


__all__ = ["PIPELINE_OVER_TENSOR", "least_latency", "predict", "table"]
