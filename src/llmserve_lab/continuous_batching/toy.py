"""What the chapter executes: a small transformer, and prompts for it."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Integers


@cache
def model() -> Transformer:
    """Two layers, 32 wide, random weights."""
    return Transformer(tiny_shape())


def prompt(num_tokens: int, *, seed: int = 0) -> Integers:
    """Random token ids [num_tokens]."""
    return np.random.default_rng(seed).integers(0, model().shape.vocab, num_tokens)
