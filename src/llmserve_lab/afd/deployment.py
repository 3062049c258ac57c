"""AFD of DeepSeek-V3 on real GPUs, beside the same GPUs as one expert-parallel group.

An instance is one GPU. An Attention GPU holds the weights of attention, of the dense
layers and the vocabulary, and its requests' caches; an FFN GPU holds a share of the
experts and a shared expert. The times are those of the twin's formulas, each phase on
its own GPUs; both arrangements use the same kernels, links and shares of the peaks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from llmserve_lab.checks import one_of, positive, whole
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model import arguments
from llmserve_lab.deepseek.model.known import computed
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.moe import formulas as moe
from llmserve_lab.roofline.formulas import BATCH_FITS

Copies = Literal["expert", "node"]
NODE = 8  # GPUs; FFN GPUs come by the node
CONTEXT = 4096.0  # tokens in each request's cache
MOST = 512  # requests in a batch, searched
BATCHES = np.arange(1, MOST + 1)
SETTING = {"n_redundant": 0}  # no copies of experts, in either arrangement


@cache
def group(gpu: str, n_gpus: int, overlap: str = "none") -> Twin:
    """The twin of ``n_gpus`` as one expert-parallel group."""
    own: dict[str, Any] = {**SETTING, "overlap": overlap}
    assumed = replace(book_assumptions(), **own)
    return Twin(setup=setup(gpu, n_gpus), assumptions=assumed)


def copies_of_row(twin: Twin, copies: Copies) -> float:
    """Copies of a row that are sent: one for each expert, or for each node asked."""
    top_k = float(twin.setup.experts.top_k)
    if copies == "expert":
        return top_k
    nodes = twin.setup.nodes_of_a_row
    if nodes <= 1:
        return 1.0
    among = round(twin.setup.experts.n_experts * nodes / twin.setup.n_nodes)
    return float(moe.ROW_COPIES(n_experts=among, ep=nodes, top_k=top_k))


@dataclass(frozen=True, kw_only=True)
class Split:
    """``n_attn`` Attention GPUs and ``n_ffn`` FFN GPUs, ``n_batches`` in flight.

    ``attn_factor`` and ``ffn_factor`` stretch the times of either phase, to ask what an
    error of the model would change. Every request has ``context`` tokens in its cache.

    Raises:
        ValueError: a count is below 1, or ``copies`` is unknown.
    """

    gpu: str
    n_attn: int
    n_ffn: int
    n_batches: int = 3
    copies: Copies = "expert"
    context: float = CONTEXT
    attn_factor: float = 1.0
    ffn_factor: float = 1.0

    def __post_init__(self) -> None:
        whole(n_attn=self.n_attn, n_ffn=self.n_ffn, n_batches=self.n_batches)
        positive("context", self.context)
        one_of("copies", self.copies, Copies)

    @property
    def ratio(self) -> float:
        """Attention GPUs for each FFN GPU, r."""
        return self.n_attn / self.n_ffn

    @property
    def name(self) -> str:
        """``40A–56F``."""
        return f"{self.n_attn}A–{self.n_ffn}F"

    @property
    def fits(self) -> bool:
        """Whether the experts fit on the FFN GPUs."""
        twin = group(self.gpu, self.n_ffn)
        return ffn_bytes(self.gpu, self.n_ffn) <= twin.room_bytes()

    def layer_s(self, batch: Any) -> dict[str, Any]:
        """Seconds of one layer by part, for ``batch`` rows of an Attention GPU.

        ``out`` and ``back`` are how long an FFN GPU's port is busy each way.
        """
        twin = group(self.gpu, self.n_ffn)
        batch = np.asarray(batch, np.float64)
        mine = twin.blocks(batch=batch, context=self.context)
        rows = self.ratio * batch
        theirs = twin.blocks(batch=rows, context=self.context)
        layers, moe_layers = _layers(twin)
        attn = (mine["mla_s"] + mine["attn_elementwise_s"]) / layers
        ffn = (theirs["experts_s"] + theirs["moe_elementwise_s"]) / moe_layers
        out, back = self._port_s(twin, rows)
        starts = float(twin.traffic["transfer_starts_s"]) / moe_layers
        return {
            "attn": self.attn_factor * attn,
            "ffn": self.ffn_factor * ffn,
            "wire": starts + out + back,
            "out": out,
            "back": back,
            "rest": mine["other_s"],
        }

    def _port_s(self, twin: Twin, rows: Any) -> tuple[Any, Any]:
        """Seconds of an FFN GPU's port for the rows that come in, and that go back."""
        sent = rows * copies_of_row(twin, self.copies)
        if self.copies == "expert":  # the busiest GPU gets more than the mean
            sent = sent / twin.assumptions.balancedness
        rate, width = float(twin.machine["far_rate"]), twin.setup.model.d_model
        sizes = (twin.assumptions.dispatch, twin.assumptions.combine)
        there, back = (
            sent * width * arguments.number_bytes(size) / rate for size in sizes
        )
        return there, back

    def period_s(self, batch: Any) -> Any:
        """Seconds between two batches at a machine: the longest of four."""
        part = self.layer_s(batch)
        port = np.maximum(part["out"], part["back"])
        loop = (part["attn"] + part["wire"] + part["ffn"]) / self.n_batches
        longest = np.maximum(np.maximum(part["attn"], part["ffn"]), port)
        return np.maximum(longest, loop)

    def tpot_s(self, batch: Any) -> Any:
        """Seconds from one token of a request to its next: all layers, then the rest.

        The rest (dense layers, LM head) runs on the Attention GPU for each batch.
        """
        twin, part = group(self.gpu, self.n_ffn), self.layer_s(batch)
        layers, moe_layers = _layers(twin)
        dense = (layers - moe_layers) * part["attn"] + part["rest"]
        turn = moe_layers * self.period_s(batch) + dense
        return self.n_batches * turn + twin.assumptions.host_s

    def batch_at(self, tpot_s: float) -> int:
        """Largest batch that keeps the target and fits in memory; 0 if none does."""
        held = self.n_batches * BATCHES <= attn_fits(self.gpu, self.context)
        kept = _every_tpot_s(self) <= tpot_s
        return int(np.argmin(np.append(held & kept, False)))

    def gpu_tokens_per_s(self, tpot_s: float) -> float:
        """Tokens per second over all GPUs, Attention and FFN, at that target."""
        if not (batch := self.batch_at(tpot_s)):
            return 0.0
        requests = self.n_attn * self.n_batches * batch
        step_s = float(_every_tpot_s(self)[batch - 1])
        return requests / step_s / (self.n_attn + self.n_ffn)


