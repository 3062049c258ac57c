"""KV eviction: the cache forgets tokens, by their place or by the attention they got.

*Sliding window with sinks* (StreamingLLM, Xiao et al. 2023) keeps the first few tokens
and the last ones. *Observed attention* (after SnapKV, Li et al. 2024) lets the last
queries of the prompt vote: kept are the keys to which they gave most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import MOST_PLAYED, whole, whole_number
from llmserve_lab.quantization.codecs import Array
from llmserve_lab.quantization.schemes import relative_error
from llmserve_lab.transformer import KVCache, Transformer
from llmserve_lab.transformer.rowwise import softmax

Places = npt.NDArray[np.int64]


def window(length: int, keep: int, *, sinks: int = 0) -> Places:
    """Places of the first ``sinks`` tokens and of the last ones, ``keep`` in all.

    Raises:
        ValueError: fewer are kept than there are sinks and one more, or a size is
            below its least.
    """
    whole(of="token", length=length, keep=keep)
    whole_number("sinks", sinks, of="token", first=0)
    if keep <= sinks:
        raise ValueError(f"keep must be more than sinks = {sinks} tokens, got {keep}")
    if keep >= length:
        return np.arange(length)
    return np.concatenate([np.arange(sinks), np.arange(length - keep + sinks, length)])


def observed(weights: Array, keep: int, *, recent: int) -> Places:
    """Places of the last ``recent`` tokens and of those they looked at most.

    ``weights`` [q, ℓ] are what the last q queries gave to each of ℓ keys, added up
    over heads. ``keep`` places in all.

    Raises:
        ValueError: fewer are kept than are recent, or a size is below its least.
    """
    length = weights.shape[-1]
    whole(of="token", keep=keep, recent=recent)
    if keep < recent:
        raise ValueError(f"keep must be at least recent = {recent} tokens, got {keep}")
    if keep >= length:
        return np.arange(length)
    votes = weights.sum(axis=0)[: length - recent]
    best = np.argsort(-votes, kind="stable")[: keep - recent]
    return np.sort(np.concatenate([best, np.arange(length - recent, length)]))


@dataclass(frozen=True, eq=False)
class Head:
    """One head at one moment: queries [q, d_h] of the end, keys and values [ℓ, d_h]."""

    queries: Array
    keys: Array
    values: Array
    facts: tuple[int, ...] = ()  # places that the question is about

    def weights(self) -> Array:
        """Attention weights [q, ℓ] of the queries; all keys are visible to them."""
        scores = self.queries @ self.keys.T / np.sqrt(self.keys.shape[1])
        return softmax(scores)

    def output(self, kept: Places | None = None) -> Array:
        """What the last query mixes, [d_h], from all tokens or from those kept."""
        at = np.arange(len(self.keys)) if kept is None else kept
        one = self.queries[-1:] @ self.keys[at].T / np.sqrt(self.keys.shape[1])
        return np.asarray((softmax(one) @ self.values[at])[0])

    def remaining(self, kept: Places) -> Array:
        """What is left of the output without the others, weights as they were."""
        return np.asarray(self.weights()[-1][kept] @ self.values[kept])

    def error(self, kept: Places) -> float:
        """Relative error of the output with these tokens alone."""
        return relative_error(self.output(), self.output(kept))


def synthetic_head(
    length: int = 256, *, seed: int = 3, num_facts: int = 6, observing: int = 8
) -> Head:
    """A made-up head of the kind that trained models have, with a sink and facts.

    All queries share one direction, along which the first key lies, whose value is
    small: it takes what weight is left over. The queries also agree with the most
    recent keys, and with a few far back: facts that the question is about.

    Raises:
        ValueError: so many facts have no place in the first half.
    """
    whole(of="key", most=MOST_PLAYED, length=length)
    whole(of="query", most=MOST_PLAYED, observing=observing)
    whole(first=0, of="fact", num_facts=num_facts)
    if num_facts > (most := max(0, length // 2 - 8)):
        raise ValueError(f"num_facts must be at most {most}, got {num_facts}")
    rng = np.random.default_rng(seed)
    width = 32
    ways = np.linalg.qr(rng.normal(size=(width, 3)))[0].T
    common, asked, near = ways
    queries = 6 * ways.sum(axis=0) + 0.3 * rng.normal(size=(observing, width))
    keys = 0.25 * rng.normal(size=(length, width))
    values = rng.normal(size=(length, width))
    facts = rng.choice(np.arange(8, length // 2), size=num_facts, replace=False)
    keys[facts] += 4.0 * asked
    keys[-length // 16 :] += 4.0 * near
    keys[0] = 7.3 * common
    values[0] *= 0.02
    return Head(queries, keys, values, tuple(sorted(facts.tolist())))


def kept_by(head: Head, keep: int, *, sinks: int = 4) -> dict[str, Places]:
    """Three choices of ``keep`` tokens of a head, by name."""
    length, recent = len(head.keys), len(head.queries)
    return {
        "window": window(length, keep),
        "window with sinks": window(length, keep, sinks=sinks),
        "observed attention": observed(head.weights(), keep, recent=recent),
    }


def evicted(of: Transformer, cache: KVCache, kept: Sequence[Places]) -> KVCache:
    """A smaller cache with the tokens ``kept`` of each layer, as many in each."""
    num_tokens = len(kept[0])
    smaller = of.new_cache(num_tokens + 1)
    layers = [
        {part: array[places] for part, array in cache.read(layer).items()}
        for layer, places in enumerate(kept)
    ]
    smaller.append(layers, num_tokens=num_tokens)
    return smaller


def logit_error(
    of: Transformer, tokens: npt.ArrayLike, kept: Sequence[Places]
) -> float:
    """Relative error of the next logits if the cache holds the tokens kept alone.

    The last of the ``tokens`` [n] is the query; its rotary position is the true one.
    """
    ids = np.asarray(tokens)
    full = of.new_cache(len(ids))
    of.forward(ids[:-1], full)
    smaller = evicted(of, full, kept)
    place = [len(ids) - 1]
    part = of.forward(ids[-1:], smaller, positions=place)
    return relative_error(of.forward(ids[-1:], full, positions=place), part)
