"""Fitted constants, stored: a number, its unit, what it was fitted to, and how.

Nothing is fitted when the book runs. Each fit stands beside its constant's name in this
room and is repeated by a test, which compares; change the data, and the test says by
how much the record is off.
"""

from __future__ import annotations

from functools import partial

from llmserve_lab.catalog.evidence.decode_runs import SOURCE as DECODE_SOURCE
from llmserve_lab.catalog.evidence.deployments import SGLANG_96
from llmserve_lab.catalog.evidence.kernels import DEEP_GEMM_TABLE
from llmserve_lab.catalog.evidence.measurements import LOW_LATENCY
from llmserve_lab.catalog.records.cited import Cited

_gemm = partial(
    Cited,
    kind="estimate",
    source=DEEP_GEMM_TABLE,
    note="least squares of the logarithm over 28 kernels: fit_gemm()",
)
GEMM_FLOPS = _gemm(1.189006e15, "FLOP/s")
GEMM_READ = _gemm(2.868566e12, "byte/s")
GEMM_START = _gemm(2.104155e-6, "s")

_transfer = partial(
    Cited,
    kind="estimate",
    source=LOW_LATENCY,
    note="least squares of the relative error over 12 transfers: fit_transfers()",
)
TRANSFER_START = _transfer(3.113423e-5, "s")
FAR_SHARE = _transfer(0.8897311, "dimensionless")
NEAR_SHARE = _transfer(0.8624514, "dimensionless")

BALANCEDNESS = Cited(
    0.7792278,
    "dimensionless",
    "estimate",
    SGLANG_96,
    "at which two prefill runs differ as published: fit_balancedness()",
)

HOST = Cited(
    4.637183e-3,
    "s",
    "estimate",
    DECODE_SOURCE,
    "robust least squares of the logarithm over 21 decode runs: fit_host()",
)
