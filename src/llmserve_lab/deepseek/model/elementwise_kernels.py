"""Between two kernels every row goes through memory again, and somebody starts it all.

Each reads what the last one has written and writes what the next one reads; norms,
scales, rotations, activations, packing and unpacking do nothing else. Each kernel of a
layer stands here once, with the bytes that it moves for a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmserve_lab.deepseek.model.setup import Setup

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

WIDE, NARROW = 2, 1  # bytes of a number: BF16 between kernels, FP8 into a product


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

    def moved(self, widths: Widths) -> int:
        """Bytes of a row, in and out."""
        return self.into * self.reads(widths) + self.out * self.writes(widths)


def _scaled(name: str, width: Count) -> Kernel:
    return Kernel(name, width, width, out=NARROW)


def _same(name: str, width: Count) -> Kernel:
    return Kernel(name, width, width)


def _product(
    name: str, n_in: Callable[[Widths], int], n_out: Callable[[Widths], int]
) -> Kernel:
    return Kernel(name, n_in, n_out, into=NARROW)


BEFORE = (
    _same("add the residual, normalise", lambda w: 2 * w.model),
    _scaled("scale to FP8", lambda w: w.model),
    _product(
        "product: queries and latents, down",
        lambda w: w.model,
        lambda w: w.query + w.latent + w.rotary,
    ),
    _same("normalise queries", lambda w: w.query),
    _same("normalise latents", lambda w: w.latent),
    _scaled("scale queries", lambda w: w.query),
    _product("product: queries, up", lambda w: w.query, lambda w: _queries(w)),
)
AFTER = (
    _scaled("scale results", lambda w: w.heads * w.head),
    _product("product: output", lambda w: w.heads * w.head, lambda w: w.model),
)
CACHE = _same("write the cache", lambda w: w.latent + w.rotary)
ABSORBED = (
    *BEFORE,
    _same("rotate", lambda w: (w.heads + 1) * w.rotary),
    Kernel("product: absorb keys", lambda w: w.heads * w.head, lambda w: _latents(w)),
    CACHE,
    Kernel(
        "attention",
        lambda w: _latents(w) + w.heads * w.rotary,
        lambda w: _latents(w),
    ),
    Kernel("merge pieces of attention"),
    Kernel("product: absorb values", lambda w: _latents(w), lambda w: w.heads * w.head),
    *AFTER,
)
VANILLA = (
    *BEFORE,
    _same("rotate, join queries", lambda w: _queries(w)),
    _scaled("scale latents", lambda w: w.latent),
    _product(
        "product: keys and values, up",
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
    ),
    *AFTER,
)
AT_HOME = (
    _same("add the residual, normalise", lambda w: 2 * w.model),
    Kernel("product: router", lambda w: w.model),
    Kernel("choose experts"),
    _scaled("pack for the way", lambda w: w.model),
    _scaled("scale to FP8", lambda w: w.model),
    _product("product: shared expert, up", lambda w: w.model, lambda w: 2 * w.expert),
    Kernel("activate", lambda w: 2 * w.expert, lambda w: w.expert),
    _scaled("scale", lambda w: w.expert),
    _product("product: shared expert, down", lambda w: w.expert, lambda w: w.model),
    # writes the sum of the copies, too: that is one row and not one for each copy
    _same("add shared and routed", lambda w: 2 * w.model),
)
# What comes in to an expert and what goes out is in ``expert_bytes``.
OF_A_COPY = (
    Kernel("unpack", lambda w: w.model, lambda w: w.model, NARROW, NARROW),
    Kernel("product: experts, up", writes=lambda w: 2 * w.expert),
    Kernel(
        "activate and scale", lambda w: 2 * w.expert, lambda w: w.expert, out=NARROW
    ),
    Kernel("product: experts, down", lambda w: w.expert, into=NARROW),
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


def moved(kernels: tuple[Kernel, ...], setup: Setup) -> int:
    """Bytes of a row in one layer."""
    widths = Widths.of(setup)
    return sum(kernel.moved(widths) for kernel in kernels)


def passes(setup: Setup, form: str) -> dict[str, float]:
    """Bytes of a row and of a copy, and kernels started, over all layers.

    The few dense layers are counted as attention only.
    """
    layers = setup.model.n_layers
    with_experts = layers - setup.experts.n_dense_layers
    attention = attention_kernels(form)
    row = layers * moved(attention, setup) + with_experts * moved(AT_HOME, setup)
    others = with_experts * (len(AT_HOME) + len(OF_A_COPY))
    return {
        "row_pass_bytes": float(row),
        "copy_pass_bytes": float(with_experts * moved(OF_A_COPY, setup)),
        "n_kernels": float(layers * len(attention) + others),
    }


def passes_table(setup: Setup) -> Table:
    """Table of the kernels of a layer and the bytes that each moves for a row."""
    from llmserve_lab.page.table import Table

    widths = Widths.of(setup)
    places = (
        ("attention", ABSORBED),
        ("at home", AT_HOME),
        ("for each copy", OF_A_COPY),
    )
    rows = [
        (
            where,
            len(kernels),
            moved(kernels, setup) / 1e3,
            max(kernels, key=lambda kernel: kernel.moved(widths)).name,
        )
        for where, kernels in places
    ]
    columns = ("where", "kernels", "kB for a row", "most of it")
    return Table("One layer of a decode step, kernel by kernel", columns, rows)
