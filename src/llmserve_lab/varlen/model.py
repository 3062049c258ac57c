"""The article's model, and tokens for requests of any lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llmserve_lab.catalog import MODELS
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.arithmetic import Integers


def article_model() -> Transformer:
    """Eight layers, 512 wide, eight heads, seeded weights."""
    return Transformer(MODELS["tiny-512"])


def tokens_for(lengths: Sequence[int], *, seed: int = 0) -> Integers:
    """Random token ids [n] for requests of ``lengths``, end to end."""
    vocab = MODELS["tiny-512"].vocab
    return np.random.default_rng(seed).integers(0, vocab, sum(lengths))
