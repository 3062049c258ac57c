"""Measured runs of the fourth blind trial, and how they were served.

The source is public (``data/NOTICE``): a cloud provider's comparison of GPUs, whose
files print what vLLM or SGLang was told, what the clients were, and the result. All
prompts of a run have one length, and so have all answers. Where several like servers
ran behind a balancer that goes round, a row is one of them, with its share of clients
and requests. Nothing of it is fitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.data.trial_models import (
    GLM_45_AIR,
    QWEN_CODER_30B,
    QWEN_CODER_480B,
)
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.checks import key_of, whole
from llmserve_lab.engine import Chunked, Request
from llmserve_lab.validation.experts import NodeRow
from llmserve_lab.validation.latent_rows import LatentProtocol
from llmserve_lab.validation.protocol import (
    BYTES_8,
    Protocol,
    at_once,
    protocol_of,
    requests_of,
)
from llmserve_lab.validation.rows import (
    PRECISIONS,
    MeasuredRow,
    Sorted,
    in_full,
    sort_rows,
)
from llmserve_lab.validation.third_rows import (
    THIRD_SHAPES,
    THIRD_SYSTEMS,
    prompts_first,
)
from llmserve_lab.validation.unit_work import BYTES_16

# The records of the catalog; of these models no run had been looked at.
UNSEEN_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        "zai-org/GLM-4.5-Air": GLM_45_AIR,
        "Qwen/Qwen3-Coder-480B-A35B": QWEN_CODER_480B,
        "Qwen/Qwen3-Coder-30B-A3B": QWEN_CODER_30B,
    }
)
FOURTH_SHAPES = MappingProxyType({**THIRD_SHAPES, **UNSEEN_SHAPES})
FOURTH_SYSTEMS: Mapping[str, str] = MappingProxyType(
    {**THIRD_SYSTEMS, "l40s": "l40s", "rtx_pro_6000": "rtx-pro-6000"}
)
# Form, constants and the choice of the runs (tools/fourth_rows.py, by settings alone)
# were fixed before any of them was looked at, so that the error of that day is blind.
FOURTH_TRIED = Status("seen", "2026-11-29")
LARGE = 70 * 2**30  # bytes of a device, from which on vLLM's defaults are larger
CACHES: Mapping[str, float] = MappingProxyType({"fp8": BYTES_8, "bf16": BYTES_16})


@dataclass(frozen=True, kw_only=True)
class LoopRow(NodeRow):
    """A run of one server with its own number of requests, slots and cache.

    Raises:
        LookupError: there is no such cache.
        ValueError: a count is below 1, or as :class:`NodeRow`.
    """

    requests: int = 1
    slots: int = 1
    cache: str = "bf16"

    def __post_init__(self) -> None:
        whole(requests=self.requests, slots=self.slots)
        key_of("cache", self.cache, CACHES)
        super().__post_init__()

    @property
    def shape(self) -> ModelShape:
        """The model's record."""
        return FOURTH_SHAPES[self.model]

    @property
    def sent(self) -> tuple[int, ...]:
        """Numbers that decide what the clients send."""
        return *super().sent, self.requests


@protocol_of.register
def _loop(row: LoopRow) -> Protocol:
    """What was told, and else the engines' defaults, which go by the device's memory.

    SGLang was told to take the share 0.9 of the memory, which is vLLM's default.
    """
    kv_bytes, memory = CACHES[row.cache], 0.9
    device_bytes = float(row.accelerator.hbm_bytes)
    if row.engine == "sglang":
        budget = 16_384 if device_bytes > 2 * LARGE else 8192
        return prompts_first(
            row, budget, memory=memory, kv_bytes=kv_bytes, slots=row.slots
        )
    budget = 8192 if device_bytes > LARGE else 2048
    latent = isinstance(row.shape.attention, LatentAttention)
    return (LatentProtocol if latent else Protocol)(
        policy=Chunked(budget, max_batch=row.slots), memory=memory, kv_bytes=kv_bytes
    )


@requests_of.register
def _loop_requests(row: LoopRow) -> list[Request]:
    """As many as were sent, all of the nominal lengths."""
    lengths = (np.full(row.requests, n) for n in (row.prompt_len, row.output_len))
    return at_once(*lengths)


def fourth_rows(lines: Iterable[Mapping[str, str]]) -> Sorted:
    """Rows that can be predicted, and how many cannot, by reason."""
    return loop_rows(
        lines,
        of=LoopRow,
        models=FOURTH_SHAPES,
        systems=FOURTH_SYSTEMS,
        precisions=(*PRECISIONS, "int4"),
    )


def loop_rows(
    lines: Iterable[Mapping[str, str]],
    *,
    of: type[LoopRow],
    models: Iterable[str],
    systems: Mapping[str, str],
    precisions: Sequence[str],
) -> Sorted:
    """Rows ``of`` that class with what their own columns say, and what is left out."""
    rows, left_out = list[MeasuredRow](), dict[str, int]()
    known = {each: each for each in models}
    for line in lines:
        found = sort_rows(
            [{**line, "protocol": "public"}],
            models=known,
            of=of,
            precisions=precisions,
            systems=systems,
        )
        for why, count in found.left_out.items():
            left_out[why] = left_out.get(why, 0) + count
        rows += [_told(row, line) for row in found.rows if isinstance(row, of)]
    return Sorted(tuple(rows), MappingProxyType(left_out))


def _told(row: LoopRow, line: Mapping[str, str]) -> LoopRow:
    """The row with what its own columns say."""
    requests, slots = (int(line[name]) for name in ("requests", "slots"))
    return replace(row, requests=requests, slots=slots, cache=line["cache"])


@cache
def fourth_runs() -> tuple[MeasuredRow, ...]:
    """The runs that were scored blind."""
    return in_full("fourth_rows.csv", fourth_rows)
