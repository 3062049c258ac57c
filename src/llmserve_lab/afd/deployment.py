"""AFD of DeepSeek-V3 on real GPUs: splits into Attention GPUs and FFN GPUs.

An instance is one GPU. An Attention GPU holds the weights of attention, of the dense
layers and the vocabulary, and its requests' caches; an FFN GPU holds a share of the
experts and a shared expert. The times are those of the twin's formulas, each phase on
its own GPUs; kernels, links and shares of the peaks are those of
:mod:`llmserve_lab.afd.coupled`, and so is what overlapping costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.afd.coupled import (
    AS_IS,
    BATCHES,
    CONTEXT,
    Copies,
    Off,
    Overlap,
    copies_of_row,
    group,
    slowest_context,
)
from llmserve_lab.checks import at_least, one_of, positive, whole
from llmserve_lab.deepseek.model.setup import number_bytes
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.roofline.formulas import BATCH_FITS

NODE = 8  # GPUs; FFN GPUs come by the node
MOST_GPUS = 4096  # of a group that is split in every way


@dataclass(frozen=True, kw_only=True)
class Split:
    """``n_attn`` Attention GPUs and ``n_ffn`` FFN GPUs, ``n_batches`` in flight.

    ``attn_factor`` and ``ffn_factor`` stretch the times of either phase, to ask what an
    error of the model would change; ``off`` those of all kernels and of the network, as
    in a group. Requests have ``context`` tokens in their caches on
    average, with a standard deviation of ``spread`` times that.

    Raises:
        ValueError: a count is below 1, ``context`` or a factor not positive and finite,
            ``spread`` negative, or ``copies`` or ``overlap`` unknown.
    """

    gpu: str
    n_attn: int
    n_ffn: int
    n_batches: int = 3
    copies: Copies = "expert"
    context: float = CONTEXT
    overlap: Overlap = "free"
    spread: float = 0.0
    attn_factor: float = 1.0
    ffn_factor: float = 1.0
    off: Off = AS_IS

    def __post_init__(self) -> None:
        whole(n_attn=self.n_attn, n_ffn=self.n_ffn, n_batches=self.n_batches)
        for name in ("context", "attn_factor", "ffn_factor"):
            positive(name, getattr(self, name))
        at_least("spread", self.spread, 0)
        one_of("copies", self.copies, Copies)
        one_of("overlap", self.overlap, Overlap)

    @property
    def ratio(self) -> float:
        """Attention GPUs for each FFN GPU, r."""
        return self.n_attn / self.n_ffn

    @property
    def name(self) -> str:
        """``40A–56F``."""
        return f"{self.n_attn}A–{self.n_ffn}F"

    @property
    def twin(self) -> Twin:
        """The FFN GPUs as a group; what they share with Attention GPUs is read here."""
        return group(self.gpu, self.n_ffn, off=self.off)

    @property
    def fits(self) -> bool:
        """Whether the experts fit on the FFN GPUs."""
        twin = group(self.gpu, self.n_ffn)
        return ffn_bytes(self.gpu, self.n_ffn) <= twin.room_bytes()

    def layer_s(self, batch: Any) -> dict[str, Any]:
        """Seconds of one layer by part, for ``batch`` rows of an Attention GPU.

        ``attn`` sets the pace of the slowest Attention GPU, over all its batches;
        ``late`` is the slowest of one batch. ``out`` and ``back`` are how long the
        busiest port is in use each way.
        """
        twin = self.twin
        batch = np.asarray(batch, np.float64)
        moe_layers = _layers(twin)[1]
        pace, rest = self._attn_s(twin, batch, self.n_batches * batch)
        late, _ = self._attn_s(twin, batch, batch)
        ffn = self._ffn_s(twin, self.ratio * batch)
        out, back = self._port_s(twin, batch)
        starts = float(twin.traffic["transfer_starts_s"]) / moe_layers
        found = {
            "attn": self.attn_factor * pace,
            "late": self.attn_factor * late,
            "ffn": self.ffn_factor * ffn,
            "out": max(self._hotter(twin), 1.0) * out,
            "back": max(self._hotter(twin), 1.0) * back,
            "starts": np.full_like(out, starts),
            "rest": rest,
        }
        if self.overlap == "charged":
            found |= self._charged(twin, found, out + back)
        return found | {"wire": found["starts"] + found["out"] + found["back"]}

    def _attn_s(self, twin: Twin, batch: Any, drawn: Any) -> tuple[Any, Any]:
        """Seconds of attention on the slowest GPU, of ``drawn`` contexts each."""
        context = slowest_context(self.context, self.spread, self.n_attn, drawn)
        mine = twin.blocks(batch=batch, context=context)
        layers = _layers(twin)[0]
        return (mine["mla_s"] + mine["attn_elementwise_s"]) / layers, mine["other_s"]

    def _ffn_s(self, twin: Twin, rows: Any) -> Any:
        """Seconds of a layer's FFN for the rows of an FFN GPU."""
        theirs = twin.blocks(batch=rows, context=self.context)
        return (theirs["experts_s"] + theirs["moe_elementwise_s"]) / _layers(twin)[1]

    def _charged(self, twin: Twin, part: dict[str, Any], sent: Any) -> dict[str, Any]:
        """What computing and sending at once costs, as the twin charges two halves.

        Both take longer while both go on; a start keeps its sender and its receiver
        busy, half of it each. ``sent`` is how long an Attention GPU's port is in use.
        """
        slow, busy = twin.assumptions.overlap_slowdown, part["starts"] / 2
        ports = {"attn": sent, "late": sent, "ffn": self._hotter(twin) * sent}
        worked = {
            name: part[name] + busy + slow * np.minimum(part[name], port)
            for name, port in ports.items()
        }
        longer = {name: (1 + slow) * part[name] for name in ("out", "back")}
        return worked | longer | {"starts": np.zeros_like(busy)}

    def _port_s(self, twin: Twin, batch: Any) -> tuple[Any, Any]:
        """Seconds of an Attention GPU's port for rows that leave, and that come back.

        It sends the copies of its own rows, whichever GPUs they go to.
        """
        sent = batch * self._copies(twin)
        rate, width = float(twin.machine["far_rate"]), twin.setup.model.d_model
        sizes = (twin.assumptions.dispatch, twin.assumptions.combine)
        there, back = (sent * width * number_bytes(size) / rate for size in sizes)
        return there, back

    def _copies(self, twin: Twin) -> float:
        """Copies of a row that an Attention GPU sends.

        The shared expert's is none more: every FFN GPU has that expert, so it works on
        one of the row's copies, and its result comes back added to that copy's.
        """
        return copies_of_row(twin, self.copies)

    def _hotter(self, twin: Twin) -> float:
        """Copies on the busiest FFN GPU's port over those on an Attention GPU's.

        Only choices of experts are uneven: what is sent to any GPU falls evenly.
        """
        sent, chosen = self._copies(twin), copies_of_row(twin, self.copies)
        busiest = chosen / twin.assumptions.balancedness + sent - chosen
        return self.ratio * busiest / sent

    def period_s(self, batch: Any) -> Any:
        """Seconds between two batches at a machine: the longest of four."""
        return self._period_s(self.layer_s(batch))

    def _period_s(self, part: dict[str, Any]) -> Any:
        port = np.maximum(part["out"], part["back"])
        loop = (part["late"] + part["wire"] + part["ffn"]) / self.n_batches
        longest = np.maximum(np.maximum(part["attn"], part["ffn"]), port)
        return np.maximum(longest, loop)

    def tpot_s(self, batch: Any) -> Any:
        """Seconds from one token of a request to its next: all layers, then the rest.

        The rest (dense layers, LM head) runs on the Attention GPU for each batch.
        """
        twin, part = self.twin, self.layer_s(batch)
        layers, moe_layers = _layers(twin)
        dense = (layers - moe_layers) * part["attn"] + part["rest"]
        turn = moe_layers * self._period_s(part) + dense
        return self.n_batches * turn + twin.assumptions.host_s

    def batch_at(self, tpot_s: float) -> int:
        """Largest batch that keeps the target and fits in memory; 0 if none does.

        Raises:
            ValueError: the target is not positive and finite.
        """
        positive("tpot_s", tpot_s)
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


