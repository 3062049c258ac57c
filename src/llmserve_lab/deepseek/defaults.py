"""The book's assumptions: calibrated constants put beside the defaults of the model.

Nothing is computed here that a formula knows: each number is a stored record.
"""

from __future__ import annotations

from functools import cache

from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import GH100
from llmserve_lab.catalog.evidence.kernels import LENT_SMS, OVERLAP_SLOWDOWN
from llmserve_lab.deepseek.calibration.constants import BALANCEDNESS, HOST
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    PAPER,
    alike,
    measured_kernels,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions


@cache
def book_assumptions() -> Assumptions:
    """What the book assumes where a text is silent."""
    return Assumptions(
        kernels=measured_kernels(),
        balancedness=float(BALANCEDNESS),
        host_s=float(HOST),
        overlap_slowdown=float(OVERLAP_SLOWDOWN),
        lent_share=float(LENT_SMS) / float(GH100.num_sms),
    )


@cache
def paper_assumptions() -> Assumptions:
    """What the paper's text assumes, where it says so."""
    return Assumptions(
        kernels=alike(PAPER),
        balancedness=1.0,
        host_s=0.0,
        overlap_slowdown=0.0,
        lent_share=0.0,
        experts="busiest",
        overlap="ideal halves",
        roofline="sharp",
        elementwise=False,
        shared_expert_sent=True,
        dense_layers_send=True,
        embedding_table_read=True,
    )
