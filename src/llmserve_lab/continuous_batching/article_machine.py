"""The chapter's machine: Llama-2-7B on an H100 that reaches what article 05 says."""

from __future__ import annotations

from functools import cache

from llmserve_lab import catalog
from llmserve_lab.catalog import ARTICLE_PARAMS, Cited, machine, workload
from llmserve_lab.engine import IterationCost

MODEL, DEVICE, SHARE = "llama-2-7b", "h100-sxm", "article-06"
DECODES, CONTEXT = 8, 1024  # what decodes beside the prompt, with what in cache
FROM_S, UNTIL_S = -1.5, 9.0  # of the timeline, as seconds since the long prompt came


def article_setting() -> dict[str, Cited]:
    """Model and machine as arguments of the formulas, parameters as shapes count."""
    chip = machine(catalog.accelerator(DEVICE), efficiency=catalog.efficiency(SHARE))
    return workload(catalog.model(MODEL)) | chip


def as_printed() -> dict[str, Cited]:
    """The same with the round parameter count that the article uses in its tables."""
    names = ("params_total", "params_read", "params_active")
    return article_setting() | dict.fromkeys(names, ARTICLE_PARAMS)


@cache
def cost() -> IterationCost:
    """The same as the engine takes it."""
    return IterationCost.of(
        catalog.model(MODEL),
        catalog.accelerator(DEVICE),
        efficiency=catalog.efficiency(SHARE),
    )
