"""Pipeline stages: each rank holds some of the layers, and their part of the cache.

The first stage has the embedding, the last the LM head. What goes from stage to stage
is a stack of rows, [n, d], whatever requests they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import whole
from llmserve_lab.transformer import AttentionContext, KVCache, Transformer
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.cache_session import CacheSession
from llmserve_lab.transformer.inputs import rotary_positions, token_ids


def layers_of(stage: int, num_stages: int, n_layers: int) -> range:
    """Layers of one stage, in order; where they do not divide, the first have one more.

    Raises:
        ValueError: there is no stage, or there are more stages than layers.
    """
    whole(num_stages=num_stages)
    if num_stages > n_layers:
        raise ValueError(
            f"num_stages must be at most n_layers, {n_layers}, got {num_stages}: "
            f"a stage would have no layer"
        )
    each, more = divmod(n_layers, num_stages)
    first = stage * each + min(stage, more)
    return range(first, first + each + (stage < more))


class PipelineStage:
    """The part of a model that one of ``num_stages`` ranks holds.

    Raises:
        ValueError: there are more stages than layers.
    """

    def __init__(self, model: Transformer, index: int, num_stages: int) -> None:
        self.model = model
        self.is_first, self.is_last = index == 0, index == num_stages - 1
        self.layers = layers_of(index, num_stages, model.shape.n_layers)
        self.shape = _fewer_layers(model.shape, self.layers)
        self._weights = [model.weights.layer(layer) for layer in self.layers]

    @property
    def num_params(self) -> int:
        """Numbers stored: those of its layers, and the table or head at an end."""
        held = sum(array.size for layer in self._weights for array in layer.values())
        weights = self.model.weights
        held += weights.embedding.size if self.is_first else 0
        return held + (weights.lm_head.size if self.is_last else 0)

    def new_cache(self, capacity_tokens: int) -> KVCache:
        """An empty cache of one request, for the layers of this stage alone."""
        return KVCache(self.shape, capacity_tokens=capacity_tokens)

    def embed(self, tokens: Sequence[int]) -> Array:
        """Token ids [n] → rows [n, d], on the first stage."""
        ids = token_ids(tokens, vocab=self.model.shape.vocab)
        return self.model.weights.embedding[ids]

    def __call__(
        self, rows: Array, cu_seqlens: Sequence[int], caches: Sequence[KVCache]
    ) -> Array:
        """Rows [n, d] of packed requests through the layers; their caches grow."""
        past = CacheSession(self.shape, cu_seqlens, caches)
        turned = rotary_positions(None, past.packing, n_rows=len(rows))
        for place, weights in enumerate(self._weights):
            recall = past.of_layer(place)
            view = AttentionContext(past.packing, turned, recall=recall)
            rows = self.model.block(rows, weights, view)
        past.write()
        return rows


def _fewer_layers(shape: ModelShape, layers: range) -> ModelShape:
    """The shape of some of the layers, as far as a cache asks for it."""
    spec = shape.ffn
    if isinstance(spec, MoeFfn):
        n_dense = sum(layer < spec.n_dense_layers for layer in layers)
        spec = replace(spec, n_dense_layers=n_dense)
    name = f"layers {layers.start} to {layers.stop - 1} of {shape.name}"
    return replace(shape, name=name, n_layers=len(layers), ffn=spec)
