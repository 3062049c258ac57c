"""One choice changed at a time: what a silence of the text is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from llmserve_lab.catalog.deployments import DRAFT_KEPT
from llmserve_lab.deepseek.choices import Choices
from llmserve_lab.deepseek.setup import Setup
from llmserve_lab.deepseek.shares import HEADLINES, PAPER, PEAKS, alike
from llmserve_lab.deepseek.twin import Twin

# Each field of Choices once or more, under the name of what is changed.
CHANGES: Mapping[str, dict[str, Any]] = MappingProxyType(
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
        "one token drafted": {"n_draft": 1, "accepted": 1 + float(DRAFT_KEPT)},
    }
)


def swings(place: Setup, *, batch: float, context: float) -> list[tuple[str, float]]:
    """Relative change of tokens per second and GPU for each change, largest first."""
    size = {"batch": batch, "context": context}
    ours = Choices()
    base = Twin(setup=place, choices=ours).gpu_tokens_per_s(**size)
    found = []
    for name, change in CHANGES.items():
        twin = Twin(setup=place, choices=replace(ours, **change))
        found.append((name, float(twin.gpu_tokens_per_s(**size) / base) - 1))
    return sorted(found, key=lambda pair: -abs(pair[1]))
