"""Where the times of one layer come from: bytes, operations, ports and starts."""

from __future__ import annotations

from llmserve_lab.afd import coupled
from llmserve_lab.afd.page.comparison import DEVICES, TIGHT_S, best
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek import formulas as df
from llmserve_lab.deepseek.model.known import computed
from llmserve_lab.page.table import Table


def inputs_table(gpu: str = DEVICES[0]) -> Table:
    """Table of one layer of the best split at 50 ms, each time from its inputs."""
    split = best(gpu, TIGHT_S)
    batch, twin = split.batch_at(TIGHT_S), coupled.group(gpu, split.n_ffn)
    rows = split.ratio * batch
    layers, sparse = 61, 58
    a, e = (
        twin.settled(twin.arguments(batch=n, context=coupled.CONTEXT))
        for n in (batch, rows)
    )
    part = {name: float(value) for name, value in split.layer_s(batch).items()}
    read, reached = float(a["read_rate"]), float(a["gemm_rate"])
    weights, moved = float(a["mla_params"]) / layers, float(a["attn_gemm_row_bytes"])
    pair = float(a["attn_flops_per_pair"]) / layers
    experts = float(e["expert_stack"]) / sparse * (float(e["local_experts"]) + 1)
    attn_kernels, moe_kernels = a["attn_launches"] / layers, e["moe_launches"] / sparse
    attn = (
        float(computed(df.ATTN_GEMM_S, a)) / layers,
        float(computed(df.ATTN_KERNEL_S, a)) / layers,
        float(computed(df.ATTN_ELEMENTWISE_S, a)) / layers,
    )
    ffn = (
        float(computed(df.EXPERTS_S, e)) / sparse,
        float(computed(df.MOE_ELEMENTWISE_S, e)) / sparse,
    )
    copies = coupled.copies_of_row(twin, "node")
    busiest = rows * copies / twin.assumptions.balancedness
    port = float(twin.machine["far_rate"])
    found = (
        (
            "attention: weights",
            f"{weights / 1e6:.0f} MB at {read / 1e12:.2f} TB/s, "
            f"and {moved * batch / layers / 1e6:.0f} MB of rows",
            attn[0],
        ),
        (
            "attention: caches",
            f"{batch} × 4,096 tokens × {pair / 1e3:.0f} kFLOP at "
            f"{float(a['attn_rate']) / 1e12:.0f} TFLOP/s",
            attn[1],
        ),
        ("attention: between", f"{attn_kernels:.0f} kernels start, rows move", attn[2]),
        (
            "FFN: experts",
            f"{experts / 1e6:.0f} MB of {e['local_experts']:.0f} + 1 "
            f"experts; {rows:.0f} rows at {reached / 1e15:.2f} PFLOP/s",
            ffn[0],
        ),
        ("FFN: between", f"{moe_kernels:.0f} kernels start, rows move", ffn[1]),
        ("wire: starts", "one there, one back", part["starts"]),
        (
            "wire: there",
            f"{busiest:.0f} copies of a row, a byte a number, at {port / 1e9:.1f} GB/s",
            part["out"],
        ),
        ("wire: back", "the same, two bytes a number", part["back"]),
    )
    lines = tuple((name, how, f"{1e6 * spent:.1f}") for name, how, spent in found)
    notes = (
        f"{split.name} on {accelerator(gpu).name}: an Attention GPU has {batch} "
        f"requests of a batch, an FFN GPU gets {rows:.0f} rows; rates as kernels reach "
        "them. Where reading and computing overlap, the time is the root of "
        f"the sum of their squares. A row goes to {copies:.1f} nodes; the busiest GPU "
        f"gets 1/{twin.assumptions.balancedness:.2f} of the mean.",
    )
    return Table("One layer, from its inputs", ("part", "from", "µs"), lines, notes)
