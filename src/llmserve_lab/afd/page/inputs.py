"""Where the times of one layer come from: bytes, operations, ports and starts."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.page.comparison import (
    COPIES,
    DEVICES,
    GPUS,
    PART,
    TIGHT_S,
    best,
)
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek import formulas as df
from llmserve_lab.deepseek.model.setup import DEEPSEEK, Numbers
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.page.table import Table

LAYERS, SPARSE = 61, 58  # of DeepSeek-V3; those with experts
MB = 1e6


@dataclass(frozen=True)
class LayerPart:
    """A part of a layer at 50 ms: seconds of the best split, and of a group's half.

    ``how`` says where the split's seconds are from.
    """

    name: str
    split_s: float
    half_s: float
    how: str = ""

    @property
    def shown(self) -> tuple[str, str]:
        """Both in microseconds."""
        return f"{1e6 * self.split_s:.1f}", f"{1e6 * self.half_s:.1f}"


SIDES = ("attention", "FFN", "wire, there", "wire, back")


def sides(gpu: str = DEVICES[0]) -> tuple[LayerPart, ...]:
    """One layer at 50 ms in four parts."""
    both = in_four(of_split(gpu)), in_four(of_half(gpu))
    return tuple(map(LayerPart, SIDES, *both))


def sides_table(gpu: str = DEVICES[0]) -> Table:
    """Table of one layer at 50 ms: the best split beside one group in two halves."""
    columns = ("µs", f"split, {best(gpu, TIGHT_S).name}", "group, a half")
    lines = [(each.name, *each.shown) for each in sides(gpu)]
    return Table("One layer of one batch", columns, lines, band=PART)


def in_four(parts: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Seconds of attention, FFN, and the way there and back, half of the starts each.

    From the eight lines of a layer.
    """
    *work, starts, there, back = parts
    return sum(work[:3]), sum(work[3:]), there + starts / 2, back + starts / 2


def layer_inputs(gpu: str = DEVICES[0]) -> tuple[LayerPart, ...]:
    """The same layer in eight lines, each time of the split's explained."""
    names, how = zip(*_inputs(gpu), strict=True)
    return tuple(map(LayerPart, names, of_split(gpu), of_half(gpu), how))


def inputs_table(gpu: str = DEVICES[0]) -> Table:
    """Table of the same layer in eight lines, each time of the split's explained."""
    split = best(gpu, TIGHT_S)
    batch = split.batch_at(TIGHT_S)
    rows, twin = split.ratio * batch, coupled.group(gpu, split.n_ffn)
    group, known, _ = halves(gpu)
    lines = [(each.name, each.how, *each.shown) for each in layer_inputs(gpu)]
    share = twin.assumptions.balancedness
    notes = (
        f"{split.name} on {accelerator(gpu).name}, at rates that kernels reach. An "
        f"Attention GPU has {batch} rows. Each of an FFN GPU's {rows:.0f} rows goes to "
        f"the shared expert and to 8 others, times 1/{share:.2f} on the busiest GPU. A "
        "line with bytes and FLOPs takes the root of the sum of both times' squares; "
        "that of the caches takes the longer time, as the kernel's two rates include "
        "each other. On both sides a row is sent once for each of its 8 experts.",
        f"Half: {group.batch / 2:.1f} rows and {known['local_experts']:.0f} + 1 "
        f"experts on each of {GPUS} GPUs.",
    )
    columns = ("part", "from (split)", "split, µs", "half, µs")
    caption = "One layer of one batch, from its inputs"
    return Table(caption, columns, lines, notes=notes, band=PART)


def of_split(gpu: str) -> tuple[float, ...]:
    """Seconds of the eight lines of a layer of the best split at 50 ms."""
    split = best(gpu, TIGHT_S)
    part = split.layer_s(split.batch_at(TIGHT_S))
    wire = (float(part[name]) for name in ("starts", "out", "back"))
    return (*computing(*_known(gpu)), *wire)


