"""What it costs to be general: a varlen prefill against plain NumPy on the same arrays.

Thirty-two layers, 512 wide, a thousand tokens. The plain lines below know that all
requests are equally long, so one product serves them all; the model finds them by their
boundaries. Products, exponentials and hyperbolic tangents are as many, on arrays of the
same sizes.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks import Line
from llmserve_lab.catalog import model
from llmserve_lab.transformer import Transformer, cumulative
from llmserve_lab.transformer.arithmetic import Array, Integers

N_LAYERS = 32
LENGTHS = (100,) * 10  # of the requests
PAIRS = 3
LIMIT = 1.3
Layer = dict[str, Array]


def normed(x: Array, gain: Array, bias: Array) -> Array:
    """Mean 0 and variance 1, gain and bias."""
    x = x - x.mean(axis=-1, keepdims=True)
    size: Array = np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)
    return x / size * gain + bias


def rotated(x: Array, turn: Array) -> Array:
    """Each pair of features [B, h, s, 2·p], turned by cos and sin [2, s, p]."""
    (cos, sin), half = turn, x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    turned = (first * cos - second * sin, second * cos + first * sin)
    return np.concatenate(turned, axis=-1)


def attention(x: Array, w: Layer, n_heads: int, turn: Array, future: Array) -> Array:
    """What attention adds to rows [B, s, d]."""
    y = normed(x, w["input_layernorm"], w["input_layernorm.bias"])
    q, k, v = (
        (y @ w[f"{part}_proj"]).reshape(*x.shape[:2], n_heads, -1).transpose(0, 2, 1, 3)
        for part in "qkv"
    )
    q, k = rotated(q, turn), rotated(k, turn)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + future
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
    return np.asarray(mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ w["o_proj"])


def feed_forward(x: Array, w: Layer) -> Array:
    """What the FFN adds to rows [B, s, d]."""
    name = "post_attention_layernorm"
    y = normed(x, w[name], w[f"{name}.bias"]) @ w["up_proj"]
    y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y * y * y)))
    return np.asarray(y @ w["down_proj"])


def plain(of: Transformer, tokens: Integers) -> Array:
    """Logits [B, s, V] of token ids [B, s], written down as one would by hand."""
    weights, heads, length = of.weights, of.shape.attention, tokens.shape[1]
    rates = 10_000 ** (-np.arange(0, heads.d_head, 2) / heads.d_head)
    angles = np.outer(np.arange(length), rates)
    turn = np.stack([np.cos(angles), np.sin(angles)])
    future = np.triu(np.full((length, length), -np.inf), 1)
    x = weights.embedding[tokens]
    for layer in range(of.shape.n_layers):
        w = weights.layer(layer)
        x = x + attention(x, w, heads.n_heads, turn, future)
        x = x + feed_forward(x, w)
    gain, bias = weights.final_norm
    assert bias is not None
    return np.asarray(normed(x, gain, bias) @ weights.lm_head)


def timed(work: Callable[[], Array]) -> tuple[float, Array]:
    """Seconds that one run of ``work`` takes, and its result."""
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def ratio(of: Transformer, seed: int) -> float:
    """Time of varlen by that of the plain lines, in one pair of runs.

    Raises:
        ArithmeticError: the two do not give the same logits.
    """
    tokens = np.random.default_rng(seed).integers(of.shape.vocab, size=sum(LENGTHS))
    bounds, grid = cumulative(LENGTHS), tokens.reshape(len(LENGTHS), -1)
    ours_s, ours = timed(lambda: of.forward_packed(tokens, bounds))
    plain_s, theirs = timed(lambda: plain(of, grid))
    if np.abs(ours - theirs.reshape(ours.shape)).max() > 1e-10:
        raise ArithmeticError("the two ways must give the same logits")
    return ours_s / plain_s


def main() -> Iterator[Line]:
    """Yield the median over pairs of runs."""
    of = Transformer(replace(model("tiny-512"), n_layers=N_LAYERS))
    found = median(ratio(of, seed) for seed in range(PAIRS))
    yield Line("prefill of 1,000 tokens, varlen / plain NumPy", found, LIMIT)
