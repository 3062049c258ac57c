"""Random lists of lengths, and a model small enough to run each of them three ways."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Integers
from llmserve_lab.varlen.strategies import WAYS, Outcome


def shape(n_layers: int = 2) -> ModelShape:
    """Four query heads on two key–value heads of width 4, a GeLU FFN, LayerNorms."""
    ffn = GeluFfn(d_ff=32)
    return tiny_shape(
        n_layers=n_layers, d_model=16, vocab=17, d_head=4, ffn=ffn, norm="layer"
    )


@cache
def model() -> Transformer:
    """The model, made once."""
    return Transformer(shape())


def drawn(rng: random.Random, *, at_most: int = 5) -> list[int]:
    """Lengths of one to so many requests, one to nine tokens each."""
    return [rng.randint(1, 9) for _ in range(rng.randint(1, at_most))]


def prompts(lengths: list[int], seed: int = 0) -> Integers:
    """Token ids [n] of requests of these lengths, end to end."""
    return np.random.default_rng(seed).integers(0, 17, sum(lengths))


def carried_out(way: str, lengths: list[int]) -> Outcome:
    """Run one way on random tokens."""
    return WAYS[way](model(), prompts(lengths), lengths)


def moments(lengths: list[int]) -> dict[str, float]:
    """What the closed forms ask about a list of lengths."""
    return {
        "batch": len(lengths),
        "mean_prompt": float(np.mean(lengths)),
        "mean_square_prompt": float(np.mean(np.square(lengths))),
        "longest_prompt": max(lengths),
    }
