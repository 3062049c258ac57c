"""Attention in two kinds: heads that cache keys and values, or one latent for all.

Multi-head, grouped-query and multi-query attention differ in one number, how many
key–value heads there are. Multi-head latent attention (MLA) caches a single latent
and a rotary key that all heads share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmserve_lab.catalog.records.tensor import Weight
from llmserve_lab.checks import whole, whole_fields

FLOPS_PER_MAC = 2


@dataclass(frozen=True, kw_only=True)
class GroupedQueryAttention:
    """``n_heads`` query heads share ``n_kv_heads`` key–value heads of width ``d_head``.

    With as many key–value heads as heads it is multi-head attention. ``qkv_bias`` and
    ``out_bias`` add biases, ``qk_norm`` one RMSNorm gain each for queries and keys,
    ``norm_of_layer`` one for all heads together; ``sinks`` a learned score a head.
    """

    n_heads: int
    n_kv_heads: int
    d_head: int
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    norm_of_layer: bool = False
    sinks: bool = False

    def __post_init__(self) -> None:
        whole_fields(self, "n_heads", "n_kv_heads", "d_head")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_heads must be a multiple of n_kv_heads, "
                f"got {self.n_heads} and {self.n_kv_heads}"
            )

    @property
    def kind(self) -> str:
        """``"MHA"``, ``"GQA"`` or ``"MQA"``."""
        if self.n_kv_heads == self.n_heads:
            return "MHA"
        return "MQA" if self.n_kv_heads == 1 else "GQA"

    @property
    def kv_elements(self) -> int:
        """Numbers a token leaves in the cache of one layer: keys and values."""
        return (self.d_head + self.d_head) * self.n_kv_heads

    def flops_per_pair(self, *, absorbed: bool = True) -> int:
        """FLOPs of one layer per query–key pair, score and weighted sum, all heads.

        There is nothing to absorb here: ``absorbed`` changes nothing.
        """
        return FLOPS_PER_MAC * self.n_heads * (self.d_head + self.d_head)

    def weights(self, d_model: int) -> Iterator[Weight]:
        """Weights of one layer, (rows, columns) = (in, out), by checkpoint name."""
        query, cached = self.n_heads * self.d_head, self.n_kv_heads * self.d_head
        widths = {"q_proj": query, "k_proj": cached, "v_proj": cached}
        for name, width in widths.items():
            yield name, (d_model, width)
            if self.qkv_bias:
                yield f"{name}.bias", (width,)
        yield "o_proj", (query, d_model)
        if self.out_bias:
            yield "o_proj.bias", (d_model,)
        if self.qk_norm:
            yield from (("q_norm", (self.d_head,)), ("k_norm", (self.d_head,)))
        if self.norm_of_layer:
            yield from (("q_norm", (query,)), ("k_norm", (cached,)))
        if self.sinks:
            yield "sinks", (self.n_heads,)


@dataclass(frozen=True, kw_only=True)
class LatentAttention:
    """MLA: a latent of ``d_latent`` and a rotary key of ``d_rope`` serve all heads.

    ``d_head`` is the width of a query or key without its rotary part, ``d_v`` of a
    value, ``d_q`` of the latent that queries pass through (None: they do not).
    Where an indexer chooses the tokens that are attended to (DeepSeek-V3.2), it has
    ``n_index_heads`` heads of width ``d_index`` and caches one key; what it computes is
    not in ``flops_per_pair``, and neither is what attention saves by its choice.
    """

    n_heads: int
    d_head: int
    d_v: int
    d_latent: int
    d_rope: int
    d_q: int | None
    n_index_heads: int = 0
    d_index: int = 0

    def __post_init__(self) -> None:
        whole_fields(self, "n_heads", "d_head", "d_v", "d_latent", "d_rope")
        if self.d_q is not None:
            whole_fields(self, "d_q")
        whole(first=0, n_index_heads=self.n_index_heads, d_index=self.d_index)
        if self.n_index_heads and self.d_q is None:
            raise ValueError("d_q must be given where there is an indexer, got None")

    @property
    def kind(self) -> str:
        """``"MLA"``."""
        return "MLA"

    @property
    def kv_elements(self) -> int:
        """Numbers a token leaves in the cache of one layer: latent and rotary key.

        The key of an indexer, where there is one, is counted too.
        """
        return self.d_latent + self.d_rope + self.d_index

    def flops_per_pair(self, *, absorbed: bool = True) -> int:
        """FLOPs of one layer per query–key pair, score and weighted sum, all heads.

        Absorbed, a head works on the latent itself: d_c + d_r for the score, d_c for
        the sum. Expanded, on keys and values made from it: d_h + d_r and d_v; making
        them is not counted here.
        """
        score, total = (self.d_latent,) * 2 if absorbed else (self.d_head, self.d_v)
        return FLOPS_PER_MAC * self.n_heads * (score + self.d_rope + total)

    def weights(self, d_model: int) -> Iterator[Weight]:
        """Weights of one layer, (rows, columns) = (in, out), by checkpoint name."""
        query = self.n_heads * (self.d_head + self.d_rope)
        if self.d_q is None:
            yield "q_proj", (d_model, query)
        else:
            yield "q_a_proj", (d_model, self.d_q)
            yield "q_a_layernorm", (self.d_q,)
            yield "q_b_proj", (self.d_q, query)
        yield "kv_a_proj_with_mqa", (d_model, self.d_latent + self.d_rope)
        yield "kv_a_layernorm", (self.d_latent,)
        yield "kv_b_proj", (self.d_latent, self.n_heads * (self.d_head + self.d_v))
        yield "o_proj", (self.n_heads * self.d_v, d_model)
        if self.d_q is not None and self.n_index_heads:
            yield "indexer.wq_b", (self.d_q, self.n_index_heads * self.d_index)
            yield "indexer.wk", (d_model, self.d_index)
            yield "indexer.k_norm", (self.d_index,)
            yield "indexer.k_norm.bias", (self.d_index,)
            yield "indexer.weights_proj", (d_model, self.n_index_heads)


Attention = GroupedQueryAttention | LatentAttention
