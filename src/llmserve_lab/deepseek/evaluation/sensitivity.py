"""One choice changed at a time: what a silence of the text is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from llmserve_lab.catalog.evidence.deployments import DRAFT_KEPT, PREFILL_ROWS
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    HEADLINES,
    PAPER,
    PEAKS,
    alike,
    trips_started,
)
from llmserve_lab.deepseek.evaluation.predictions import signed
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.deepseek.model.step_model import Twin

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

TENTH = 0.1


@cache
def changes() -> Mapping[str, dict[str, Any]]:
    """Each field of Choices once or more, under the name of what is changed."""
    return MappingProxyType(
        {
            "vanilla attention": {"form": "vanilla"},
            "all experts read": {"experts": "all"},
            "busiest by balls in bins": {"experts": "busiest"},
            "one after another": {"overlap": "none"},
            "wire hidden, one batch": {"overlap": "hidden"},
            "no redundant experts": {"n_redundant": 0},
            "even routing": {"balancedness": 1.0},
            "shared expert is sent to": {"shared_travels": True},
            "dense layers send too": {"dense_layers_send": True},
            "near copies by the far port": {"near_copies": "far"},
            "dispatch in BF16": {"dispatch": "bf16"},
            "combine in FP8": {"combine": "fp8"},
            "products in BF16": {"products": "bf16"},
            "attention in FP8": {"attention": "fp8"},
            "cache in FP8": {"cache": "fp8"},
            "embedding table read": {"table_is_read": True},
            "a sharp roofline": {"ridge": "sharp"},
            "nothing between products": {"passes": False},
            "the libraries' headlines": {"shares": alike(HEADLINES)},
            "the paper's factors": {"shares": alike(PAPER)},
            "all peaks reached": {"shares": alike(PEAKS)},
            "every trip has a start": {"shares": trips_started()},
            "one token drafted": {"n_draft": 1, "accepted": 1 + float(DRAFT_KEPT)},
        }
    )


def swings(place: Setup, *, batch: float, context: float) -> list[tuple[str, float]]:
    """Relative change of tokens per second and GPU for each change, largest first."""
    size = {"batch": batch, "context": context}
    ours = Choices()
    base = Twin(setup=place, choices=ours).gpu_tokens_per_s(**size)
    found = []
    for name, change in changes().items():
        twin = Twin(setup=place, choices=replace(ours, **change))
        found.append((name, float(twin.gpu_tokens_per_s(**size) / base) - 1))
    return sorted(found, key=lambda pair: -abs(pair[1]))


def swings_table(place: Setup, *, batches: tuple[float, ...], context: float) -> Table:
    """Table of every change and what it does, for each of ``batches``."""
    from llmserve_lab.page.table import Table

    found = [dict(swings(place, batch=batch, context=context)) for batch in batches]
    rows = [(name, *(signed(each[name]) for each in found)) for name in changes()]
    columns = ("change", *(f"{batch:.0f} requests" for batch in batches))
    return Table("Change of tokens/s of a GPU, choice by choice", columns, rows)


def silent_table(place: Setup, *, context: float) -> Table:
    """Table of the choices that no decode step feels: of prefill and of memory."""
    from llmserve_lab.page.table import Table

    ours = Choices()
    lent, kept = (
        prefill_s(
            Twin(setup=place, choices=replace(ours, lent_share=share)),
            prompt=context,
            rows=PREFILL_ROWS.value,
        )
        for share in (ours.lent_share, 0.0)
    )
    usual, less = (
        Twin(setup=place, choices=replace(ours, usable_memory=share))
        for share in (ours.usable_memory, ours.usable_memory - TENTH)
    )
    faster = float(lent / kept) - 1
    fewer = float(less.batch_fits(context) / usual.batch_fits(context)) - 1
    rows = [
        ("nothing lent to the wire", "prefill, tokens/s", signed(faster)),
        ("a tenth less memory", "requests that fit", signed(fewer)),
    ]
    title = f"What a decode step does not feel: {context:,.0f} tokens"
    return Table(title, ("change", "of what", "by"), rows)
