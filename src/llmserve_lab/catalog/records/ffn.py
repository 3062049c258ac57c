"""The feed-forward half of a block: two matrices, three, or a crowd of experts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmserve_lab.catalog.records.tensor import Tensor, Weight
from llmserve_lab.checks import whole, whole_fields


def _gated(d_model: int, d_ff: int) -> Iterator[Weight]:
    yield "gate_proj", (d_model, d_ff)
    yield "up_proj", (d_model, d_ff)
    yield "down_proj", (d_ff, d_model)


@dataclass(frozen=True, kw_only=True)
class GeluFfn:
    """Up, GeLU, down: two matrices a layer, as in the articles (d_ff = 4·d)."""

    d_ff: int

    def __post_init__(self) -> None:
        whole_fields(self, "d_ff")

    def tensors(self, d_model: int, n_layers: int) -> Iterator[Tensor]:
        """All weights of this kind in ``n_layers`` layers."""
        yield Tensor("up_proj", (d_model, self.d_ff), n_layers, n_layers)
        yield Tensor("down_proj", (self.d_ff, d_model), n_layers, n_layers)


@dataclass(frozen=True, kw_only=True)
class SwigluFfn:
    """Gate, up, down: three matrices a layer, 3·d·d_ff parameters."""

    d_ff: int

    def __post_init__(self) -> None:
        whole_fields(self, "d_ff")

    def tensors(self, d_model: int, n_layers: int) -> Iterator[Tensor]:
        """All weights of this kind in ``n_layers`` layers."""
        for name, shape in _gated(d_model, self.d_ff):
            yield Tensor(name, shape, n_layers, n_layers)


@dataclass(frozen=True, kw_only=True)
class MoeFfn:
    """A router sends each token to ``top_k`` of ``n_experts``; ``n_shared`` see all.

    Each expert is a SwiGLU of width ``d_ff``. The first ``n_dense_layers`` layers have
    one dense SwiGLU of width ``d_ff_dense`` instead. ``router_bias`` is the bias that
    balances the load when experts are chosen; ``expert_bias`` adds biases to the
    matrices of the experts.
    """

    d_ff: int
    n_experts: int
    n_shared: int
    top_k: int
    n_dense_layers: int
    d_ff_dense: int
    router_bias: bool = True
    expert_bias: bool = False

    def __post_init__(self) -> None:
        whole_fields(self, "d_ff", "n_experts", "top_k", "d_ff_dense")
        whole(first=0, n_shared=self.n_shared, n_dense_layers=self.n_dense_layers)
        if self.top_k > self.n_experts:
            raise ValueError(
                f"top_k must be at most n_experts = {self.n_experts}, got {self.top_k}"
            )

    def tensors(self, d_model: int, n_layers: int) -> Iterator[Tensor]:
        """All weights of this kind in ``n_layers`` layers, dense ones included."""
        n_dense = self.n_dense_layers
        n_moe = n_layers - n_dense
        for name, shape in _gated(d_model, self.d_ff_dense):
            yield Tensor(f"dense.{name}", shape, n_dense, n_dense)
        for kind, copies, active in (
            ("experts", self.n_experts, self.top_k),
            ("shared_experts", self.n_shared, self.n_shared),
        ):
            for name, shape in _gated(d_model, self.d_ff):
                yield Tensor(f"{kind}.{name}", shape, n_moe * copies, n_moe * active)
                if self.expert_bias:
                    bias, all_of = (
                        f"{kind}.{name}.bias",
                        (n_moe * copies, n_moe * active),
                    )
                    yield Tensor(bias, shape[1:], *all_of)
        yield Tensor("router", (d_model, self.n_experts), n_moe, n_moe)
        if self.router_bias:
            yield Tensor("router.bias", (self.n_experts,), n_moe, n_moe)


Ffn = GeluFfn | SwigluFfn | MoeFfn
