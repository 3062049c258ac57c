"""A prompt in chunks, executed: the cache makes it possible, the mask makes it right.

Each chunk is one pass. It finds the keys and values of all chunks before it in the
cache, sees all of them, and of its own rows those up to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llmserve_lab.transformer import PLAIN, Execution, Meter, Transformer
from llmserve_lab.transformer.arithmetic import Array, Mask


@dataclass(frozen=True, kw_only=True)
class Prefill:
    """Logits [s, V] of a prompt, and what it took to get them, chunk by chunk.

    ``masks`` holds one mask [rows, prefix + rows] for each chunk. Pairs are counted per
    layer and head, FLOPs over the whole model.
    """

    logits: Array
    masks: tuple[Mask, ...]
    meter: Meter
    n_layers: int

    @property
    def prefixes(self) -> tuple[int, ...]:
        """Cached tokens that each chunk reads."""
        return tuple(mask.shape[1] - mask.shape[0] for mask in self.masks)

    @property
    def reread_tokens(self) -> int:
        """Cached tokens that all chunks read, in every layer."""
        return sum(self.prefixes)

    @property
    def block_pairs(self) -> int:
        """Pairs in all blocks, what the masks hide included."""
        return self.meter.pairs // self.n_layers

    @property
    def useful_pairs(self) -> int:
        """Pairs that the masks let through."""
        return self.meter.useful_pairs // self.n_layers


def pieces(tokens: npt.ArrayLike, chunk: int) -> list[npt.NDArray[np.int64]]:
    """``tokens`` [s] cut into chunks, all full but the last.

    Raises:
        ValueError: a chunk has no row.
    """
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1 token, got {chunk}")
    flat = np.asarray(tokens)
    return [flat[start : start + chunk] for start in range(0, len(flat), chunk)]


def prefill(
    model: Transformer, tokens: npt.ArrayLike, *, chunk: int, run: Execution = PLAIN
) -> Prefill:
    """Take token ids [s] through ``model``, one chunk a pass.

    Raises:
        TypeError, ValueError: the chunk has no row, or the model refuses the tokens.
    """
    meter, seen = Meter(), list[Mask]()
    watched = meter.on(replace(run, see=seen.append))
    cache = model.new_cache(max(1, np.size(tokens)))
    logits = [model.forward(p, cache, run=watched) for p in pieces(tokens, chunk)]
    layers = model.shape.n_layers
    return Prefill(
        logits=np.concatenate(logits),
        masks=tuple(seen[::layers]),  # the mask is the same in every layer
        meter=meter,
        n_layers=layers,
    )
