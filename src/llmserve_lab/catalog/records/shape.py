"""A model is its shape: write down every weight tensor, and its sizes are counted.

Conventions. ``params_total`` is everything stored, without a multi-token-prediction
head. ``params_active`` is what one token is multiplied with: the experts it is sent to,
and the LM head, but not the embedding table, of which it only reads a row. A tied table
is stored once and used as the LM head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from llmserve_lab.catalog.records.attention import Attention
from llmserve_lab.catalog.records.cited import Cited, cite_in
from llmserve_lab.catalog.records.ffn import Ffn, MoeFfn
from llmserve_lab.catalog.records.tensor import Tensor
from llmserve_lab.checks import of_type, positive, whole_fields

PUBLISHED_UNITS = MappingProxyType(
    {
        "params_total": "parameter",
        "params_active": "parameter",
        "kv_bytes_per_token": "byte/token",
    }
)

BYTES_16_BIT = 2


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The shape of a decoder-only transformer, and what follows from it.

    ``norm`` is ``"rms"`` (one gain per feature) or ``"layer"`` (gain and bias).
    ``published`` holds totals that others print, to compare with; ``max_context`` is
    how many tokens prompt and answer may have together, where the model's config says
    so; ``quantized`` how a checkpoint stores its weights where that is not in 16 bits.
    Two shapes are equal when the numbers of their tensors are, whatever they
    are called, wherever they were published and however far they read.
    """

    name: str = field(compare=False)
    key: str = field(compare=False)
    source: str = field(compare=False)
    n_layers: int
    d_model: int
    vocab: int
    attention: Attention
    ffn: Ffn
    norm: Literal["rms", "layer"] = "rms"
    tied: bool = False
    max_context: int | None = field(default=None, compare=False)
    norms_per_block: int = 2
    quantized: str = field(default="", compare=False)
    published: Mapping[str, Cited] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )

    def __post_init__(self) -> None:
        cite_in(self, published=PUBLISHED_UNITS)
        whole_fields(self, "n_layers", "d_model", "vocab", "norms_per_block")
        of_type(str, name=self.name, key=self.key, source=self.source)
        of_type(str, quantized=self.quantized)
        of_type(bool, tied=self.tied)
        of_type(Attention, attention=self.attention)
        of_type(Ffn, ffn=self.ffn)
        if self.max_context is not None:
            whole_fields(self, "max_context")
        if self.norm not in ("rms", "layer"):
            raise ValueError(f"norm must be 'rms' or 'layer', got {self.norm!r}")
        if isinstance(self.ffn, MoeFfn) and self.ffn.n_dense_layers > self.n_layers:
            raise ValueError(
                f"n_dense_layers must be at most n_layers = {self.n_layers}, "
                f"got {self.ffn.n_dense_layers}"
            )

    def require_context(self, tokens: int) -> None:
        """Refuse a prompt and answer that are longer than the model can read.

        Raises:
            ValueError: they have more ``tokens`` than the maximum context.
        """
        if self.max_context is not None and tokens > self.max_context:
            raise ValueError(
                f"prompt and answer must have at most {self.max_context:,} tokens, the "
                f"maximum context of {self.name}, got {tokens:,}"
            )

    def cited(self, value: float, unit: str) -> Cited:
        """A number that follows from this shape, with the shape's source."""
        return Cited(value, unit, "counted", self.source, self.name)

    def tensors(self) -> tuple[Tensor, ...]:
        """Every weight tensor of the model, from the embedding to the LM head."""
        n, table = self.n_layers, (self.vocab, self.d_model)
        attention = self.attention.weights(self.d_model)
        return (
            Tensor("embed_tokens", table, 1, 1 if self.tied else 0),
            *self._norms("input_layernorm", n),
            *(Tensor(name, shape, n, n) for name, shape in attention),
            *self._norms("post_attention_layernorm", (self.norms_per_block - 1) * n),
            *self.ffn.tensors(self.d_model, n),
            *self._norms("norm", 1),
            *(() if self.tied else (Tensor("lm_head", table[::-1], 1, 1),)),
        )

    def _norms(self, name: str, copies: int) -> tuple[Tensor, ...]:
        parts = {"rms": ("",), "layer": ("", ".bias")}[self.norm]
        shape = (self.d_model,)
        return tuple(Tensor(name + part, shape, copies, copies) for part in parts)

    @cached_property
    def params_total(self) -> int:
        """Parameters stored, P_tot."""
        return sum(tensor.params for tensor in self.tensors())

    @cached_property
    def params_active(self) -> int:
        """Parameters one token is multiplied with, P_act."""
        return sum(tensor.params_active for tensor in self.tensors())

    @property
    def params_read(self) -> int:
        """Parameters that an iteration reads, P_read: all experts, but no look-up.

        Of an embedding table only the rows of the tokens are read, unless the LM head
        multiplies with it.
        """
        return self.params_total - (0 if self.tied else self.vocab * self.d_model)

    @property
    def kv_elements_per_token(self) -> int:
        """Numbers that one token leaves in the cache, all layers."""
        return self.n_layers * self.attention.kv_elements

    def kv_bytes_per_token(self, bytes_kv: float | Cited = 2) -> float:
        """Bytes that one token leaves in the cache, κ; ``bytes_kv`` each (16 bits).

        Raises:
            ValueError: ``bytes_kv`` is not positive and finite.
        """
        return self.kv_elements_per_token * positive("bytes_kv", bytes_kv)

    def weight_bytes(self, bytes_weight: float | Cited | None = None) -> float:
        """Bytes of all weights at ``bytes_weight`` bytes a parameter (16 bits).

        Raises:
            ValueError: ``bytes_weight`` is not positive and finite, or is not given
                for a checkpoint that is quantized.
        """
        if bytes_weight is None and self.quantized:
            raise ValueError(
                f"bytes_weight must be given: the config of {self.name} says that its "
                f"weights are quantized ({self.quantized})"
            )
        given = BYTES_16_BIT if bytes_weight is None else bytes_weight
        return self.params_total * positive("bytes_weight", given)

    def attn_flops_per_pair(self, *, absorbed: bool = True) -> int:
        """FLOPs of attention per query–key pair, all layers and heads.

        ``absorbed`` matters for MLA only: work on the latent, or on keys and values
        made from it.
        """
        return self.n_layers * self.attention.flops_per_pair(absorbed=absorbed)