@cache
def _every_tpot_s(split: Split) -> Any:
    """Seconds per token of a split at every batch that is searched."""
    return split.tpot_s(BATCHES)


def _layers(twin: Twin) -> tuple[int, int]:
    layers = twin.setup.model.n_layers
    return layers, layers - twin.setup.experts.n_dense_layers


def ffn_bytes(gpu: str, n_ffn: int) -> float:
    """Weights of an FFN GPU: its share of the experts and the shared one."""
    twin = group(gpu, n_ffn)
    held = twin.setup.local_experts(0) + twin.setup.experts.n_shared
    return float(twin.shape["bytes_weight"] * twin.shape["expert_stack"] * held)


def read_s(gpu: str, n_ffn: int) -> float:
    """Seconds that an FFN GPU reads the weights of one layer, whatever its rows."""
    twin = group(gpu, n_ffn)
    return ffn_bytes(gpu, n_ffn) / _layers(twin)[1] / float(twin.machine["read_rate"])


def attn_bytes(gpu: str) -> float:
    """Weights of an Attention GPU: attention, dense layers, vocabulary."""
    shape = group(gpu, NODE).shape
    held = ("mla_params", "other_params", "table_params")
    return float(shape["bytes_weight"] * sum(shape[name] for name in held))


def attn_fits(gpu: str, context: float = CONTEXT) -> int:
    """Requests whose caches fit on an Attention GPU, all batches in flight together."""
    twin = group(gpu, NODE)
    known = {"hbm_bytes": twin.room_bytes(), "stored_bytes": attn_bytes(gpu)}
    size = twin.shape | known | {"context": context}
    return int(np.floor(computed(BATCH_FITS, size)))


@cache
def splits(gpu: str, n_gpus: int, **options: Any) -> tuple[Split, ...]:
    """Every way to split ``n_gpus``, FFN GPUs by the node, two to four in flight."""
    made = (
        Split(gpu=gpu, n_attn=n_gpus - y, n_ffn=y, n_batches=m, **options)
        for y in range(NODE, n_gpus, NODE)
        for m in (2, 3, 4)
    )
    return tuple(split for split in made if split.fits)


@cache
def best_split(gpu: str, n_gpus: int, tpot_s: float, **options: Any) -> Split:
    """The split with the most tokens per second at the target."""
    every = splits(gpu, n_gpus, **options)
    return max(every, key=lambda split: split.gpu_tokens_per_s(tpot_s))


@dataclass(frozen=True)
class Together:
    """One group at a target: its overlap, requests of a GPU, and tokens/s of a GPU."""

    overlap: str
    batch: int
    gpu_tokens_per_s: float


@cache
def together(
    gpu: str,
    n_gpus: int,
    tpot_s: float,
    *,
    copies: Copies = "expert",
    context: float = CONTEXT,
) -> Together:
    """The coupled baseline: attention and experts on every GPU of one group.

    The better of one batch at a time and of two halves that overlap.
    """
    found = []
    for overlap in ("none", "halves"):
        step_s = _every_step_s(gpu, n_gpus, overlap, copies, context)
        last = int(np.argmin(np.append(step_s <= tpot_s, False)))
        if last:
            found.append(Together(overlap, last, float(last / step_s[last - 1])))
    return max(found, key=lambda one: one.gpu_tokens_per_s)


@cache
def _every_step_s(
    gpu: str, n_gpus: int, overlap: str, copies: Copies, context: float
) -> Any:
    """Seconds of a group's step at every batch that fits."""
    twin = group(gpu, n_gpus, overlap)
    batches = BATCHES[: int(twin.batch_fits(context))]
    known = twin.arguments(batch=batches, context=context)
    known["dispatched_copies"] = copies_of_row(twin, copies)
    return twin.step_of(known)
