"""Attribution: from the paper's reading to the twin's, one named change after another.

Each rung keeps what the rungs above it changed. So it is told which effect moved which
prediction, and by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    NVL72_DECODE,
    PREFILL_RATES,
    SGLANG_DECODE,
    Deployment,
)
from llmserve_lab.deepseek.calibration.kernel_efficiency import alike, hopper
from llmserve_lab.deepseek.defaults import book_assumptions, paper_assumptions
from llmserve_lab.deepseek.evaluation.predictions import point
from llmserve_lab.deepseek.evaluation.published_runs import decodes, rate_of
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import setup_of
from llmserve_lab.deepseek.model.step_model import Twin

RUNGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "kernel efficiency of an H800": ("kernels",),
        "elementwise kernels and launches": ("elementwise",),
        "a round roofline": ("roofline",),
        "only what must be sent and read": (
            "experts",
            "shared_expert_sent",
            "dense_layers_send",
            "embedding_table_read",
        ),
        "uneven routing": ("balancedness",),
        "halves wait, and slow each other": ("overlap", "overlap_slowdown"),
        "multiprocessors lent in prefill": ("lent_share",),
        "time on the host": ("host_s",),
    }
)
DECODES = (DEEPSEEK_DECODE, SGLANG_DECODE, NVL72_DECODE)
STOOD_ON = (*DECODES, PREFILL_RATES[-1])


@dataclass(frozen=True)
class Rung:
    """A change, the assumptions with it, and errors of the runs in ``STOOD_ON``.

    An error is None where the reading predicts nothing.
    """

    change: str
    assumptions: Assumptions
    errors: tuple[float | None, ...]


def changed() -> Iterator[tuple[str, Assumptions]]:
    """The assumptions after each change, the paper's first and the book's last."""
    ours = book_assumptions()
    assumed = replace(paper_assumptions(), n_redundant=ours.n_redundant)
    yield "each as it was run", assumed
    for name, fields in RUNGS.items():
        found: dict[str, Any] = {each: getattr(ours, each) for each in fields}
        if fields == ("kernels",):
            found = {"kernels": alike(hopper())}
        assumed = replace(assumed, **found)
        yield name, assumed
    yield "Blackwell's attention as it was then", replace(assumed, kernels=ours.kernels)


def as_the_paper_reads(record: Deployment) -> float | None:
    """Error of the paper's own assumptions, whatever is known of the run.

    The paper predicts no prefill.
    """
    if not decodes(record):
        return None
    twin = Twin(setup=setup_of(record), assumptions=paper_assumptions())
    return rate_of(record, twin) / float(record.gpu_tokens_per_s) - 1


def ladder() -> tuple[Rung, ...]:
    """Errors of four published points on every rung."""
    first = Rung(
        "the paper's reading",
        paper_assumptions(),
        tuple(map(as_the_paper_reads, STOOD_ON)),
    )
    rungs = (
        Rung(name, assumed, tuple(point(each, assumed).error for each in STOOD_ON))
        for name, assumed in changed()
    )
    return (first, *rungs)
