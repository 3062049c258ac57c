"""One block: attention mixes the rows, the FFN mixes the features, each adds a delta.

Rows come in as [n, d] and leave as [n, d], so blocks stack.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution
from llmserve_lab.transformer.attention_context import AttentionContext, Entries
from llmserve_lab.transformer.ffn import Scores, check_scores, ffn
from llmserve_lab.transformer.grouped_query import grouped_query
from llmserve_lab.transformer.latent import latent_attention
from llmserve_lab.transformer.rowwise import norm


@dataclass(frozen=True, kw_only=True)
class Block:
    """The wiring of a block of ``shape``, the same for every layer.

    ``absorbed`` is the form of MLA, ``router_scores`` that of a mixture of experts;
    other models have no use for them.

    Raises:
        ValueError: the router's scores are of no known kind.
    """

    shape: ModelShape
    absorbed: bool = False
    router_scores: Scores = "softmax"

    def __post_init__(self) -> None:
        check_scores(self.router_scores)

    def __call__(
        self,
        rows: Array,
        weights: Entries,
        view: AttentionContext,
        *,
        run: Execution = PLAIN,
    ) -> Array:
        """Rows [n, d] → [n, d], both halves with their residuals."""
        run.note("input", "n d", rows)
        rows = rows + self.attention_half(rows, weights, view, run=run)
        run.note("+ residual", "n d", rows)
        rows = rows + self.ffn_half(rows, weights, run=run)
        run.note("+ residual, output", "n d", rows)
        return rows

    def attention_half(
        self,
        rows: Array,
        weights: Entries,
        view: AttentionContext,
        *,
        run: Execution = PLAIN,
    ) -> Array:
        """What attention adds to rows [n, d]: norm, attend, ``run.reduce``."""
        normed = self._norm("input_layernorm", rows, weights, run)
        spec = self.shape.attention
        if isinstance(spec, LatentAttention):
            form = self.absorbed
            delta = latent_attention(
                normed, weights, spec, view, absorbed=form, run=run
            )
        else:
            delta = grouped_query(normed, weights, spec, view, run=run)
        run.note("o_proj", "n d", delta)
        return run.reduce(delta)

    def ffn_half(
        self, rows: Array, weights: Entries, *, run: Execution = PLAIN
    ) -> Array:
        """What the FFN adds to rows [n, d]: norm, FFN, ``run.reduce``."""
        normed = self._norm("post_attention_layernorm", rows, weights, run)
        scores, spec = self.router_scores, self.shape.ffn
        delta = ffn(normed, weights, spec, scores=scores, run=run)
        return run.reduce(delta)

    def _norm(self, name: str, rows: Array, weights: Entries, run: Execution) -> Array:
        normed = norm(rows, weights[name], weights.get(f"{name}.bias"), run=run)
        run.note(name, "n d", normed)
        return normed
