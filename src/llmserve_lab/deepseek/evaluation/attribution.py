"""From the paper's reading to the twin's, one named change after the other.

Each rung keeps what the rungs above it changed. So the table tells which effect moved
which prediction, and by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    NVL72_DECODE,
    PREFILL_RATES,
    SGLANG_DECODE,
    Deployment,
)
from llmserve_lab.deepseek.calibration.kernel_efficiency import alike, hopper
from llmserve_lab.deepseek.evaluation.predictions import beside, error, point, signed
from llmserve_lab.deepseek.evaluation.published_runs import rate_of
from llmserve_lab.deepseek.model.assumptions import Choices, as_printed
from llmserve_lab.deepseek.model.setup import setup_of
from llmserve_lab.deepseek.model.step_model import Twin

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

RUNGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "shares of the kernels of an H800": ("shares",),
        "what lies between products": ("passes",),
        "a round roofline": ("ridge",),
        "only what must be sent and read": (
            "experts",
            "shared_travels",
            "dense_layers_send",
            "table_is_read",
        ),
        "uneven routing": ("balancedness",),
        "multiprocessors lent in prefill": ("lent_share",),
    }
)
DECODES = (DEEPSEEK_DECODE, SGLANG_DECODE, NVL72_DECODE)
STOOD_ON = (*DECODES, PREFILL_RATES[-1])


def rungs() -> Iterator[tuple[str, Choices]]:
    """The choices after each change, the paper's first and the default's last."""
    ours = Choices()
    choices = replace(as_printed(), n_redundant=ours.n_redundant)
    yield "each as it was run", choices
    for name, changed in RUNGS.items():
        found: dict[str, Any] = {each: getattr(ours, each) for each in changed}
        if changed == ("shares",):
            found = {"shares": alike(hopper())}
        choices = replace(choices, **found)
        yield name, choices
    yield "Blackwell's attention as it was then", replace(choices, shares=ours.shares)


def as_the_paper_reads(record: Deployment) -> str:
    """Error of the paper's own choices, whatever is known of how the thing was run."""
    twin = Twin(setup=setup_of(record), choices=as_printed())
    return beside(rate_of(record, twin), float(record.gpu_tokens_per_s))


def ladder_table() -> Table:
    """Table of the errors of four published points on every rung.

    The paper predicts no prefill; there the ladder begins on its second rung.
    """
    from llmserve_lab.page.table import Table

    rows: list[tuple[str, ...]] = [
        ("the paper's reading", *map(as_the_paper_reads, DECODES), "–")
    ]
    rows += [
        (name, *(signed(error(point(each, choices))) for each in STOOD_ON))
        for name, choices in rungs()
    ]
    names = (each.name.partition(", ")[2] for each in STOOD_ON)
    return Table("Error after each change, top down", ("and then", *names), rows)
