"""Weights are drawn for exactly the tensors that a shape lists, by name, and no others.

A tensor that exists once per layer, or once per layer and expert, is one array with
that many copies in front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.tensor import Tensor
from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Array

OUTSIDE = ("embed_tokens", "norm", "norm.bias", "lm_head")


def seeded(shape: ModelShape, seed: int = 0) -> dict[str, Array]:
    """Random weights for ``shape``: name → [copies, *shape], the same for one seed.

    A matrix has variance 1/inputs, so that rows keep their size; a gain is near 1 and
    a bias near 0, so that leaving one out would show.
    """
    whole(first=0, seed=seed)
    rng = np.random.default_rng(seed)
    return {each.name: _drawn(each, rng) for each in shape.tensors() if each.copies}


def _drawn(tensor: Tensor, rng: np.random.Generator) -> Array:
    noise: Array = rng.standard_normal((tensor.copies, *tensor.shape))
    if tensor.name == "embed_tokens":
        return noise
    if len(tensor.shape) == 2:
        noise /= np.sqrt(tensor.shape[0])
        return noise
    return 0.1 * noise + (0.0 if tensor.name.endswith(".bias") else 1.0)


@dataclass(frozen=True, eq=False)
class Weights:
    """Every weight of ``shape``, checked: ``layer(i)`` is what block i is made of.

    Raises:
        ValueError: a tensor of the shape is missing, one is too many, or one has
            another shape than [copies, *shape].
    """

    shape: ModelShape
    arrays: Mapping[str, Array]

    def __post_init__(self) -> None:
        wanted = {
            each.name: (each.copies, *each.shape)
            for each in self.shape.tensors()
            if each.copies
        }
        if set(wanted) != set(self.arrays):
            odd = ", ".join(sorted(set(wanted) ^ set(self.arrays)))
            raise ValueError(
                f"arrays must be those of {self.shape.name}, not so: {odd}"
            )
        for name, array in self.arrays.items():
            if array.shape != wanted[name]:
                raise ValueError(
                    f"{name} must have shape {wanted[name]}, got {array.shape}"
                )
        object.__setattr__(self, "arrays", MappingProxyType(dict(self.arrays)))

    @property
    def num_params(self) -> int:
        """Numbers stored."""
        return sum(array.size for array in self.arrays.values())

    @property
    def embedding(self) -> Array:
        """[V, d]: a row for every token of the vocabulary."""
        return np.asarray(self.arrays["embed_tokens"][0])

    @property
    def lm_head(self) -> Array:
        """[d, V]: the embedding's transpose if the two are tied."""
        return self.embedding.T if self.shape.tied else self.arrays["lm_head"][0]

    @property
    def final_norm(self) -> tuple[Array, Array | None]:
        """Gain [d], and bias [d] or None, of the norm before the LM head."""
        bias = self.arrays.get("norm.bias")
        return self.arrays["norm"][0], None if bias is None else bias[0]

    def layer(self, index: int) -> dict[str, Array]:
        """Weights of block ``index``: name → its shape, experts with [E] in front.

        A dense layer of a mixture-of-experts model has gate, up and down_proj, like
        any SwiGLU layer.

        Raises:
            IndexError: there is no such layer.
        """
        if not 0 <= index < self.shape.n_layers:
            raise IndexError(
                f"index must be a layer, 0 to {self.shape.n_layers - 1}, got {index}"
            )
        return dict(self._layer(index))

    def _layer(self, index: int) -> Iterator[tuple[str, Array]]:
        spec = self.shape.ffn
        n_dense = spec.n_dense_layers if isinstance(spec, MoeFfn) else 0
        for name, array in self.arrays.items():
            if name.startswith("dense."):
                if index < n_dense:
                    yield name.removeprefix("dense."), array[index]
            elif name.startswith(("experts.", "shared_experts.", "router")):
                if index >= n_dense:
                    yield name, _of_layer(array, name, index - n_dense, self.shape)
            elif name not in OUTSIDE:
                yield name, array[index]


def _of_layer(array: Array, name: str, moe_layer: int, shape: ModelShape) -> Array:
    """Cut [layers · copies, …] into layers; a router has no axis for its one copy."""
    n_moe = shape.n_layers - getattr(shape.ffn, "n_dense_layers", 0)
    copies: Array = array.reshape(n_moe, -1, *array.shape[1:])[moe_layer]
    return np.asarray(copies[0]) if name.startswith("router") else copies
