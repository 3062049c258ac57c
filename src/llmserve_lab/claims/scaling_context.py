"""The scaling chapter on context parallelism: a ring is run, and what goes round."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from llmserve_lab.catalog import MODELS
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.record import Claim
from llmserve_lab.claims.scaling import cache_shape, kv_bytes
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import shape_of_share

LLAMA = MODELS["llama-3.1-8b"]
MILLION, DEVICES = 1_000_000, 4
ROWS, WIDTH = 12, 8  # of the small ring
CLOSE = 1e-12
Partial = tuple[Array, Array, Array]  # largest score, sum of weights, weighted values

in_context = partial(Claim, section="context parallelism")


def request_bytes() -> float:
    """Cache of one request of a million tokens in the chapter's model."""
    return kv_bytes(batch=1, context=MILLION, **cache_shape())


def nothing_yet(rows: int) -> Partial:
    """The partial result before the first block of keys."""
    return np.full((rows, 1), -np.inf), np.zeros((rows, 1)), np.zeros((rows, WIDTH))


def one_block(queries: Array, keys: Array, values: Array, so_far: Partial) -> Partial:
    """Add one block of keys to a partial result (online softmax)."""
    top, total, mixed = so_far
    scores = queries @ keys.T
    new_top = np.maximum(top, scores.max(axis=1, keepdims=True))
    weights, shrink = np.exp(scores - new_top), np.exp(top - new_top)
    total = total * shrink + weights.sum(axis=1, keepdims=True)
    return new_top, total, mixed * shrink + weights @ values


@cache
def tensors() -> tuple[list[Array], list[Array], list[Array]]:
    """Queries, keys and values of a small request, a block on each device."""
    rng = np.random.default_rng(3)
    queries, keys, values = (
        np.split(rng.standard_normal((ROWS, WIDTH)), DEVICES) for _ in range(3)
    )
    return queries, keys, values


def ring(moving: str) -> tuple[Array, set[str]]:
    """Attention on a ring: outputs, and what was handed to a neighbour.

    ``moving`` is what goes round: "keys and values", or "queries", which take the
    partial results of their rows with them.
    """
    queries, keys, values = tensors()
    done = [nothing_yet(len(block)) for block in queries]
    for step in range(DEVICES):
        for device in range(DEVICES):
            here, there = device, (device + step) % DEVICES
            if moving == "queries":
                here, there = there, here
            done[here] = one_block(
                queries[here], keys[there], values[there], done[here]
            )
    sent = {moving, "partial results"} if moving == "queries" else {moving}
    return np.concatenate([mixed / total for _, total, mixed in done]), sent


def is_right(moving: str) -> bool:
    """Whether a ring gives what one device gives that holds all of it."""
    queries, keys, values = map(np.concatenate, tensors())
    _, total, mixed = one_block(queries, keys, values, nothing_yet(ROWS))
    return bool(np.abs(ring(moving)[0] - mixed / total).max() < CLOSE)


def sends_results(moving: str) -> bool:
    """Whether partial results go round on a ring that computes the right thing."""
    return is_right(moving) and "partial results" in ring(moving)[1]


def layers_of_a_rank() -> tuple[int, int]:
    """Layers on one of two ranks of tensor parallelism, and in the whole model."""
    return shape_of_share(LLAMA, 2).n_layers, LLAMA.n_layers


def width_of_a_rank() -> tuple[int, int]:
    """Width of the FFN of a layer there, and in the whole model."""
    return shape_of_share(LLAMA, 2).ffn.d_ff, LLAMA.ffn.d_ff


CLAIMS = (
    in_context(
        id="003-07",
        says="Cache of one request of a million tokens, and on each of four devices",
        parts=(
            Number("305.2 GiB", "byte", request_bytes, "whole"),
            Number("76.3 GiB", "byte", lambda: request_bytes() / DEVICES, "each"),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed, GiB kept apart from GB.",
    ),
    in_context(
        id="003-20",
        says="Tensor parallelism splits layers",
        parts=(
            Statement(
                "splitting layers",
                lambda: layers_of_a_rank()[0] < layers_of_a_rank()[1],
                lambda: (
                    "a rank has {} of {} layers".format(*layers_of_a_rank())
                    + ", {} of {} columns of the FFN".format(*width_of_a_rank())
                ),
                cases={
                    "each layer is split": lambda: (
                        2 * width_of_a_rank()[0] == width_of_a_rank()[1]
                    )
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It cuts the matrices inside each layer, as the chapter says further on; "
        "to deal out whole layers is pipeline parallelism.",
    ),
    in_context(
        id="003-21",
        says="Ring attention hands partial attention results to the neighbour",
        parts=(
            Statement(
                "passing partial attention results",
                lambda: sends_results("keys and values"),
                lambda: f"{', '.join(ring('keys and values')[1])} go round",
                cases={"queries go round": lambda: sends_results("queries")},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="In the paper that it cites keys and values go round, and partial results "
        "stay with their rows; they travel in the variant that sends queries round. "
        "Both rings were run and give what one device gives.",
    ),
)
