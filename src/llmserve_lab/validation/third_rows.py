"""Measured runs of the third blind trial, and how they were served.

Two sources, both public (``data/NOTICE``): InferenceX's runs on one node, whose launch
scripts say what each engine was told (``qwen3.5_*``, ``minimaxm2.5_*_b300``,
``kimik2.5_*_b300``, ``dsr1_*_b300``), and the runs that SGLang's cookbook prints,
with the command of the server and of the client. Nothing of it is fitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

from llmserve_lab.catalog import ModelShape, model
from llmserve_lab.catalog.data.trial_models import (
    GLM_46,
    GLM_47_FLASH,
    KIMI_K26,
    QWEN_35,
    QWEN_CODER_NEXT,
)
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.engine import Chunked, ContinuousWithBudget, Request
from llmserve_lab.validation.experts import NodeRow
from llmserve_lab.validation.latent_rows import (
    LATENT_SHAPES,
    LatentProtocol,
    LatentRow,
)
from llmserve_lab.validation.protocol import (
    BYTES_8,
    SGLANG_RESERVED,
    Protocol,
    at_once,
    protocol_of,
    requests_of,
)
from llmserve_lab.validation.rows import (
    PRECISIONS,
    SYSTEMS,
    MeasuredRow,
    Sorted,
    in_full,
    sort_rows,
)
from llmserve_lab.validation.unit_work import BYTES_16

# The records of the catalog, by the names that published tables have for them.
NEW_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        "Qwen/Qwen3.5-397B-A17B": QWEN_35,
        "Qwen/Qwen3-Coder-Next": QWEN_CODER_NEXT,
        "zai-org/GLM-4.6": GLM_46,
        "zai-org/GLM-4.7-Flash": GLM_47_FLASH,
    }
)
THIRD_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        **LATENT_SHAPES,
        **NEW_SHAPES,
        "moonshotai/Kimi-K2.6": KIMI_K26,
        "MiniMaxAI/MiniMax-M2.5": model("minimax-m2.5"),
        "Qwen/Qwen3-235B-A22B": model("qwen3-235b-a22b"),
    }
)
THIRD_SYSTEMS: Mapping[str, str] = MappingProxyType({**SYSTEMS, "b300_sxm": "b300-sxm"})
# Form, constants and the choice of the runs (tools/third_rows.py, by settings alone)
# were fixed before any of them was looked at, so that the error of that day is blind.
LAST_TRIED = Status("seen", "2026-11-28")
INFERENCEX, COOKBOOK = "inferencex", "cookbook"
COOKBOOK_SEED = 1  # of SGLang's bench_serving, unless it is told another


@dataclass(frozen=True, kw_only=True)
class ThirdRow(NodeRow):
    """A run of InferenceX's, of a model without latent attention."""

    @property
    def shape(self) -> ModelShape:
        """The model's record."""
        return THIRD_SHAPES[self.model]


@dataclass(frozen=True, kw_only=True)
class CookbookRow(NodeRow):
    """A run that SGLang's cookbook prints."""

    @property
    def shape(self) -> ModelShape:
        """The model's record."""
        return THIRD_SHAPES[self.model]


@protocol_of.register
def _inferencex(row: ThirdRow) -> Protocol:
    """With vLLM, room for two prompts an iteration; SGLang as the scripts say."""
    if row.engine == "vllm":
        return Protocol(
            policy=Chunked(2 * row.prompt_len, max_batch=1024),
            memory=0.9,
            kv_bytes=BYTES_8,
        )
    hopper = row.generation == "Hopper"
    budget = 16_384 if hopper else 32_768
    memory = 0.8 if hopper else 0.85 if row.precision == "fp4" else 0.82
    kv_bytes = BYTES_16 if row.precision == "bf16" else BYTES_8
    return prompts_first(row, budget, memory=memory, kv_bytes=kv_bytes, slots=128)


@protocol_of.register
def _cookbook(row: CookbookRow) -> Protocol:
    """SGLang's defaults: its budget goes by the device's memory."""
    budget = 16_384 if row.generation == "Blackwell" else 8192
    return prompts_first(row, budget, memory=0.8, kv_bytes=BYTES_16, slots=4096)


def prompts_first(
    row: MeasuredRow, budget: int, *, memory: float, kv_bytes: float, slots: int
) -> Protocol:
    """SGLang: prompts go first; the engine of the book cuts none of them."""
    latent = isinstance(row.shape.attention, LatentAttention)
    policy = ContinuousWithBudget(
        max_batch=slots,
        mixed=False,
        max_num_batched_tokens=max(budget, row.prompt_len + row.output_len),
    )
    return (LatentProtocol if latent else Protocol)(
        policy=policy,
        memory=memory,
        kv_bytes=kv_bytes,
        reserved_bytes=float(SGLANG_RESERVED),
    )


def cookbook_prompts(clients: int) -> int:
    """How many requests the cookbook's clients send: five each, and ten at least."""
    return max(10, 5 * clients)


def cookbook_lengths(row: MeasuredRow) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of prompts and of answers, as SGLang's bench_serving draws them.

    They are uniform from 1 to what is asked for; their sums are what the pages print.
    """
    drawn, count = np.random.RandomState(COOKBOOK_SEED), cookbook_prompts(row.clients)
    prompts, outputs = (
        drawn.randint(1, asked + 1, size=count)
        for asked in (row.prompt_len, row.output_len)
    )
    return prompts, outputs


@requests_of.register
def _cookbook_requests(row: CookbookRow) -> list[Request]:
    """As they are drawn; an answer of one token, which has no TPOT, gets a second."""
    prompts, outputs = cookbook_lengths(row)
    return at_once(prompts, np.maximum(outputs, 2))


def third_rows(lines: Iterable[Mapping[str, str]]) -> Sorted:
    """Rows that can be predicted, and how many cannot, by reason."""
    rows, left_out = list[MeasuredRow](), dict[str, int]()
    for line in lines:
        found = sort_rows(
            [{**line, "protocol": "public"}],
            models={each: each for each in THIRD_SHAPES},
            of=_class_of(line),
            precisions=(*PRECISIONS, "int4"),
            systems=THIRD_SYSTEMS,
        )
        rows.extend(found.rows)
        for why, count in found.left_out.items():
            left_out[why] = left_out.get(why, 0) + count
    return Sorted(tuple(rows), MappingProxyType(left_out))


def _class_of(line: Mapping[str, str]) -> type[MeasuredRow]:
    """What a line is made into."""
    if line["source"] == COOKBOOK:
        return CookbookRow
    return LatentRow if line["model"] in LATENT_SHAPES else ThirdRow


@cache
def third_runs() -> tuple[MeasuredRow, ...]:
    """The runs that were scored blind."""
    return in_full("third_rows.csv", third_rows)