def sparse_layers(twin: Twin) -> int:
    """Layers with experts."""
    return _layers(twin)[1]


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
    return int(np.floor(BATCH_FITS.reusing(size)))


@cache
def splits(gpu: str, n_gpus: int, **options: Any) -> tuple[Split, ...]:
    """Every way to split ``n_gpus``, FFN GPUs by the node, two to four in flight.

    Raises:
        ValueError: there are no more GPUs than one node has, too many, or no split has
            room for the experts.
    """
    whole(first=NODE + 1, most=MOST_GPUS, n_gpus=n_gpus)
    made = (
        Split(gpu=gpu, n_attn=n_gpus - y, n_ffn=y, n_batches=m, **options)
        for y in range(NODE, n_gpus, NODE)
        for m in (2, 3, 4)
    )
    found = tuple(split for split in made if split.fits)
    if not found:
        raise ValueError(f"n_gpus must have room for the experts, got {n_gpus} {gpu}")
    return found


@cache
def best_split(gpu: str, n_gpus: int, tpot_s: float, **options: Any) -> Split:
    """The split with the most tokens per second at the target.

    Raises:
        ValueError: no split of so many GPUs fits; or the target is not positive.
    """
    positive("tpot_s", tpot_s)
    every = splits(gpu, n_gpus, **options)
    return max(every, key=lambda split: split.gpu_tokens_per_s(tpot_s))
