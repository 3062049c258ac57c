"""The article draws a block with a shape at every arrow; here a run prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.end_to_end.arguments import cached_heads
from llmserve_lab.transformer import (
    PLAIN,
    ShapeTrace,
    Transformer,
    next_token,
    trace,
)
from llmserve_lab.transformer.arithmetic import Array, Mask
from llmserve_lab.transformer.rowwise import softmax


def around_the_blocks(model: Transformer, tokens: Sequence[int]) -> ShapeTrace:
    """The trace of the whole model, its blocks closed: their ends and what is outside.

    Raises:
        ValueError: there is no token.
    """
    whole = trace(model, tokens)
    ends = ("input", "+ residual, output")
    steps = [s for s in whole.steps if s.place == "model" or s.name in ends]
    return ShapeTrace(f"{len(tokens)} tokens through the model", tuple(steps))


def inside_a_block(model: Transformer, tokens: Sequence[int]) -> ShapeTrace:
    """The trace of the first block, every operation."""
    block = trace(model, tokens).at("block 1")
    return replace(block, title=f"{len(tokens)} tokens through a block")


def step_shape(
    model: Transformer, tokens: Sequence[int], *, place: str, step: str
) -> tuple[int, ...]:
    """The shape of one intermediate of a run.

    Raises:
        LookupError: the run has no such step.
    """
    steps = trace(model, tokens).at(place).steps
    found = [each.shape for each in steps if each.name == step]
    if len(found) != 1:
        names = ", ".join(each.name for each in steps)
        raise UnknownKeyError(f"step must be one of {names}, got {step!r}")
    return found[0]


def all_blocks_alike(model: Transformer, tokens: Sequence[int]) -> bool:
    """Whether every block of a run makes the same shapes in the same order."""
    whole = trace(model, tokens)
    blocks = [
        [(s.name, s.shape) for s in whole.at(f"block {layer + 1}").steps]
        for layer in range(model.shape.n_layers)
    ]
    return all(block == blocks[0] for block in blocks)


def seen_mask(model: Transformer, tokens: Sequence[int]) -> Mask:
    """The mask [n, n] under which a run really executed its attention."""
    seen: list[Mask] = []
    model.forward(tokens, run=replace(PLAIN, see=seen.append))
    return seen[0]


def next_distribution(model: Transformer, tokens: Sequence[int]) -> tuple[int, Array]:
    """The likeliest next token, and the probabilities [V] of all of them."""
    last = model.forward(tokens)[-1]
    return next_token(last), softmax(last)


def heads_are_independent(model: Transformer, tokens: Sequence[int]) -> bool:
    """Whether another query in one head leaves the output of all others as it was.

    The queries of head 0 are turned around in the first block; the block's attention
    outputs [n, h, d_h] are compared head by head.

    Raises:
        ValueError: there is one token, whose only key gets all the weight whatever the
            query, or the model has latent attention.
    """
    shape, outputs = cached_heads(model.shape), list[Array]()
    if len(tokens) < 2:
        raise ValueError(
            f"tokens must be at least 2, or no query has a choice, got {len(tokens)}"
        )
    for sign in (1.0, -1.0):
        turned = {name: array.copy() for name, array in model.weights.arrays.items()}
        turned["q_proj"][0, :, : shape.d_head] *= sign
        other = Transformer(model.shape, weights=replace(model.weights, arrays=turned))
        other.forward(tokens, run=replace(PLAIN, note=_keep(outputs)))
    one, two = outputs
    changed = [not np.array_equal(one[:, j], two[:, j]) for j in range(shape.n_heads)]
    return changed == [True] + [False] * (shape.n_heads - 1)


def _keep(outputs: list[Array]) -> Callable[[str, str, Array], None]:
    def note(name: str, axes: str, array: Array) -> None:
        if name == "block 1 / attention output":
            outputs.append(array)

    return note
