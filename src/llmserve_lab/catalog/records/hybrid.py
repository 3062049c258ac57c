"""A hybrid: most layers keep a matrix instead of a cache that grows with the context.

A gated delta layer (Gated DeltaNet, arXiv 2412.06464) reads and writes a matrix for
each value head with every token; one layer of each few attends to all tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.catalog.records.tensor import Tensor, Weight
from llmserve_lab.checks import of_type, whole_fields


@dataclass(frozen=True, kw_only=True)
class DeltaLayer:
    """A gated delta layer: ``n_values`` heads of values, ``n_keys`` of keys, as wide.

    A short convolution over ``kernel`` tokens goes before it.
    """

    n_values: int
    n_keys: int
    d_head: int
    kernel: int

    def __post_init__(self) -> None:
        whole_fields(self, "n_values", "n_keys", "d_head", "kernel")

    @property
    def state_elements(self) -> int:
        """Numbers that one request keeps in one layer, however long its context."""
        return self.n_values * self.d_head * self.d_head

    def weights(self, d_model: int) -> Iterator[Weight]:
        """Weights of one layer, (rows, columns) = (in, out), by checkpoint name."""
        keys, values = self.n_keys * self.d_head, self.n_values * self.d_head
        yield "linear_attn.in_proj_qkvz", (d_model, 2 * keys + 2 * values)
        yield "linear_attn.in_proj_ba", (d_model, 2 * self.n_values)
        yield "linear_attn.conv1d", (2 * keys + values, self.kernel)
        yield "linear_attn.out_proj", (values, d_model)


@dataclass(frozen=True, kw_only=True)
class HybridShape(ModelShape):
    """A model whose every ``full_every``-th layer attends, with a gate on the output.

    The others are ``delta`` layers. What is counted of attention and cache is of the
    layers that attend.
    """

    delta: DeltaLayer
    full_every: int

    def __post_init__(self) -> None:
        super().__post_init__()
        of_type(DeltaLayer, delta=self.delta)
        whole_fields(self, "full_every")
        if self.n_layers % self.full_every:
            raise ValueError(
                f"n_layers must be a multiple of full_every = {self.full_every}, "
                f"got {self.n_layers}"
            )

    @property
    def full_layers(self) -> int:
        """Layers that attend to all tokens."""
        return self.n_layers // self.full_every

    @property
    def delta_layers(self) -> int:
        """Layers that keep a matrix."""
        return self.n_layers - self.full_layers

    @property
    def state_elements(self) -> int:
        """Numbers that one request keeps in all delta layers."""
        return self.delta_layers * self.delta.state_elements

    def tensors(self) -> tuple[Tensor, ...]:
        """Every weight tensor of the model, from the embedding to the LM head."""
        attends = {name for name, _ in self.attention.weights(self.d_model)}
        full, delta = self.full_layers, self.delta_layers
        found = [
            Tensor(each.name, each.shape, full, full) if each.name in attends else each
            for each in super().tensors()
        ]
        gate = next(each.shape for each in found if each.name == "q_proj")
        return (
            *found,
            Tensor("q_gate", gate, full, full),
            *(
                Tensor(name, shape, delta, delta)
                for name, shape in self.delta.weights(self.d_model)
            ),
        )

    @property
    def kv_elements_per_token(self) -> int:
        """Numbers that one token leaves in the cache, all layers that attend."""
        return self.full_layers * self.attention.kv_elements

    def attn_flops_per_pair(self, *, absorbed: bool = True) -> int:
        """FLOPs of attention per query–key pair, all layers that attend."""
        return self.full_layers * self.attention.flops_per_pair(absorbed=absorbed)
