"""Sections 3.5 and 3.6: efficiencies, and two ways to write the overlap."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.data.efficiencies import DEEP_GEMM_FLOPS, FLASH_MLA_FLOPS
from llmserve_lab.catalog.evidence.deployments import DEEPSEEK_DECODE
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    MIXED,
    PLACE,
    RACK,
    ROUNDED,
    SMALL,
    number,
    size,
    untold,
)
from llmserve_lab.claims.parts import Number, Size
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.ablations import overlap_gain
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.step_model import Twin

H100 = accelerator("h100-sxm")


IDEAL: Overlap = (
    "ideal halves"  # the paper's (49): they neither wait nor slow each other
)

WAYS: tuple[Overlap, ...] = (IDEAL, "hidden")


@cache
def best_gain() -> float:
    """Most that ideal halves gain over one batch, over batches and routing."""
    return max(
        overlap_gain(
            DEEPSEEK_DECODE,
            book_assumptions(),
            overlap=IDEAL,
            batch=batch,
            context=8192.0,
        )
        for batch in (256.0, 1024.0, 4096.0)
    )


def step_s(overlap: Overlap) -> float:
    """Seconds of a step of a small batch, its communication overlapped in some way."""
    assumed = replace(book_assumptions(), overlap=overlap)
    return float(Twin(setup=PLACE, assumptions=assumed).step_s(batch=32, context=2000))


CLAIMS = (
    Claim(
        "004-64",
        "§3.5",
        "Percent of peak that attention reaches, and the factor it makes",
        (
            Number(
                "66",
                "dimensionless",
                lambda: 100 * float(FLASH_MLA_FLOPS) / float(H100.peak("bf16")),
                readings={
                    "of a round petaFLOP/s": lambda: float(FLASH_MLA_FLOPS) / 1e13
                },
            ),
            Number(
                "1.5",
                "dimensionless",
                lambda: float(H100.peak("bf16")) / float(FLASH_MLA_FLOPS),
            ),
        ),
        MIXED,
        "The factor is right; the percentage is of a rounder peak.",
    ),
    number(
        "004-65",
        "§3.5",
        "Inefficiency of the expert products",
        "1.3",
        "dimensionless",
        lambda: float(H100.peak("fp8")) / float(DEEP_GEMM_FLOPS),
        ROUNDED,
        "Peak over the best that the library printed.",
    ),
    untold(
        "004-66",
        "§3.5",
        "A further tenth for overhead between kernels",
        "An assumption, and named as one.",
    ),
    size(
        "004-67",
        "§3, §3.5",
        "With overlap a step is the larger of computing and communicating",
        Size(
            "max(t_MLA + t_EP, t_comm)",
            lambda: float(step_s("hidden")),
            lambda: float(step_s(IDEAL)),
            unit="s",
            label="by its later form (49), 32 requests:",
            where="§3.5 (49)",
        ),
        MIXED,
        "Two halves each read all weights, which its later form has and this one not.",
    ),
    size(
        "004-68",
        "§2.5",
        "Overlap can make a step nearly twice as fast",
        Size("close to a factor of two", lambda: 2.0, best_gain, label="at best:"),
        ROUNDED,
        "Where computing and communicating take about as long, with a large batch.",
    ),
    untold(
        "004-69",
        "§3.6",
        "At batch 32 the measurement beats the prediction",
        "Neither of the two numbers is printed.",
    ),
    Claim(
        "004-70",
        "§3.6",
        "GPUs of the three setups",
        (
            Number("32", "dimensionless", lambda: float(SMALL.n_gpus)),
            Number("72", "dimensionless", lambda: float(PLACE.n_gpus)),
            Number("48", "dimensionless", lambda: float(RACK.n_gpus)),
        ),
        EXACT,
        "Nodes times GPUs in each.",
    ),
)
