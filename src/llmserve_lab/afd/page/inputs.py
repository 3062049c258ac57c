"""Where the times of one layer come from: bytes, operations, ports and starts."""

from __future__ import annotations

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.page.comparison import DEVICES, GPUS, TIGHT_S, best
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek import formulas as df
from llmserve_lab.deepseek.model.known import Numbers, computed
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.page.table import Table

LAYERS, SPARSE = 61, 58  # of DeepSeek-V3; those with experts
MB = 1e6


def inputs_table(gpu: str = DEVICES[0]) -> Table:
    """Table of one layer at 50 ms: the best split beside one group in two halves."""
    split = best(gpu, TIGHT_S)
    batch, twin = split.batch_at(TIGHT_S), coupled.group(gpu, split.n_ffn)
    rows = split.ratio * batch
    a, e = (
        twin.settled(twin.arguments(batch=n, context=coupled.CONTEXT))
        for n in (batch, rows)
    )
    part = {name: float(value) for name, value in split.layer_s(batch).items()}
    wire = (part["starts"], part["out"], part["back"])
    group, known, theirs = halves(gpu)
    beside = (*computing(known, known), *theirs)
    found = zip(
        (*_sources(a, batch), *_experts(e, rows), *_wire(split, twin, batch)),
        (*computing(a, e), *wire),
        beside,
        strict=True,
    )
    lines = tuple(
        (name, how, f"{1e6 * own:.1f}", f"{1e6 * other:.1f}")
        for (name, how), own, other in found
    )
    each = group.batch / 2
    share = twin.assumptions.balancedness
    notes = (
        f"{split.name} on {accelerator(gpu).name}, at rates that kernels reach. Each "
        f"of an FFN GPU's {rows:.0f} rows goes to the shared expert and to 8 others, "
        f"times 1/{share:.2f} on the busiest GPU. A line with bytes and FLOPs takes "
        "the root of the sum of both times' squares. A half of the group has "
        f"{each:.1f} rows and {known['local_experts']:.0f} + 1 experts on each GPU.",
    )
    columns = ("part", "from (split)", "split, µs", "one half, µs")
    return Table("One layer of one batch, from its inputs", columns, lines, notes=notes)


def computing(a: Numbers, e: Numbers) -> tuple[float, ...]:
    """Seconds of a layer's five lines of computing: three of attention, two of FFN."""
    attn = (df.ATTN_GEMM_S, df.ATTN_KERNEL_S, df.ATTN_ELEMENTWISE_S)
    ffn = (df.EXPERTS_S, df.MOE_ELEMENTWISE_S)
    return (
        *(float(computed(each, a)) / LAYERS for each in attn),
        *(float(computed(each, e)) / SPARSE for each in ffn),
    )


def halves(gpu: str) -> tuple[coupled.Together, Numbers, tuple[float, float, float]]:
    """One group in two halves at 50 ms: its arguments, and a half's starts and ways."""
    group = coupled.arranged(gpu, GPUS, TIGHT_S, halves=True, copies="node")
    twin = coupled.group(gpu, GPUS, group.overlap)
    known = twin.arguments(batch=group.batch, context=coupled.CONTEXT)
    known["dispatched_copies"] = coupled.copies_of_row(twin, "node")
    ways = [float(each) / SPARSE for each in coupled.transfers_s(twin, known)]
    settled = twin.settled(known)
    starts = float(settled["transfer_starts_s"]) / SPARSE
    return group, settled, (starts, *(each - starts / 2 for each in ways))  # type: ignore[return-value]


def _sources(a: Numbers, batch: float) -> list[tuple[str, str]]:
    params = float(a["mla_params"]) / LAYERS
    moved = float(a["attn_gemm_row_bytes"]) * batch / LAYERS
    pair = float(a["attn_flops_per_pair"]) / LAYERS
    small = float(a["attn_row_bytes"]) * batch / LAYERS
    return [
        (
            "attention: weights",
            f"{params / MB:.0f} MB and {moved / MB:.0f} MB of rows at "
            f"{float(a['read_rate']) / 1e12:.2f} TB/s; {2 * params * batch / 1e9:.1f} "
            f"GFLOP at {float(a['gemm_rate']) / 1e15:.2f} PFLOP/s",
        ),
        (
            "attention: caches",
            f"{batch:.0f} × 4,096 tokens × {pair / 1e3:.0f} kFLOP at "
            f"{float(a['attn_rate']) / 1e12:.0f} TFLOP/s",
        ),
        ("attention: others", _small(a, "attn_launches", LAYERS, small)),
    ]


def _experts(e: Numbers, rows: float) -> list[tuple[str, str]]:
    params = float(e["expert_stack"]) / SPARSE
    weights = params * (float(e["local_experts"]) + 1)
    read = float(computed(df.EXPERT_READ_S, e)) / SPARSE * float(e["read_rate"])
    top = float(e["top_k"]) / float(e["balancedness"])
    moved = float(e["moe_row_bytes"]) + float(e["moe_copy_bytes"]) * top
    small = rows * moved / SPARSE
    return [
        (
            "FFN: experts",
            f"{weights / MB:.0f} MB of {e['local_experts']:.0f} + 1 experts and "
            f"{(read - weights) / MB:.0f} MB of rows; {rows * (top + 1):.0f} rows of "
            f"experts × {2 * params / MB:.0f} MFLOP",
        ),
        ("FFN: others", _small(e, "moe_launches", SPARSE, small)),
    ]


def _small(known: Numbers, launches: str, layers: int, moved: float) -> str:
    return (
        f"{float(known[launches]) / layers:.0f} kernels, "
        f"{1e6 * float(known['launch_s']):.1f} µs each; {moved / MB:.0f} MB of rows"
    )


def _wire(split: deployment.Split, twin: Twin, batch: float) -> list[tuple[str, str]]:
    rows = max(split.ratio, 1.0) * batch
    copies = coupled.copies_of_row(twin, split.copies)
    share = twin.assumptions.balancedness
    busiest = rows * copies / share
    port = float(twin.machine["far_rate"])
    return [
        ("wire: starts", "one there, one back"),
        (
            "wire: there",
            f"{rows:.0f} rows × {copies:.1f} nodes / {share:.2f}"
            f" = {busiest:.0f} copies, a byte a number, at {port / 1e9:.1f} GB/s",
        ),
        ("wire: back", "the same, two bytes a number"),
    ]
