"""Ranks that each hold some heads, and requests end to end: neither knows of the other.

Boundaries are read inside the kernel, on the heads that a rank has. What ranks exchange
is a stack of rows, whatever request they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy.typing as npt

from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.transformer import PLAIN, Transformer, varlen_attention
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.packing import AttentionKernel
from llmserve_lab.transformer.shard import share


def forward_on_ranks(
    model: Transformer,
    tokens: npt.ArrayLike,
    cu_seqlens: Sequence[int],
    *,
    num_ranks: int,
    kernel: AttentionKernel = varlen_attention,
) -> ClusterRun[Array]:
    """Logits [n, V] on each of ``num_ranks`` ranks, and the ledger of their exchange.

    Raises:
        ClusterError: heads or features cannot be dealt out evenly, or the model
            refuses the input; its cause says why.
    """

    def program(rank: Rank) -> Array:
        added_up = replace(PLAIN, reduce=rank.all_reduce)
        return share(model, rank).forward_packed(
            tokens, cu_seqlens, kernel=kernel, run=added_up
        )

    return run(program, num_ranks)
