"""Layers of a model by what they keep: all tokens, a window of them, or one state."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.checks import at_least, whole, whole_fields


@dataclass(frozen=True, kw_only=True)
class CacheLayers:
    """What one request keeps in the cache of a model, layer by layer.

    ``full_layers`` keep ``kv_elements`` numbers of every token, ``window_layers`` of
    the last ``window`` tokens only, and ``state_layers`` keep ``state_elements``
    numbers each, however long the text is. ``kind`` says it in the field's words.
    ``heads`` are its key–value heads and their width, if it keeps keys and values, and
    ``shape`` is the model's, where the catalog has it.

    Raises:
        ValueError: there is no layer, a window of nothing, or heads of another size.
    """

    name: str
    kind: str
    source: str
    kv_elements: int
    full_layers: int
    window_layers: int = 0
    window: int = 0
    state_layers: int = 0
    state_elements: int = 0
    heads: tuple[int, int] | None = None
    shape: ModelShape | None = None

    def __post_init__(self) -> None:
        whole_fields(self, "kv_elements")
        whole(
            first=0,
            full_layers=self.full_layers,
            window_layers=self.window_layers,
            state_layers=self.state_layers,
            state_elements=self.state_elements,
        )
        whole(of="layer", layers=self.layers)
        if self.window_layers:
            whole(of="token", window=self.window)
        if self.heads and 2 * self.heads[0] * self.heads[1] != self.kv_elements:
            raise ValueError(
                f"heads must make kv_elements, {self.kv_elements}, got {self.heads}"
            )

    @classmethod
    def of(cls, shape: ModelShape, kind: str = "") -> CacheLayers:
        """A model whose layers all keep every token."""
        spec = shape.attention
        heads = None
        if isinstance(spec, GroupedQueryAttention):
            heads = (spec.n_kv_heads, spec.d_head)
        return cls(
            name=shape.name,
            kind=kind or spec.kind,
            source=shape.source,
            kv_elements=spec.kv_elements,
            full_layers=shape.n_layers,
            heads=heads,
            shape=shape,
        )

    @property
    def layers(self) -> int:
        """All layers."""
        return self.full_layers + self.window_layers + self.state_layers

    def full_token_bytes(self, bytes_kv: float = 2) -> float:
        """Bytes a token in the layers that keep all of them."""
        return self.full_layers * self.kv_elements * bytes_kv

    def window_token_bytes(self, bytes_kv: float = 2) -> float:
        """Bytes a token in the layers with a window, as long as it is inside."""
        return self.window_layers * self.kv_elements * bytes_kv

    def state_bytes(self, bytes_kv: float = 2) -> float:
        """Bytes a request in the layers that keep one state."""
        return self.state_layers * self.state_elements * bytes_kv

    def naive_token_bytes(self, bytes_kv: float = 2) -> float:
        """Bytes a token if every layer kept all tokens: what many calculators say."""
        return self.layers * self.kv_elements * bytes_kv

    def request_bytes(self, tokens: float, bytes_kv: float = 2) -> float:
        """Bytes of a request that has so many tokens in cache.

        Raises:
            ValueError: there are fewer than none.
        """
        at_least("tokens", tokens, 0)
        inside = min(tokens, self.window)
        return (
            self.full_token_bytes(bytes_kv) * tokens
            + self.window_token_bytes(bytes_kv) * inside
            + self.state_bytes(bytes_kv)
        )
