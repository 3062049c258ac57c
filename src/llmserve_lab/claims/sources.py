"""The sources, and how many checkable statements each of them makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class SourceText:
    """A text whose claims are recomputed; claim ids are ``prefix-01`` to ``-count``."""

    prefix: str
    name: str
    title: str
    count: int


ALL = (
    SourceText("00", "article 00", "Roadmap of the series", 4),
    SourceText("01", "article 01", "An LLM, End to End", 8),
    SourceText("02", "article 02", "Tensor Parallelism, Built From Scratch", 3),
    SourceText(
        "03", "article 03", "Walking Tensor Parallelism Through a Full Block", 16
    ),
    SourceText("04", "article 04", "How to Batch Many Requests", 18),
    SourceText("05", "article 05", "ORCA and Chunked Prefill", 51),
    SourceText("06", "article 06", "Prefill and Decode Disaggregation", 53),
    SourceText("07", "article 07", "MoE and Expert Parallelism", 40),
    SourceText("000", "AFD paper", "Theoretically Optimal Attention/FFN Ratios", 54),
    SourceText("003", "scaling chapter", "Scaling LLM inference", 25),
    SourceText("004", "DeepSeek model", "DeepSeek Inference Theoretical Model", 85),
)
SOURCES: Mapping[str, SourceText] = MappingProxyType(
    {each.prefix: each for each in ALL}
)
CLAIM_COUNTS: Mapping[str, int] = MappingProxyType(
    {each.name: each.count for each in ALL}
)


def source_of(id: str) -> SourceText:
    """Look up the source of a claim by the claim's id: ``"06-05"`` → article 06.

    A letter after it (``"01-03b"``) marks a sentence beside the one that is counted.

    Raises:
        ValueError: no source has such a claim.
    """
    prefix, dash, number = id.partition("-")
    number = number.removesuffix("b")
    source = SOURCES.get(prefix)
    if not source or not dash or len(number) != 2 or not number.isdecimal():
        raise ValueError(
            f"id must be like '06-05', a known source and two digits, got {id!r}"
        )
    if not 1 <= int(number) <= source.count:
        raise ValueError(
            f"id must be {prefix}-01 to {prefix}-{source.count:02}, got {id!r}"
        )
    return source
