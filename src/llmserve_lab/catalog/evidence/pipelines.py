"""Published prompts of pipelines over servers, in chunks of several sizes.

The report prints a few of its times. The others stand in its charts as bars without
numbers; a public data set has read them off, and says that they are good to 5%.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.catalog.records.cited import Cited

STAGED = "SGLang team, lmsys.org, 2026-01-15"
SEEN = Status("seen", "2026-11-29")
_bar = partial(
    Cited, unit="s", kind="measured", source=STAGED, note="bar of figure 11, to 5%"
)
_said = partial(Cited, kind="measured", source=STAGED)
STAGED_TOKENS, STAGED_TP = 131_072, 4  # 128K; H20 of a stage


@dataclass(frozen=True)
class StagedPrefill:
    """A prompt of 128K tokens of Qwen3-235B-A22B in FP8, alone, in equal chunks.

    Each of the ``stages`` is a tensor-parallel group of four H20.
    """

    chunk: int
    stages: int
    seconds: Cited
    status: Status = SEEN


STAGED_PREFILLS = tuple(
    StagedPrefill(chunk, stages, _bar(seconds))
    for chunk, took in (
        (6144, (56.0, 31.1, 17.8, 11.0)),
        (8192, (57.8, 32.4, 19.4, 12.8)),
        (12_288, (55.6, 32.7, 20.5, 14.4)),
        (18_432, (55.5, 35.0, 24.0, 18.5)),
    )
    for stages, seconds in zip((1, 2, 4, 8), took, strict=True)
)
# Printed: the same prompt with shrinking chunks, and DeepSeek-V3.1's prompt tokens per
# second on 32 H20 over those of TP 8 on eight.
SHRINKING = _said(10.54, "s", note="table 1: PP 8, chunks from 18,432 tokens down")
STAGED_GAIN = _said(3.31, "dimensionless", note="PP 4 × TP 8, shrinking chunks")
GROUP_GAIN = _said(2.54, "dimensionless", note="TP 32, a model cut down to run so")