def of_half(gpu: str) -> tuple[float, ...]:
    """Seconds of the eight lines of a layer of a half of one group at 50 ms."""
    _, known, wire = halves(gpu)
    return (*computing(known, known), *wire)


def ffn_fixed_s(gpu: str, *, n_ffn: int | None = None) -> float:
    """Seconds of an FFN GPU for any batch: reading its experts, kernel starts.

    Without ``n_ffn``, in the best split at 50 ms; the fewer, the more experts on each.
    """
    e = _known(gpu)[1]
    if n_ffn is not None:
        twin = coupled.group(gpu, n_ffn)
        e = twin.settled(twin.arguments(batch=1, context=coupled.CONTEXT))
    weights = float(e["expert_stack"]) * (float(e["local_experts"]) + 1)
    starts = float(e["moe_launches"]) * float(e["launch_s"])
    return (weights / float(e["read_rate"]) + starts) / SPARSE


def _known(gpu: str) -> tuple[Numbers, Numbers]:
    """Arguments of the best split at 50 ms: for an Attention and an FFN GPU's rows."""
    split = best(gpu, TIGHT_S)
    batch, twin = split.batch_at(TIGHT_S), coupled.group(gpu, split.n_ffn)
    a, e = (
        twin.settled(twin.arguments(batch=n, context=coupled.CONTEXT))
        for n in (batch, split.ratio * batch)
    )
    return a, e


def _inputs(gpu: str) -> list[tuple[str, str]]:
    split = best(gpu, TIGHT_S)
    batch, (a, e) = split.batch_at(TIGHT_S), _known(gpu)
    twin = coupled.group(gpu, split.n_ffn)
    experts = _experts(e, split.ratio * batch)
    return [*_sources(a, batch), *experts, *_wire(split, twin, batch)]


def computing(a: Numbers, e: Numbers) -> tuple[float, ...]:
    """Seconds of a layer's five lines of computing: three of attention, two of FFN."""
    attn = (df.ATTN_GEMM_S, df.ATTN_KERNEL_S, df.ATTN_ELEMENTWISE_S)
    ffn = (df.EXPERTS_S, df.MOE_ELEMENTWISE_S)
    return (
        *(float(each.reusing(a)) / LAYERS for each in attn),
        *(float(each.reusing(e)) / SPARSE for each in ffn),
    )


def halves(gpu: str) -> tuple[coupled.Together, Numbers, tuple[float, float, float]]:
    """One group in two halves at 50 ms: its arguments, and a half's starts and ways."""
    group = coupled.arranged(gpu, GPUS, TIGHT_S, halves=True, copies=COPIES)
    twin = coupled.group(gpu, GPUS, group.overlap)
    known = twin.arguments(batch=group.batch, context=coupled.CONTEXT)
    known["dispatched_copies"] = coupled.copies_of_row(twin, COPIES)
    ways = [float(each) / SPARSE for each in coupled.transfers_s(twin, known)]
    settled = twin.settled(known)
    starts = float(settled["transfer_starts_s"]) / SPARSE
    there, back = (each - starts / 2 for each in ways)
    return group, settled, (starts, there, back)


def _caches(a: Numbers, batch: float) -> float:
    """Bytes of all caches of a batch, in one layer."""
    return float(a["kv_bytes_per_token"]) / LAYERS * coupled.CONTEXT * batch


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
        ("attention: small kernels", _small(a, "attn_launches", LAYERS, small)),
    ]


def _experts(e: Numbers, rows: float) -> list[tuple[str, str]]:
    params = float(e["expert_stack"]) / SPARSE
    weights = params * (float(e["local_experts"]) + 1)
    read = float(df.EXPERT_READ_S.reusing(e)) / SPARSE * float(e["read_rate"])
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
        ("FFN: small kernels", _small(e, "moe_launches", SPARSE, small)),
    ]


def _small(known: Numbers, launches: str, layers: int, moved: float) -> str:
    return (
        f"{float(known[launches]) / layers:.0f} kernels, "
        f"{1e6 * float(known['launch_s']):.1f} µs each; {moved / MB:.0f} MB of rows"
    )


