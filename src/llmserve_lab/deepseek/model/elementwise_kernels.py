"""Elementwise kernels: memory traffic of a row between the GEMMs, one launch each.

Each kernel reads what the last one has written and writes what the next one reads;
norms, scales, rotations, activations, packing and unpacking do nothing else. Each
kernel of a layer stands here once, with the bytes that it moves for a row. Those of a
GEMM overlap with its computing and are charged there; those of the attention kernel
are in its published rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from llmserve_lab.deepseek.model.setup import Setup

WIDE, NARROW = 2, 1  # bytes of a number: BF16 between kernels, FP8 into a GEMM
Kind = Literal["elementwise", "gemm", "attention"]


@dataclass(frozen=True)
class Widths:
    """Numbers of a row at each place in a layer."""

    model: int
    query: int
    latent: int
    rotary: int
    heads: int
    head: int
    expert: int

    @classmethod
    def of(cls, setup: Setup) -> Widths:
        """The widths of the model that ``setup`` holds."""
        mla, ffn = setup.latent, setup.experts
        return cls(
            setup.model.d_model,
            mla.d_q or setup.model.d_model,
            mla.d_latent,
            mla.d_rope,
            mla.n_heads,
            mla.d_head,
            ffn.d_ff,
        )


Count = Callable[[Widths], int]


@dataclass(frozen=True)
class Kernel:
    """One kernel: numbers that it reads and writes for a row, and bytes of each.

    Weights and the cache are not among them: those are read once for all rows.
    """

    name: str
    reads: Count = lambda _: 0
    writes: Count = lambda _: 0
    into: int = WIDE
    out: int = WIDE
    kind: Kind = "elementwise"

    def moved(self, widths: Widths) -> int:
        """Bytes of a row, in and out."""
        return self.into * self.reads(widths) + self.out * self.writes(widths)


def _scaled(name: str, width: Count) -> Kernel:
    return Kernel(name, width, width, out=NARROW)


def _same(name: str, width: Count) -> Kernel:
    return Kernel(name, width, width)


def _gemm(name: str, n_in: Count, n_out: Count) -> Kernel:
    return Kernel(f"GEMM: {name}", n_in, n_out, into=NARROW, kind="gemm")


BEFORE = (
    _same("add the residual, normalise", lambda w: 2 * w.model),
    _scaled("scale to FP8", lambda w: w.model),
    _gemm(
        "queries and latents, down",
        lambda w: w.model,
        lambda w: w.query + w.latent + w.rotary,
    ),
    _same("normalise queries", lambda w: w.query),
    _same("normalise latents", lambda w: w.latent),
    _scaled("scale queries", lambda w: w.query),
    _gemm("queries, up", lambda w: w.query, lambda w: _queries(w)),
)
AFTER = (
    _scaled("scale results", lambda w: w.heads * w.head),
    _gemm("output", lambda w: w.heads * w.head, lambda w: w.model),
)
CACHE = _same("write the cache", lambda w: w.latent + w.rotary)
ABSORBED = (
    *BEFORE,
    _same("rotate", lambda w: (w.heads + 1) * w.rotary),
    Kernel(
        "GEMM: absorb keys",
        lambda w: w.heads * w.head,
        lambda w: _latents(w),
        kind="gemm",
    ),
    CACHE,
    Kernel(
        "attention",
        lambda w: _latents(w) + w.heads * w.rotary,
        lambda w: _latents(w),
        kind="attention",
    ),
    Kernel("merge pieces of attention"),
    Kernel(
        "GEMM: absorb values",
        lambda w: _latents(w),
        lambda w: w.heads * w.head,
        kind="gemm",
    ),
    *AFTER,
)
VANILLA = (
    *BEFORE,
    _same("rotate, join queries", lambda w: _queries(w)),
    _scaled("scale latents", lambda w: w.latent),
    _gemm(
        "keys and values, up",
        lambda w: w.latent,
        lambda w: 2 * w.heads * w.head,
    ),
    Kernel("join keys", lambda w: w.heads * w.head, lambda w: _queries(w)),
    CACHE,
    # queries, keys and values once each
    Kernel(
        "attention",
        lambda w: 2 * _queries(w) + w.heads * w.head,
        lambda w: w.heads * w.head,
        kind="attention",
    ),
    *AFTER,
)
AT_HOME = (
    _same("add the residual, normalise", lambda w: 2 * w.model),
    Kernel("GEMM: router", lambda w: w.model, kind="gemm"),
    Kernel("choose experts"),
    _scaled("pack for the way", lambda w: w.model),
    _scaled("scale to FP8", lambda w: w.model),
    _gemm("shared expert, up", lambda w: w.model, lambda w: 2 * w.expert),
    Kernel("activate", lambda w: 2 * w.expert, lambda w: w.expert),
    _scaled("scale", lambda w: w.expert),
    _gemm("shared expert, down", lambda w: w.expert, lambda w: w.model),
    # writes the sum of the copies, too: that is one row and not one for each copy
    _same("add shared and routed", lambda w: 2 * w.model),
)
# What comes in to an expert and what goes out is in ``expert_bytes``.
OF_A_COPY = (
    Kernel("unpack", lambda w: w.model, lambda w: w.model, NARROW, NARROW),
    Kernel("GEMM: experts, up", writes=lambda w: 2 * w.expert, kind="gemm"),
    Kernel(
        "activate and scale", lambda w: 2 * w.expert, lambda w: w.expert, out=NARROW
    ),
    Kernel("GEMM: experts, down", lambda w: w.expert, into=NARROW, kind="gemm"),
    _same("pack for the way back", lambda w: w.model),
    Kernel("add up what came back", lambda w: w.model),
)


def _queries(widths: Widths) -> int:
    return widths.heads * (widths.head + widths.rotary)


def _latents(widths: Widths) -> int:
    return widths.heads * widths.latent


def attention_kernels(form: str) -> tuple[Kernel, ...]:
    """Kernels of attention in one layer, absorbed or vanilla."""
    return ABSORBED if form == "absorbed" else VANILLA


def moved(kernels: tuple[Kernel, ...], setup: Setup, *kinds: Kind) -> int:
    """Bytes of a row in one layer, in kernels of these kinds; in all, if none is named.

    >>> from llmserve_lab.deepseek.model.setup import SETUPS
    >>> moved(AT_HOME, SETUPS["9 × 8 H100"], "elementwise")
    176128
    """
    widths = Widths.of(setup)
    return sum(k.moved(widths) for k in kernels if not kinds or k.kind in kinds)


def row_traffic(setup: Setup, form: str) -> dict[str, float]:
    """Bytes of a row and of a copy over all layers, and kernels launched.

    The few dense layers are counted as attention only.
    """
    layers = setup.model.n_layers
    with_experts = layers - setup.experts.n_dense_layers
    attention = attention_kernels(form)
    others = with_experts * (len(AT_HOME) + len(OF_A_COPY))
    return {
        "attn_gemm_row_bytes": float(layers * moved(attention, setup, "gemm")),
        "attn_row_bytes": float(layers * moved(attention, setup, "elementwise")),
        "attn_launches": float(layers * len(attention)),
        "moe_gemm_row_bytes": float(with_experts * moved(AT_HOME, setup, "gemm")),
        "moe_gemm_copy_bytes": float(with_experts * moved(OF_A_COPY, setup, "gemm")),
        "moe_row_bytes": float(with_experts * moved(AT_HOME, setup, "elementwise")),
        "moe_copy_bytes": float(with_experts * moved(OF_A_COPY, setup, "elementwise")),
        "moe_launches": float(others),
    }


@dataclass(frozen=True)
class KernelGroup:
    """Kernels of one place in a layer: how many, bytes of a row, and which moves most.

    ``gemm_bytes`` and ``elementwise_bytes`` are of one row, or of one copy of it.
    """

    name: str
    n_kernels: int
    gemm_bytes: int
    elementwise_bytes: int
    largest: str


def places(setup: Setup) -> tuple[KernelGroup, ...]:
    """The kernels of one layer of a decode step, place by place."""
    widths = Widths.of(setup)
    found = (
        ("attention", ABSORBED),
        ("on its own GPU", AT_HOME),
        ("for each copy", OF_A_COPY),
    )
    return tuple(
        KernelGroup(
            name,
            len(kernels),
            moved(kernels, setup, "gemm"),
            moved(kernels, setup, "elementwise"),
            max(kernels, key=lambda kernel: kernel.moved(widths)).name,
        )
        for name, kernels in found
    )
