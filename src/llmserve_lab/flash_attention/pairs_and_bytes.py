"""What FlashAttention leaves as it was: pairs that are computed, bytes of a decode."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab import running_example
from llmserve_lab.flash_attention.arguments import BYTES, heads
from llmserve_lab.roofline.formulas import ITERATION_BYTES
from llmserve_lab.transformer import tiles_of


@dataclass(frozen=True)
class Work:
    """Pairs of a causal prompt: that count, and that square tiles compute."""

    useful: int
    computed: int

    @property
    def extra(self) -> float:
        """What the tiles compute in vain, as a share of what counts."""
        return self.computed / self.useful - 1


def work(prompt_len: int, side: int) -> Work:
    """Pairs of a prompt in tiles of ``side``; those wholly in the future are skipped.

    A tile at the edge is computed whole, as a GPU does.

    Raises:
        TypeError, ValueError: the side is no whole number of at least 1.
    """
    computed = tiles_of([prompt_len], side) * side**2
    return Work(prompt_len * (prompt_len + 1) // 2, computed)


@dataclass(frozen=True)
class Saving:
    """Share of bytes that a decode does not move if its scores stay on chip."""

    of_attention: float
    of_step: float


def decode_saving(context: int) -> Saving:
    """Of one request, all layers: four passes over a row of scores for each head."""
    known, spec = running_example.ideal(), heads()
    layers = running_example.model().n_layers
    scores = 4 * BYTES * context * float(spec["n_heads"]) * layers
    cache = float(known["kv_bytes_per_token"]) * context
    step = float(ITERATION_BYTES.at(known, context=float(context), batch=1.0))
    return Saving(scores / (scores + cache), scores / (scores + step))
