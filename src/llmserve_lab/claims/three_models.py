"""One published decode by the book's three models, and what each leaves out.

The chapter on experts adds up bytes and operations at the shares that dense servers
reach. The twin takes kernels timed one by one and charges what overlap costs. The
chapter on splits takes the same kernels and overlaps them for free.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import cache

from llmserve_lab.afd import coupled
from llmserve_lab.afd.page import comparison
from llmserve_lab.catalog.evidence.deployments import (
    PROFILED_DECODE,
    SGLANG_DECODE,
    Deployment,
)
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.published_runs import batch_of, run_as
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import signed
from llmserve_lab.moe import layer_time
from llmserve_lab.moe.exchange_time import start_s
from llmserve_lab.moe.serving import MOE_LAYERS, setting
from llmserve_lab.page.table import Table

MS = 1e3
CHAPTERS = ("experts, ch. 11", "twin, ch. 13", "splits, ch. 14")
PARTS = (
    "products, attention, experts",
    "small kernels, their starts",
    "rows on the network",
    "starts of transfers",
    "host",
    "hidden by overlap",
)


@dataclass(frozen=True)
class StepBill:
    """Seconds of a decode step by part; ``hidden`` is below zero."""

    work: float
    between: float
    wire: float
    starts: float
    host: float
    hidden: float

    @property
    def total_s(self) -> float:
        """The whole step."""
        return float(sum(astuple(self)))


def by_experts(record: Deployment = PROFILED_DECODE) -> StepBill:
    """By the chapter on experts, in two halves: nothing between kernels, no host.

    One half is sent while the other computes, all of the shorter of both is hidden.
    """
    ep, rows, context = float(record.n_gpus), batch_of(record), float(record.context)
    works, sent = layer_time.halves_s(ep, rows, context)
    starts = 2 * start_s()
    layers = 2 * MOE_LAYERS
    return StepBill(
        work=layers * works,
        between=0.0,
        wire=layers * (sent - starts),
        starts=layers * starts,
        host=0.0,
        hidden=-layers * min(works, sent),
    )


@cache
def by_twin(overlap: Overlap, record: Deployment = PROFILED_DECODE) -> StepBill:
    """By the twin, as the deployment was run, but for how batches overlap."""
    twin = run_as(record, replace(book_assumptions(), overlap=overlap))
    known = twin.arguments(batch=batch_of(record), context=float(record.context))
    block = {k: float(v) * twin.n_batches for k, v in twin.blocks_of(known).items()}
    host = block["host_s"] / twin.n_batches
    starts = twin.n_batches * float(twin.settled(known)["transfer_starts_s"])
    between = block["attn_elementwise_s"] + block["moe_elementwise_s"]
    work = block["mla_s"] + block["experts_s"] + block["other_s"]
    wire = block["all_to_all_s"] - starts
    whole = float(coupled.step_s(twin, known))
    hidden = whole - work - between - wire - starts - host
    return StepBill(work, between, wire, starts, host, hidden)


def three(record: Deployment = PROFILED_DECODE) -> tuple[StepBill, StepBill, StepBill]:
    """The decode by each of the three models."""
    return (
        by_experts(record),
        by_twin("halves", record),
        by_twin("ideal halves", record),
    )


def measured_s(record: Deployment = PROFILED_DECODE) -> float:
    """Seconds of the measured step."""
    return batch_of(record) / float(record.gpu_tokens_per_s)


def errors(record: Deployment = PROFILED_DECODE) -> tuple[float, ...]:
    """Errors of the rate, with the measured batch."""
    return tuple(measured_s(record) / step.total_s - 1 for step in three(record))


def gain(overlap: Overlap) -> float:
    """What two halves gain over one batch, of the run in which this was measured."""
    one, two = (by_twin(how, SGLANG_DECODE).total_s for how in ("none", overlap))
    return one / two - 1


def _rates(record: Deployment) -> list[tuple[str, ...]]:
    """What products in FP8, memory and a port reach, by the model on experts, twin."""
    known = setting(record.accelerator)
    twin: Twin = run_as(record, book_assumptions())
    flops = float(known["peak_flops"]) * float(known["eff_compute"])
    read = float(known["hbm_bw"]) * float(known["eff_mem"])
    ours = (flops, read, float(known["far_rate"]))
    names = ("gemm_rate", "read_rate", "far_rate")
    theirs = tuple(float(twin.machine[name]) for name in names)
    lines = (
        ("FP8 products reach", 1e12, "{:,.0f} TFLOP/s"),
        ("memory reaches", 1e12, "{:.2f} TB/s"),
        ("a port reaches", 1e9, "{:.1f} GB/s"),
    )
    return [
        (head, *(form.format(each / unit) for each in (own, other, other)))
        for (head, unit, form), own, other in zip(lines, ours, theirs, strict=True)
    ]


def table(record: Deployment = PROFILED_DECODE) -> Table:
    """Table of the parts of the step by model, in ms, and of their errors."""
    steps, took = three(record), f"{MS * measured_s(record):.2f}"
    parts = zip(*map(astuple, steps), strict=True)
    rows = [
        (name, *(_ms(each) for each in values))
        for name, values in zip(PARTS, parts, strict=True)
    ]
    rows.append(("step, predicted", *(f"{MS * each.total_s:.2f}" for each in steps)))
    rows.append(("step, measured", took, took, took))
    rows.append(("error of the rate", *map(signed, errors(record))))
    rows += _rates(record)
    columns = ("ms, where no unit stands", *CHAPTERS)
    return Table("DeepSeek's profile by three models, and as measured", columns, rows)


def _ms(seconds: float) -> str:
    return (
        f"{MS * seconds:.2f}".replace("-", "−") if abs(seconds) > 1e-9 else "left out"
    )


def within() -> str:
    """How near free overlap comes to measured groups in two halves, in words."""
    return comparison.band_words("free")
