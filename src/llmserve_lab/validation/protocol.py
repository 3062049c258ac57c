"""How a row was measured: what the engine was told, and what the clients sent.

Facts of a protocol are listed here, not fitted: token budget, waiting rule, memory,
cache, lengths. Those of the 70B rows are public (InferenceX, October 2025: its scripts
``70b_fp4_*`` and ``70b_fp8_*``). Of the other rows they are the engines' defaults, or
were read off the rows themselves, which ``inferred`` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from types import MappingProxyType

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.checks import positive
from llmserve_lab.engine import Chunked, ContinuousWithBudget, Policy, Request
from llmserve_lab.validation.on_devices import OnDevices
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import BYTES_16, weight_bytes

PROMPTS_PER_CLIENT = 10
SHORTEST = 0.8  # lengths are uniform between this share of the nominal one and all
CLIENT_SEED = 0  # the load generator's own default
BLOCK_TOKENS = 16
RESERVED = Cited(1.33e9, "byte", "estimate", "six published counts of KV blocks")
SGLANG_RESERVED = Cited(0.9e9, "byte", "estimate", "read off six rows of one device")
BYTES_8 = float(catalog.PRECISIONS["fp8"].bytes_kv)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What a benchmark told its engine.

    Of a device's memory, the cache gets the share ``memory`` less weights and
    ``reserved_bytes``; or, ``of_free``, that share of what these leave. Numbers in it
    take ``kv_bytes``. ``inferred`` names what is not published of it.
    """

    policy: Policy
    memory: float
    kv_bytes: float
    reserved_bytes: float = float(RESERVED)
    of_free: bool = False
    inferred: tuple[str, ...] = ()

    def kv_blocks(self, row: MeasuredRow) -> int:
        """Blocks of cache of one group of devices.

        Raises:
            ValueError: the weights leave no room for one.
        """
        model, device = row.shape, row.accelerator
        table_bytes = model.vocab * model.d_model * BYTES_16
        held_bytes = (weight_bytes(row) + table_bytes) / row.tp + self.reserved_bytes
        usable_bytes = float(device.usable_bytes)
        room_bytes = (
            self.memory * (usable_bytes - held_bytes)
            if self.of_free
            else self.memory * usable_bytes - held_bytes
        )
        token_bytes = model.kv_bytes_per_token(self.kv_bytes) / row.tp
        blocks = int(room_bytes // (BLOCK_TOKENS * token_bytes))
        if blocks < 1:
            raise ValueError(f"tp must leave room for a block of cache, got {row}")
        return blocks


@singledispatch
def protocol_of(row: MeasuredRow) -> Protocol:
    """What the row's benchmark told its engine, as far as it is known.

    A class of rows with facts of its own registers a function for them.
    """
    return _MAKERS[row.engine](row)


def cached_bytes(row: OnDevices, kv_bytes: float | None) -> float:
    """Bytes of a cached number: ``kv_bytes``, or what a row's engine was told.

    Raises:
        ValueError: neither is known, or it is not positive.
    """
    if kv_bytes is not None:
        return positive("kv_bytes", kv_bytes)
    if not isinstance(row, MeasuredRow):
        raise ValueError("kv_bytes must be given of a group that was not measured")
    return protocol_of(row).kv_bytes


def _vllm(row: MeasuredRow) -> Protocol:
    """vLLM: chunked prefill within the token budget, decodes first."""
    if row.public:
        policy = Chunked(8192, max_batch=row.clients)
        return Protocol(policy=policy, memory=0.9, kv_bytes=BYTES_8)
    return Protocol(
        policy=Chunked(2048, max_batch=512),
        memory=0.9,
        kv_bytes=BYTES_16,
        inferred=("token budget",),
    )


def _trtllm(row: MeasuredRow) -> Protocol:
    """TensorRT-LLM: room for the whole output is set aside at admission.

    With a public protocol, prompts stay whole, and those of 1,024 tokens wait for
    company on fewer than eight devices. Of the cache it takes a share of what is free.
    """
    if row.public:
        short = row.prompt_len == row.output_len == 1024
        policy: Policy = ContinuousWithBudget(
            max_batch=2048,
            reserve_output=True,
            max_num_batched_tokens=16_384,
            batch_wait=20 if short and row.tp < 8 else 0,
        )
        return Protocol(policy=policy, memory=0.9, of_free=True, kv_bytes=BYTES_8)
    slots = row.clients - 1 if row.model == "llama-3-8b" else 2048
    return Protocol(
        policy=Chunked(4096, max_batch=slots),
        memory=0.9,
        of_free=True,
        kv_bytes=BYTES_8 if row.precision == "fp8" else BYTES_16,
        inferred=("token budget", "slots", "bits of the cache"),
    )


def _sglang(row: MeasuredRow) -> Protocol:
    """SGLang: prompts go first, in batches of their own; all decodes wait for them."""
    policy = ContinuousWithBudget(
        max_batch=4096, mixed=False, max_num_batched_tokens=8192
    )
    return Protocol(
        policy=policy,
        memory=0.8,
        kv_bytes=BYTES_16,
        reserved_bytes=float(SGLANG_RESERVED),
        inferred=("share of the memory",),
    )


_MAKERS = MappingProxyType({"vllm": _vllm, "trtllm": _trtllm, "sglang": _sglang})


@singledispatch
def requests_of(row: MeasuredRow) -> list[Request]:
    """What the clients of a row send, in this order.

    A class of rows whose clients send something else registers a function for them.
    The public load generator draws prompts, then outputs, from NumPy's legacy generator
    with seed 0; the others send what is nominal.
    """
    count = PROMPTS_PER_CLIENT * row.clients
    drawn = np.random.RandomState(CLIENT_SEED)
    prompts, outputs = (
        drawn.randint(int(SHORTEST * nominal), nominal + 1, size=count)
        if row.public
        else np.full(count, nominal)
        for nominal in (row.prompt_len, row.output_len)
    )
    return at_once(prompts, outputs)


def at_once(prompts: Iterable[int], outputs: Iterable[int]) -> list[Request]:
    """Requests of these lengths, sent as fast as the clients are free."""
    return [
        Request(
            arrival_s=0.0, prompt_len=int(prompt), output_len=int(output), id=number
        )
        for number, (prompt, output) in enumerate(zip(prompts, outputs, strict=True))
    ]


def inferred(rows: tuple[MeasuredRow, ...]) -> Mapping[str, int]:
    """How many of the rows rest on a fact that was read off the rows, by fact."""
    counts = dict[str, int]()
    for row in rows:
        for fact in protocol_of(row).inferred:
            counts[fact] = counts.get(fact, 0) + 1
    return MappingProxyType(counts)
