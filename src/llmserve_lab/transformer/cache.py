"""The KV cache: what a token leaves behind, so that no later token needs it redone.

It holds keys and values, or latents and rotary keys, exactly as many numbers as the
shape says. A forward pass reads it, and writes once, at its very end: when something
goes wrong on the way, the cache is as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.attention_context import Entries

MOST_TOKENS = 2**22  # their entries are set aside at once


def cache_parts(shape: ModelShape) -> dict[str, tuple[int, ...]]:
    """What one token leaves in one layer: name → shape."""
    spec = shape.attention
    if isinstance(spec, GroupedQueryAttention):
        head = (spec.n_kv_heads, spec.d_head)
        return {"key": head, "value": head}
    return {"latent": (spec.d_latent,), "rotary_key": (spec.d_rope,)}


class KVCache:
    """Room for ``capacity_tokens`` tokens of one request, of which ``length`` are used.

    Raises:
        TypeError: the capacity is no whole number.
        ValueError: it is below 1 token.
    """

    def __init__(self, shape: ModelShape, *, capacity_tokens: int) -> None:
        whole(of="token", most=MOST_TOKENS, capacity_tokens=capacity_tokens)
        self._capacity = capacity_tokens
        self.n_layers = shape.n_layers
        self.length = 0
        self.parts = cache_parts(shape)
        room = (shape.n_layers, capacity_tokens)
        self._held = {part: np.zeros((*room, *one)) for part, one in self.parts.items()}

    @property
    def capacity_tokens(self) -> int:
        """Tokens that it has room for."""
        return self._capacity

    @property
    def num_bytes(self) -> int:
        """Bytes of the entries held, 8 a number."""
        return sum(array[:, : self.length].nbytes for array in self._held.values())

    @property
    def capacity_bytes(self) -> int:
        """Bytes set aside, 8 a number."""
        return sum(array.nbytes for array in self._held.values())

    def read(self, layer: int) -> dict[str, Array]:
        """Entries of one layer, by part, [length, …]; read-only."""
        parts = {part: held[layer, : self.length] for part, held in self._held.items()}
        for view in parts.values():
            view.flags.writeable = False
        return parts

    def check_room(self, num_tokens: int) -> None:
        """Refuse what does not fit.

        Raises:
            ValueError: the context would be longer than the capacity.
        """
        if self.length + num_tokens > self.capacity_tokens:
            raise ValueError(
                f"context must be at most capacity_tokens = {self.capacity_tokens}, "
                f"got {self.length} cached and {num_tokens} new"
            )

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens: what was run in vain.

        Raises:
            ValueError: so many are not held.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"length must be 0 to {self.length}, got {length}")
        self.length = length

    def append(self, layers: Sequence[Entries], *, num_tokens: int) -> None:
        """Add the entries of new tokens: for every layer, by part, [num_tokens, …].

        Raises:
            ValueError: they do not fit, or are not those of this cache's model.
        """
        wanted = {part: (num_tokens, *one) for part, one in self.parts.items()}
        found = [{part: array.shape for part, array in of.items()} for of in layers]
        if found != [wanted] * self.n_layers:
            raise ValueError(
                f"layers must be {self.n_layers} times {wanted}, got {found}"
            )
        self.check_room(num_tokens)
        self._write(layers, slice(self.length, self.length + num_tokens))
        self.length += num_tokens

    def _write(self, layers: Sequence[Entries], new: slice) -> None:
        """Put the entries of the tokens ``new`` into their places."""
        for layer, entries in enumerate(layers):
            for part, array in entries.items():
                self._held[part][layer, new] = array