def _wire(split: deployment.Split, twin: Twin, batch: float) -> list[tuple[str, str]]:
    copies = coupled.copies_of_row(twin, split.copies)
    share = twin.assumptions.balancedness
    busiest = (split.ratio * batch * copies / share, f" / {share:.2f}", "an FFN GPU")
    own = (batch * copies, "", "an Attention GPU")
    sent, over, where = max(own, busiest)
    rows = batch if where == own[2] else split.ratio * batch
    port = float(twin.machine["far_rate"])
    return [
        ("wire: starts", "one there, one back"),
        (
            "wire: there",
            f"{rows:.1f} rows × {copies:.0f} experts{over} = {sent:.0f} copies at the "
            f"port of {where}, a byte a number, at {port / 1e9:.1f} GB/s",
        ),
        ("wire: back", "the same, two bytes a number"),
    ]


def hand(gpu: str = DEVICES[0]) -> dict[str, float]:
    """One layer of the best split from bytes, FLOPs and rates, as done by hand.

    In MB, GFLOP, TB/s, TFLOP/s and microseconds; ``attn_us`` and ``ffn_us`` are sums of
    what stands before them.
    """
    split, (a, e) = best(gpu, TIGHT_S), _known(gpu)
    batch = split.batch_at(TIGHT_S)
    weights, rows = float(a["mla_params"]) / LAYERS, split.ratio * batch
    stack, start = float(e["expert_stack"]) / SPARSE, 1e6 * float(a["launch_s"])
    held = float(e["local_experts"]) + 1
    read, mul = float(a["read_rate"]), float(a["gemm_rate"])
    moved = float(a["attn_gemm_row_bytes"]) * batch / LAYERS
    choices = rows * (float(e["top_k"]) / float(e["balancedness"]) + 1)
    brought = float(df.EXPERT_READ_S.reusing(e)) / SPARSE * read - held * stack
    top = float(e["top_k"]) / float(e["balancedness"])
    small = rows * (float(e["moe_row_bytes"]) + float(e["moe_copy_bytes"]) * top)
    n_attn, n_ffn = (
        float(a["attn_launches"]) / LAYERS,
        float(e["moe_launches"]) / SPARSE,
    )
    gemm, kernel, others, experts, ffn_small = (1e6 * s for s in computing(a, e))
    return {
        "read_tb": read / 1e12,
        "mul_t": mul / 1e12,
        "attn_t": float(a["attn_rate"]) / 1e12,
        "start_us": start,
        "weights_mb": weights / MB,
        "rows_mb": moved / MB,
        "weights_us": 1e6 * (weights + moved) / read,
        "weights_gflop": 2 * weights * batch / 1e9,
        "mul_us": 2e6 * weights * batch / mul,
        "gemm_us": gemm,
        "pair_kflop": float(a["attn_flops_per_pair"]) / LAYERS / 1e3,
        "kernel_us": kernel,
        "caches_us": 1e6 * _caches(a, batch) / float(a["cache_rate"]),
        "caches_tb": float(a["cache_rate"]) / 1e12,
        "n_attn": n_attn,
        "attn_small_mb": float(a["attn_row_bytes"]) * batch / LAYERS / MB,
        "attn_small_us": others,
        "attn_us": gemm + kernel + others,
        "held": held,
        "expert_mb": stack / MB,
        "experts_mb": held * stack / MB,
        "brought_mb": brought / MB,
        "experts_read_us": 1e6 * (held * stack + brought) / read,
        "choices": choices,
        "choice_mflop": 2 * stack / MB,
        "experts_mul_us": 2e6 * choices * stack / mul,
        "experts_us": experts,
        "n_ffn": n_ffn,
        "ffn_small_mb": small / SPARSE / MB,
        "ffn_small_us": ffn_small,
        "ffn_us": experts + ffn_small,
        "port_gb": float(a["far_rate"]) / 1e9,
        "copies": rows * top,
        "width": float(DEEPSEEK.d_model),
    }
