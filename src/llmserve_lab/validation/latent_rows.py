"""Measured runs of mixtures with latent attention, and how they were served.

The runs are InferenceX's, whose launch scripts are public: ``dsr1_*``, ``kimik2.5_*``
and ``glm5_*`` of its benchmarks on one node. What they told each engine is listed
here; nothing of it is fitted. Clients send lengths between 0.8 and 1 of the nominal
ones, ten requests each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.data.trial_models import DEEPSEEK_R1, GLM_5, KIMI_K25
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.engine import Chunked, ContinuousWithBudget, Policy
from llmserve_lab.validation.checkpoints import read_bytes
from llmserve_lab.validation.experts import NodeRow
from llmserve_lab.validation.on_devices import OnDevices
from llmserve_lab.validation.protocol import (
    BLOCK_TOKENS,
    BYTES_8,
    SGLANG_RESERVED,
    Protocol,
    protocol_of,
)
from llmserve_lab.validation.rows import (
    PRECISIONS,
    MeasuredRow,
    Sorted,
    in_full,
    sort_rows,
)
from llmserve_lab.validation.unit_work import BYTES_16

# The records of the catalog, by the names that published tables have for them.
LATENT_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        "deepseek-ai/DeepSeek-R1-0528": DEEPSEEK_R1,
        "moonshotai/Kimi-K2.5": KIMI_K25,
        "zai-org/GLM-5": GLM_5,
    }
)
# Form, constants and the choice of the runs (tools/latent_rows.py, by settings alone)
# were fixed before any of them was looked at, so that the error of that day is blind.
TRIED = Status("seen", "2026-11-28")
SHORT = 1024  # tokens, of prompts that InferenceX pairs with as long answers


@dataclass(frozen=True, kw_only=True)
class LatentRow(NodeRow):
    """A measured run of one of :data:`LATENT_SHAPES`, by its full name."""

    @property
    def shape(self) -> ModelShape:
        """The model's record."""
        return LATENT_SHAPES[self.model]


def latent_of(row: OnDevices) -> LatentAttention:
    """The row's attention.

    Raises:
        ValueError: it is of another kind.
    """
    spec = row.shape.attention
    if not isinstance(spec, LatentAttention):
        raise ValueError(f"row must have latent attention, got {row.shape.name}")
    return spec


def token_bytes(row: OnDevices, kv_bytes: float) -> float:
    """Bytes that a token takes in the cache of *each* device, all layers.

    All heads share the latent, so that no device of the group can do with a part of
    it. The key of an indexer has eight bits, whatever the cache has.
    """
    spec = latent_of(row)
    latent = (spec.d_latent + spec.d_rope) * kv_bytes
    return row.shape.n_layers * (latent + spec.d_index * BYTES_8)


class LatentProtocol(Protocol):
    """What a benchmark told its engine; each device holds the whole cache."""

    def kv_blocks(self, row: MeasuredRow) -> int:
        """Blocks of cache of one group of devices.

        Raises:
            ValueError: the weights leave no room for one.
        """
        device, table = row.accelerator, row.shape.vocab * row.shape.d_model
        held_bytes = sum(read_bytes(row, routed=each) for each in (True, False))
        held_bytes += table * BYTES_16 / row.tp + self.reserved_bytes
        usable_bytes = float(device.usable_bytes)
        room_bytes = (
            self.memory * (usable_bytes - held_bytes)
            if self.of_free
            else self.memory * usable_bytes - held_bytes
        )
        blocks = int(room_bytes // (BLOCK_TOKENS * token_bytes(row, self.kv_bytes)))
        if blocks < 1:
            raise ValueError(f"tp must leave room for a block of cache, got {row}")
        return blocks


@protocol_of.register
def _latent(row: LatentRow) -> Protocol:
    return {"vllm": _vllm, "trtllm": _trtllm, "sglang": _sglang}[row.engine](row)


def _vllm(row: LatentRow) -> Protocol:
    """Of vLLM: its default budget on such GPUs; as many slots as clients.

    The checkpoint in NVFP4 has a cache in eight bits, the one in INT4 says nothing.
    """
    int4 = row.precision == "int4"
    return LatentProtocol(
        policy=Chunked(8192, max_batch=row.clients),
        memory=0.95 if int4 else 0.9,
        kv_bytes=BYTES_16 if int4 else BYTES_8,
    )


def _trtllm(row: LatentRow) -> Protocol:
    """TensorRT-LLM: prompts stay whole, and the budget holds one beside all decodes.

    In FP8 on B200, prompts of 1,024 tokens wait for company from 64 clients on.
    """
    hopper, fp8 = row.generation == "Hopper", row.precision == "fp8"
    short = row.prompt_len == row.output_len == SHORT
    waits = fp8 and not hopper and short and row.clients >= 64
    narrow = fp8 and row.tp == 4 and row.prompt_len > SHORT
    policy: Policy = ContinuousWithBudget(
        max_batch=2048,
        reserve_output=True,
        max_num_batched_tokens=max(8192, row.prompt_len + row.clients + 64),
        batch_wait=40 if waits else 0,
    )
    return LatentProtocol(
        policy=policy,
        memory=0.75 if hopper or narrow else 0.8,
        of_free=True,
        kv_bytes=BYTES_8,
    )


def _sglang(row: LatentRow) -> Protocol:
    """SGLang: prompts go first; budgets, slots and cache as the scripts say.

    The engine of the book cuts no prompt that goes first, so that the budget holds at
    least one, with an answer if it was put back for want of room.
    """
    memory, budget, slots, kv_bytes = _TOLD[row.shape.key](row)
    policy = ContinuousWithBudget(
        max_batch=slots,
        mixed=False,
        max_num_batched_tokens=max(budget, row.prompt_len + row.output_len),
    )
    return LatentProtocol(
        policy=policy,
        memory=memory,
        kv_bytes=kv_bytes,
        reserved_bytes=float(SGLANG_RESERVED),
    )


def _of_deepseek(row: LatentRow) -> tuple[float, int, int, float]:
    """Share of the memory, budget of tokens, slots, and bytes of a cached number."""
    if row.generation == "Hopper":
        short = row.prompt_len == row.output_len == SHORT
        return 0.82, 32_768, 512 if short else 256, BYTES_16
    if row.precision == "fp4":
        return 0.85, 16_384, 256, BYTES_8
    return (0.95, 8192, 32, BYTES_8) if row.tp == 4 else (0.82, 32_768, 128, BYTES_8)


def _of_glm(row: LatentRow) -> tuple[float, int, int, float]:
    """The same; on H200 its script leaves budget and slots to SGLang's defaults."""
    if row.generation == "Hopper":
        return 0.85, 8192, 4096, BYTES_16
    if row.precision == "fp4":
        return 0.9, 32_768, 4096, BYTES_8
    return 0.85, 32_768, row.clients, BYTES_8


_TOLD = MappingProxyType({DEEPSEEK_R1.key: _of_deepseek, GLM_5.key: _of_glm})


def latent_rows(lines: Iterable[Mapping[str, str]]) -> Sorted:
    """Rows that can be predicted, and how many cannot, by reason."""
    filled = ({**line, "protocol": "public"} for line in lines)
    return sort_rows(
        filled,
        models={each: each for each in LATENT_SHAPES},
        of=LatentRow,
        precisions=(*PRECISIONS, "int4"),
    )


@cache
def latent_runs() -> tuple[MeasuredRow, ...]:
    """The 217 runs that were scored blind."""
    return in_full("latent_rows.csv", latent_rows)
