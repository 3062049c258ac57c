"""From a catalog record to the arguments of a formula: which model, which machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmserve_lab.book.formula import Formula
    from llmserve_lab.catalog import Accelerator, Efficiency, ModelShape


def workload(model: ModelShape, *, precision: str = "bf16") -> dict[str, float]:
    """What the formulas ask about a model with weights and cache in ``precision``.

    ``params_total``, ``params_active``, ``bytes_weight``, ``kv_bytes_per_token`` (byte
    per token) and ``attn_flops_per_pair`` (FLOP per pair, MLA absorbed).
    """
    from llmserve_lab.catalog import PRECISIONS

    form = PRECISIONS[precision]
    return {
        "params_total": model.params_total,
        "params_active": model.params_active,
        "bytes_weight": float(form.bytes_weight),
        "kv_bytes_per_token": model.kv_bytes_per_token(form.bytes_kv),
        "attn_flops_per_pair": model.attn_flops_per_pair(),
    }


def machine(
    accelerator: Accelerator,
    *,
    precision: str = "bf16",
    efficiency: Efficiency | None = None,
) -> dict[str, float]:
    """What the chapter's formulas ask about a machine: peaks, memory, shares reached.

    Without an ``efficiency`` the datasheet is taken at its word.

    Raises:
        LookupError: the accelerator does not compute in this precision.
    """
    from llmserve_lab.catalog import EFFICIENCIES

    reached = efficiency or EFFICIENCIES["datasheet"]
    return {
        "peak_flops": float(accelerator.peak(precision)),
        "hbm_bw": float(accelerator.hbm_bw),
        "hbm_bytes": float(accelerator.hbm_bytes),
        "eff_compute": float(reached.compute),
        "eff_mem": float(reached.memory),
    }


def given(
    formula: Formula, known: Mapping[str, float], **more: float
) -> dict[str, float]:
    """Pick what ``formula`` asks for out of ``known``, with ``more`` added or changed.

    Raises:
        KeyError: neither of them gives an argument of the formula.
    """
    merged = {**known, **more}
    return {leaf.name: merged[leaf.name] for leaf in formula.arguments}
