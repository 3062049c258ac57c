"""Sensitivity: one assumption changed at a time, and what that is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from llmserve_lab.catalog.evidence.deployments import DRAFT_KEPT, PREFILL_ROWS
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    HEADLINES,
    PAPER,
    PEAKS,
    alike,
)
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.group_size import WAYS
from llmserve_lab.deepseek.evaluation.kernels import without_starts
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.deepseek.model.step_model import Twin

TENTH = 0.1


@cache
def changes() -> Mapping[str, dict[str, Any]]:
    """Each assumption once or more, under the name of what is changed."""
    at_once = without_starts(book_assumptions()).kernels
    return MappingProxyType(
        {
            "the plain form": {"form": "vanilla"},
            "all experts read": {"experts": "all"},
            "busiest by balls in bins": {"experts": "busiest"},
            "always one after another": {"overlap": "none"},
            "always two halves": {"overlap": "halves"},
            "halves that never wait": {"overlap": "ideal halves"},
            "all-to-all hidden, one batch": {"overlap": "hidden"},
            "no slowdown by overlap": {"overlap_slowdown": 0.0},
            "no redundant experts": {"n_redundant": 0},
            "even routing": {"balancedness": 1.0},
            "shared expert is sent to": {"shared_expert_sent": True},
            "dense layers send too": {"dense_layers_send": True},
            "near copies by the far port": {"own_node_copies": "far"},
            "dispatch in BF16": {"dispatch": "bf16"},
            "combine in FP8": {"combine": "fp8"},
            "GEMMs in BF16": {"gemm": "bf16"},
            "attention in FP8": {"attention": "fp8"},
            "cache in FP8, as many requests": {"cache": "fp8"},
            "embedding table read": {"embedding_table_read": True},
            "a sharp roofline": {"roofline": "sharp"},
            "nothing between GEMMs": {"elementwise": False},
            "nothing on the host": {"host_s": 0.0},
            "the libraries' headlines": {"kernels": alike(HEADLINES)},
            "the paper's factors": {"kernels": alike(PAPER)},
            "all peaks reached": {"kernels": alike(PEAKS)},
            "transfers start at once, links refitted": {"kernels": at_once},
            "one token drafted": {"n_draft": 1, "accepted": 1 + float(DRAFT_KEPT)},
        }
    )


def swings(place: Setup, *, batch: float, context: float) -> list[tuple[str, float]]:
    """Relative change of tokens per second and GPU for each change, largest first.

    Before and after in the faster schedule, two halves or one batch after another,
    unless the change says which. What a change does to time: some of them would leave
    less room than the batch needs.
    """
    size: dict[str, Any]
    size = {"batch": batch, "context": context, "in_memory": False}
    ours = book_assumptions()

    def rate(**change: Any) -> float:
        known = replace(ours, **change)
        ways = (known.overlap,) if "overlap" in change else WAYS
        twins = [
            Twin(setup=place, assumptions=replace(known, overlap=way)) for way in ways
        ]
        return max(float(twin.gpu_tokens_per_s(**size)) for twin in twins)

    base = rate()
    found = [(name, rate(**change) / base - 1) for name, change in changes().items()]
    return sorted(found, key=lambda pair: -abs(pair[1]))


@dataclass(frozen=True)
class Silent:
    """A change that no decode step feels, what does feel it, and by how much."""

    change: str
    what: str
    by: float


def silent(place: Setup, *, context: float) -> tuple[Silent, ...]:
    """Assumptions that no decode step feels: of prefill and of memory."""
    ours = book_assumptions()
    lent, kept = (
        prefill_s(
            Twin(setup=place, assumptions=replace(ours, lent_share=share)),
            prompt=context,
            rows=PREFILL_ROWS.value,
        )
        for share in (ours.lent_share, 0.0)
    )
    usual, less = (
        Twin(setup=place, assumptions=replace(ours, usable_memory=share))
        for share in (ours.usable_memory, ours.usable_memory - TENTH)
    )
    faster = float(lent / kept) - 1
    fewer = float(less.batch_fits(context) / usual.batch_fits(context)) - 1
    return (
        Silent("nothing lent to the all-to-alls", "prefill, tokens/s", faster),
        Silent("a tenth less memory", "requests that fit", fewer),
    )
