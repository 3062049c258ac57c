"""Expert parallelism by hand: eight experts on four GPUs, two tokens on each.

Small enough to follow each copy, and executed: four ranks route, dispatch, run their
experts and combine, and say what they sent.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.moe.parallel import Copies, ExecutedLayer, execute
from llmserve_lab.transformer.arithmetic import Array

GPUS, EXPERTS, TOP_K, TOKENS = 4, 8, 2, 2  # tokens of each GPU
SEED, PULL = 33, 0.15  # of the tokens; towards the experts of GPU 0
SPEC = MoeFfn(
    d_ff=4,
    n_experts=EXPERTS,
    n_shared=0,
    top_k=TOP_K,
    n_dense_layers=0,
    d_ff_dense=4,
    router_bias=False,
)


@cache
def layer(popular: bool = False) -> MoeLayer:
    """The layer; with ``popular`` experts its router prefers those of GPU 0."""
    found = layer_of(SPEC)
    hot = np.where(np.arange(EXPERTS) < EXPERTS // GPUS, PULL, 0.0)
    return found.pulled(hot) if popular else found


def tokens() -> list[Array]:
    """The tokens of each GPU, [2, d] each."""
    return np.split(batch(GPUS * TOKENS, seed=SEED), GPUS)


@cache
def executed(copies: Copies = "expert", popular: bool = False) -> ExecutedLayer:
    """The layer as four ranks ran it."""
    return execute(layer(popular), tokens(), copies=copies)


def name(gpu: int, token: int) -> str:
    """``B1``: the first token of the second GPU."""
    return f"{'ABCD'[gpu]}{token + 1}"


def home(expert: int) -> int:
    """The GPU that holds an expert."""
    return expert // (EXPERTS // GPUS)
