"""What a measured iteration makes of the datasheet: MFU and MBU.

Both divide what the iteration needs, counted, by what the datasheet could have done
in the measured time.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas.work import ITERATION_BYTES, ITERATION_FLOPS

__all__ = ["MBU", "MFU_MEASURED"]

MFU_MEASURED = Formula(
    result=q.mfu,
    expr=lambda iteration_flops, peak_flops, measured_s: (
        iteration_flops / (peak_flops * measured_s)
    ),
    uses=(ITERATION_FLOPS,),
    variant="measured",
    title="Model FLOPs utilisation, measured",
    source="Chowdhery et al. 2022 (PaLM), appendix B; FLOPs of attention counted",
    holds="no masked pair and no padding is counted: they are not the model's",
)
MBU = Formula(
    result=q.mbu,
    expr=lambda iteration_bytes, hbm_bw, measured_s: (
        iteration_bytes / (hbm_bw * measured_s)
    ),
    uses=(ITERATION_BYTES,),
    title="Model bandwidth utilisation",
    source="Agarwal et al. 2023 (Databricks), LLM inference performance engineering",
    holds="weights and cache are counted once each, whatever the kernels really read",
)
