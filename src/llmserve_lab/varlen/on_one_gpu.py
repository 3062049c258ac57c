"""Prompts in one piece, timed on one H100: whole passes, and attention alone.

A prompt in one piece is one sequence of so many rows, which is what a masking kernel
computes of a packed batch. See :mod:`llmserve_lab.catalog.evidence.one_h100`.
"""

from __future__ import annotations

from llmserve_lab.catalog.evidence.one_h100 import mean_seconds, prefill_attention
from llmserve_lab.checks import key_of
from llmserve_lab.running_example import model


def pass_s(tokens: int) -> float:
    """Seconds of the pass that reads such a prompt, the mean of its runs.

    Raises:
        ValueError: no prompt of this length was timed.
    """
    found = {
        size.chunk: seconds
        for size, seconds in mean_seconds().items()
        if not size.decodes and not size.prefix
    }
    key_of("tokens", tokens, found)
    return found[tokens]


def attention_s(tokens: int) -> float:
    """Seconds of causal attention in all layers, by cuDNN.

    Raises:
        ValueError: attention over so many tokens was not timed.
    """
    found = {
        each.tokens: float(each.seconds)
        for each in prefill_attention()
        if each.code == "cuDNN"
    }
    key_of("tokens", tokens, found)
    return model().n_layers * found[tokens]


def pair_s(tokens: int) -> float:
    """Seconds of a pair that counts, all layers and heads together."""
    return attention_s(tokens) / (tokens * (tokens + 1) / 2)


def attention_share(tokens: int) -> float:
    """Attention's share of the time of the pass."""
    return attention_s(tokens) / pass_s(tokens)


def row_s(tokens: int) -> float:
    """Seconds of a row in the rest of the pass."""
    return (pass_s(tokens) - attention_s(tokens)) / tokens
