"""The budget of a step: bytes, FLOPs, starts and times of each part, in one table."""

from __future__ import annotations

from functools import cache

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.evaluation.worked_example import (
    CONTEXT,
    MANY,
    MS,
    PLACE,
    twin,
)
from llmserve_lab.deepseek.model.setup import Numbers
from llmserve_lab.deepseek.page.bands import PART
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.table import Table

GIGA, TERA = 1e9, 1e12
NONE = "–"
COLUMNS = (
    "part",
    "time (ms)",
    "for bytes (ms)",
    "for FLOPs, launches (ms)",
    "weights (GB)",
    "other (GB)",
    "FLOPs (TFLOP)",
)
RULES = {  # the note that says how the times of a part make the one that counts
    "projections": 1,
    "attention kernel": 2,
    "attention, elementwise": 3,
    "experts": 1,
    "experts, elementwise": 3,
    "all-to-alls": 3,
    "other layers": 1,
}


@cache
def known() -> Numbers:
    """Every number of the standing example, one batch after another."""
    alone = twin("none")
    return alone.settled(alone.arguments(batch=MANY, context=CONTEXT))


def ms(part: Formula) -> float:
    """Milliseconds of a part of the standing example."""
    return MS * float(part.reusing(known()))


def moved() -> dict[str, float]:
    """Gigabytes of each part that are not weights: rows in and out, caches, copies."""
    k = {name: float(known()[name]) for name in ROWS}
    copies = MANY * k["dispatched_copies"] / k["balancedness"]
    far = 1 - 1 / float(PLACE.n_nodes)
    each = k["moe_gemm_copy_bytes"] + k["copy_bytes"]  # what was sent is read, written
    experts = MANY * k["moe_gemm_row_bytes"] + copies * each
    between = MANY * k["moe_row_bytes"] + copies * k["moe_copy_bytes"]
    found = {
        "projections": MANY * k["attn_gemm_row_bytes"],
        "kernel": MANY * CONTEXT * k["kv_bytes_per_token"],
        "attention": MANY * k["attn_row_bytes"],
        "experts": experts,
        "between": between,
        "sent": copies * k["copy_bytes"] * far,
    }
    return {name: size / GIGA for name, size in found.items()}


ROWS = (
    "attn_gemm_row_bytes",
    "attn_row_bytes",
    "balancedness",
    "copy_bytes",
    "dispatched_copies",
    "kv_bytes_per_token",
    "moe_copy_bytes",
    "moe_gemm_copy_bytes",
    "moe_gemm_row_bytes",
    "moe_row_bytes",
)


def launches(where: str) -> float:
    """Milliseconds that the starts of elementwise kernels take."""
    return MS * float(known()[f"{where}_launches"]) * float(known()["launch_s"])


def parts() -> tuple[tuple[str, ...], ...]:
    """Each part of a step, and at the end the step: sizes, then times."""
    k, other = known(), moved()
    rate = {name: float(k[f"{name}_rate"]) / MS for name in ("gemm", "attn", "read")}
    stack, held = float(k["expert_stack"]) / GIGA, float(k["local_experts"])
    weights = {
        "projections": float(k["mla_params"]) / GIGA,
        "experts": (held + float(k["n_shared"])) * stack,
        "rest": float(k["other_params"]) / GIGA,
    }
    kernel, starts = ms(f.ATTN_KERNEL_S), MS * float(k["transfer_starts_s"])
    cache_ms = MS * other["kernel"] * GIGA / float(k["cache_rate"])
    found = (
        (
            "projections",
            weights["projections"],
            other["projections"],
            ms(f.ATTN_GEMM_COMPUTE_S) * rate["gemm"] / TERA,
            ms(f.ATTN_GEMM_READ_S),
            ms(f.ATTN_GEMM_COMPUTE_S),
            ms(f.ATTN_GEMM_S),
        ),
        (
            "attention kernel",
            None,
            other["kernel"],
            kernel * rate["attn"] / TERA,
            cache_ms,
            kernel,
            kernel,
        ),
        (
            "attention, elementwise",
            None,
            other["attention"],
            None,
            ms(f.ATTN_ELEMENTWISE_S) - launches("attn"),
            launches("attn"),
            ms(f.ATTN_ELEMENTWISE_S),
        ),
        (
            "experts",
            weights["experts"],
            other["experts"],
            ms(f.EXPERT_COMPUTE_S) * rate["gemm"] / TERA,
            ms(f.EXPERT_READ_S),
            ms(f.EXPERT_COMPUTE_S),
            ms(f.EXPERTS_S),
        ),
        (
            "experts, elementwise",
            None,
            other["between"],
            None,
            ms(f.MOE_ELEMENTWISE_S) - launches("moe"),
            launches("moe"),
            ms(f.MOE_ELEMENTWISE_S),
        ),
        (
            "all-to-alls",
            None,
            other["sent"],
            None,
            ms(f.ALL_TO_ALL_S) - starts,
            starts,
            ms(f.ALL_TO_ALL_S),
        ),
        (
            "other layers",
            weights["rest"],
            None,
            ms(f.OTHER_COMPUTE_S) * rate["gemm"] / TERA,
            ms(f.OTHER_READ_S),
            ms(f.OTHER_COMPUTE_S),
            ms(f.OTHER_S),
        ),
        ("host", *[None] * 5, MS * float(k["host_s"])),
        ("the step", *[None] * 5, ms(f.TURN_S)),
    )
    return tuple(
        (str(name), *(NONE if n is None else f"{n:.2f}" for n in numbers))
        for name, *numbers in found
    )


def budget() -> Table:
    """Every part of a step of the standing example, and where its time comes from."""
    k = known()
    row = float(k["attn_gemm_row_bytes"]) / 1e6
    notes = (
        f"moved at {float(k['read_rate']) / TERA:.2f} TB/s, computed at "
        f"{float(k['gemm_rate']) / TERA:,.0f} TFLOP/s; time: root of the sum of "
        f"squares. Other: rows in and out, in projections {row:.1f} MB a row",
        f"caches at {float(k['cache_rate']) / TERA:.1f} TB/s, pairs at "
        f"{float(k['attn_rate']) / TERA:.0f} TFLOP/s; time: the longer",
        "no FLOPs: launches of kernels, or starts of transfers instead; time: the sum",
    )
    caption = (
        f"{MANY} requests of {CONTEXT:,} tokens on each of {PLACE.n_gpus} H100s, "
        "one batch; all layers, the busiest GPU"
    )
    rows = [  # what counts stands first, where a phone shows it
        (
            name,
            f"{counts} [{RULES[name]}]" if name in RULES else counts,
            *(moving, working, *sizes),
        )
        for name, *sizes, moving, working, counts in parts()
    ]
    return Table(caption, COLUMNS, rows, notes, band=PART)
