"""The book's transformer with fewer bits: weights, activations or cache rounded.

Its weights are random, so that they have no outliers and its errors are those of the
formats alone; :func:`with_outlier_channels` plants some without changing its answers.
The tokens of a text are not equally frequent (Zipf's law), so that the inputs of a
layer are correlated, and calibration has something to learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, key_of, whole
from llmserve_lab.quantization.codecs import Array
from llmserve_lab.quantization.gptq import gptq, rtn
from llmserve_lab.quantization.schemes import Scheme, quantize, relative_error
from llmserve_lab.transformer import PLAIN, KVCache, Transformer, Weights, tiny_shape
from llmserve_lab.transformer.attention_context import Entries

WIDTH, VOCAB, SEED = 128, 96, 16
Rounding = Callable[[Array, Array], Array]


@cache
def model() -> Transformer:
    """A Llama in miniature whose rows are as wide as a group of INT4."""
    shape = tiny_shape(
        n_layers=2, d_model=WIDTH, vocab=VOCAB, n_heads=4, n_kv_heads=2, d_head=32
    )
    return Transformer(shape, seed=SEED)


def text(num_tokens: int, *, seed: int) -> np.ndarray:
    """Token ids [n] of a text: the token of rank r is drawn with a chance like 1/r."""
    whole(of="token", most=MOST_PLAYED, num_tokens=num_tokens)
    chance = 1.0 / np.arange(1, VOCAB + 1)
    drawn = np.random.default_rng(seed)
    return drawn.choice(VOCAB, size=num_tokens, p=chance / chance.sum())


def matrices(of: Transformer) -> tuple[str, ...]:
    """Names of the linear layers inside the blocks, in the order in which they run."""
    arrays = of.weights.arrays
    inside = [name for name in arrays if arrays[name].ndim == 3]
    return tuple(n for n in inside if n not in ("embed_tokens", "lm_head"))


def layer_inputs(of: Transformer, tokens: np.ndarray) -> dict[tuple[str, int], Array]:
    """What each linear layer of each block gets to see, [n, in], by name and block."""
    found: dict[tuple[str, int], Array] = {}
    arrays = of.weights.arrays

    def record(rows: Array, weight: Array) -> Array:
        for name in matrices(of):
            for block in range(of.shape.n_layers):
                if np.shares_memory(weight, arrays[name][block]):
                    found[name, block] = rows
        return np.asarray(rows @ weight)

    of.forward(tokens, run=replace(PLAIN, linear=record))
    return found


def with_matrix(of: Transformer, name: str, block: int, weight: Array) -> Transformer:
    """The same model with one matrix [in, out] replaced.

    Raises:
        ValueError: the model has no such block, or no such matrix.
    """
    arrays = dict(of.weights.arrays)
    whole(first=0, block=block)
    if block >= of.shape.n_layers:
        raise ValueError(f"block must be below {of.shape.n_layers}, got {block}")
    key_of("name", name, arrays)
    arrays[name] = arrays[name].copy()
    arrays[name][block] = weight
    return Transformer(of.shape, weights=Weights(of.shape, arrays))


def rounded_to_nearest(of: Transformer, scheme: Scheme) -> Transformer:
    """Every linear layer inside the blocks rounded; embedding and LM head are kept."""
    for name in matrices(of):
        for block in range(of.shape.n_layers):
            weight = of.weights.arrays[name][block]
            of = with_matrix(of, name, block, rtn(weight.T, scheme).T)
    return of


def rounded_by_gptq(
    of: Transformer,
    scheme: Scheme,
    calibration: np.ndarray,
    *,
    seen: Mapping[tuple[str, int], Array] | None = None,
) -> Transformer:
    """The same by GPTQ, block by block, each on what the rounded blocks before it give.

    ``calibration`` are the token ids [n] of one text; ``seen`` is what the layers of
    the model itself get to see of it, where that is known.
    """
    for block in range(of.shape.n_layers):
        if block or seen is None:
            seen = layer_inputs(of, calibration)
        for name in matrices(of):
            weight = of.weights.arrays[name][block]
            better = gptq(weight.T, seen[name, block], scheme).T
            of = with_matrix(of, name, block, better)
    return of


def logit_error(
    true: Transformer | Array, other: Transformer, tokens: np.ndarray
) -> float:
    """Relative error of the logits on a text; of the true model, or its logits."""
    right = true if isinstance(true, np.ndarray) else true.forward(tokens)
    return relative_error(right, other.forward(tokens))


# The inputs of these layers leave a norm, whose factors can be made larger.
AFTER_NORM = {
    "input_layernorm": ("q_proj", "k_proj", "v_proj"),
    "post_attention_layernorm": ("gate_proj", "up_proj"),
}


def with_outlier_channels(
    of: Transformer, *, num: int, times: float
) -> tuple[Transformer, np.ndarray]:
    """The same function with ``num`` activation channels ``times`` as large.

    A norm multiplies them, the weights that read them are divided: SmoothQuant, run
    backwards. Returned are the model and the channels.

    Raises:
        ValueError: the model has not so many channels.
    """
    whole(of="channel", num=num)
    if num > of.shape.d_model:
        raise ValueError(f"num must be at most {of.shape.d_model}, got {num}")
    arrays = {name: array.copy() for name, array in of.weights.arrays.items()}
    width = of.shape.d_model
    loud = np.random.default_rng(SEED).choice(width, size=num, replace=False)
    for norm, readers in AFTER_NORM.items():
        arrays[norm][:, loud] *= times
        for name in readers:
            arrays[name][:, loud, :] /= times
    return Transformer(of.shape, weights=Weights(of.shape, arrays)), loud


def both_rounded_error(
    of: Transformer, scheme: Scheme, tokens: np.ndarray, *, right: Array | None = None
) -> float:
    """Relative error of the logits if weights and activations are rounded (W8A8).

    The ``right`` logits are computed where they are not given.
    Each token's activations have scales of their own, as engines find them while they
    run (*dynamic*); embedding, LM head and attention keep their precision.
    """
    arrays = of.weights.arrays
    inside = [arrays[n][b] for n in matrices(of) for b in range(of.shape.n_layers)]

    def narrow(rows: Array, weight: Array) -> Array:
        if not any(np.shares_memory(weight, each) for each in inside):
            return np.asarray(rows @ weight)
        return quantize(rows, scheme).dequantize() @ rtn(weight.T, scheme).T

    rounded = of.forward(tokens, run=replace(PLAIN, linear=narrow))
    return relative_error(of.forward(tokens) if right is None else right, rounded)


def layer_errors(
    true: Transformer, other: Transformer, tokens: np.ndarray
) -> Mapping[tuple[str, int], float]:
    """Relative error of each layer's outputs on the true model's inputs."""
    found = {}
    for (name, block), rows in layer_inputs(true, tokens).items():
        weight, rounded = (m.weights.arrays[name][block] for m in (true, other))
        found[name, block] = relative_error(rows @ weight, rows @ rounded)
    return found


@dataclass(frozen=True)
class CacheRounding:
    """How entries are rounded on their way into the cache; one scale a head and token.

    With ``fixed_scale`` the scale is 1, as engines do that were given no calibration.
    """

    scheme: Scheme
    fixed_scale: bool = False

    def __call__(self, entries: Array) -> Array:
        """Entries [tokens, heads, d_h] as they are read back."""
        if self.fixed_scale:
            return self.scheme.numbers.nearest(entries)
        return quantize(entries, self.scheme).dequantize()


class QuantizedCache(KVCache):
    """A KV cache whose entries are rounded when they are written."""

    def __init__(
        self, of: Transformer, rounding: CacheRounding, *, capacity_tokens: int
    ) -> None:
        super().__init__(of.shape, capacity_tokens=capacity_tokens)
        self.rounding = rounding

    def append(self, layers: Sequence[Entries], *, num_tokens: int) -> None:
        """Round the entries of new tokens, and add them."""
        stored = [
            {part: self.rounding(array) for part, array in entries.items()}
            for entries in layers
        ]
        super().append(stored, num_tokens=num_tokens)


def decoded(of: Transformer, tokens: np.ndarray, held: KVCache) -> Array:
    """Logits of the last half of a text, decoded one by one over this empty cache."""
    half = len(tokens) // 2
    of.forward(tokens[:half], held)
    return np.concatenate([of.forward([token], held) for token in tokens[half:]])


def cache_error(
    of: Transformer,
    rounding: CacheRounding,
    tokens: np.ndarray,
    *,
    right: Array | None = None,
) -> float:
    """Relative error of the logits of the last half of a text, decoded one by one.

    The ``right`` logits are computed where they are not given.
    """
    if right is None:
        right = decoded(of, tokens, of.new_cache(len(tokens)))
    rounded = QuantizedCache(of, rounding, capacity_tokens=len(tokens))
    return relative_error(right, decoded(of, tokens, rounded))
