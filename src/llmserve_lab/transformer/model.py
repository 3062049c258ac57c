"""The whole model: a row for every token, through all blocks, to a score for each word.

Its configuration is a shape of the catalog. Every way to run it, one request or many,
a whole prompt or a chunk or one token, calls the same blocks on a stack of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from llmserve_lab.catalog import ModelShape
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution
from llmserve_lab.transformer.attention_context import AttentionContext
from llmserve_lab.transformer.block import Block
from llmserve_lab.transformer.cache import KVCache
from llmserve_lab.transformer.cache_session import CacheSession
from llmserve_lab.transformer.ffn import Scores
from llmserve_lab.transformer.inputs import rotary_positions, token_ids
from llmserve_lab.transformer.packing import AttentionKernel, varlen_attention
from llmserve_lab.transformer.rowwise import linear, norm
from llmserve_lab.transformer.weights import Weights, seeded


class Transformer:
    """A decoder-only transformer of ``shape`` in float64.

    Args:
        shape: the configuration, all of it.
        seed: of the random weights, where ``weights`` are not given.
        weights: those to use instead.
        absorbed: run MLA on the latents themselves; same output, other arithmetic.
        router_scores: how a mixture of experts turns router outputs into weights.

    Raises:
        ValueError: ``weights`` are those of another shape, or the router's scores are
            of no known kind.
    """

    def __init__(
        self,
        shape: ModelShape,
        *,
        seed: int = 0,
        weights: Weights | None = None,
        absorbed: bool = False,
        router_scores: Scores = "softmax",
    ) -> None:
        if weights is None:
            weights = Weights(shape, seeded(shape, seed))
        if weights.shape != shape:
            raise ValueError(
                f"weights must be those of {shape.name}, got {weights.shape.name}"
            )
        self.shape = shape
        self.weights = weights
        self.block = Block(shape=shape, absorbed=absorbed, router_scores=router_scores)

    def new_cache(self, capacity_tokens: int) -> KVCache:
        """An empty cache with room for one request of so many tokens."""
        return KVCache(self.shape, capacity_tokens=capacity_tokens)

    def forward(
        self,
        tokens: npt.ArrayLike,
        cache: KVCache | None = None,
        *,
        positions: npt.ArrayLike | None = None,
        run: Execution = PLAIN,
    ) -> Array:
        """Token ids [n] of one request → logits [n, V].

        With a cache, they continue what it holds, and it holds them afterwards.
        ``positions`` [n] are those of the rotary angles, from the context on unless
        given; the mask goes by order alone.

        Raises:
            TypeError: tokens are no whole numbers.
            ValueError: there is no token, one is outside the vocabulary, or the
                context would not fit the cache, which then stays as it was.
        """
        bounds = (0, np.size(tokens))
        caches = None if cache is None else [cache]
        return self.forward_packed(tokens, bounds, caches, positions=positions, run=run)

    def forward_packed(
        self,
        tokens: npt.ArrayLike,
        cu_seqlens: Sequence[int],
        caches: Sequence[KVCache] | None = None,
        *,
        positions: npt.ArrayLike | None = None,
        kernel: AttentionKernel = varlen_attention,
        run: Execution = PLAIN,
    ) -> Array:
        """Token ids [n] of several requests, one after the other → logits [n, V].

        Rows cu_seqlens[i] up to cu_seqlens[i + 1] are request i, which continues
        caches[i]: nothing (prefill), a prefix (a chunk of one) or all but the new
        token (decode), in any mix. ``kernel`` carries attention out.

        Raises:
            TypeError, ValueError: as :meth:`forward`, or if cu_seqlens do not increase
                from 0 to the number of tokens, or caches are not one per request.
        """
        hidden = self.hidden(
            tokens, cu_seqlens, caches, positions=positions, kernel=kernel, run=run
        )
        return self.logits(hidden, run=run)

    def hidden(
        self,
        tokens: npt.ArrayLike,
        cu_seqlens: Sequence[int],
        caches: Sequence[KVCache] | None = None,
        *,
        positions: npt.ArrayLike | None = None,
        kernel: AttentionKernel = varlen_attention,
        run: Execution = PLAIN,
    ) -> Array:
        """Rows [n, d] after the last block; arguments as of :meth:`forward_packed`."""
        ids = token_ids(tokens, vocab=self.shape.vocab)
        past = CacheSession(self.shape, cu_seqlens, caches)
        turned = rotary_positions(positions, past.packing, n_rows=len(ids))
        run.note("token ids", "n", ids)
        rows = self.weights.embedding[ids]
        run.note("embedding", "n d", rows)
        for layer in range(self.shape.n_layers):
            recall = past.of_layer(layer)
            view = AttentionContext(past.packing, turned, kernel=kernel, recall=recall)
            inside = run.inside(f"block {layer + 1}")
            rows = self.block(rows, self.weights.layer(layer), view, run=inside)
        past.write()
        return rows

    def logits(self, rows: Array, *, run: Execution = PLAIN) -> Array:
        """Rows [n, d] after the last block → logits [n, V]: final norm, LM head."""
        normed = norm(rows, *self.weights.final_norm, run=run)
        run.note("final norm", "n d", normed)
        scores = linear(normed, self.weights.lm_head, run=run)
        run.note("logits", "n V", scores)
        return scores
