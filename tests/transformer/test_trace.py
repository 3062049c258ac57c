"""The trace is article 01's drawing, with every shape as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.page.table import Table
from llmserve_lab.transformer import ORDERED, Tracer, Transformer, trace
from tests.transformer.shapes import articles_model, models, prompt, seeds

ARTICLE = {
    "input": "4 × 512",
    "input_layernorm": "4 × 512",
    "q_proj": "4 × 512",
    "k_proj": "4 × 512",
    "v_proj": "4 × 512",
    "query": "4 × 8 × 64",
    "key": "4 × 8 × 64",
    "value": "4 × 8 × 64",
    "mask": "4 × 4",
    "scores": "8 × 4 × 4",
    "masked scores": "8 × 4 × 4",
    "attention weights": "8 × 4 × 4",
    "attention output": "4 × 8 × 64",
    "concatenated heads": "4 × 512",
    "o_proj": "4 × 512",
    "+ residual": "4 × 512",
    "post_attention_layernorm": "4 × 512",
    "up_proj": "4 × 2048",
    "GeLU": "4 × 2048",
    "down_proj": "4 × 512",
    "+ residual, output": "4 × 512",
}


def test_one_block_has_the_steps_and_shapes_of_the_article() -> None:
    steps = trace(articles_model(), [1, 2, 3, 4]).at("block 1")
    assert {s.name: " × ".join(map(str, s.shape)) for s in steps.steps} == ARTICLE
    assert [step.name for step in steps.steps] == list(ARTICLE)


@given(model=models(), n=st.integers(1, 6), seed=seeds)
def test_a_letter_means_one_size_wherever_it_stands(
    model: Transformer, n: int, seed: int
) -> None:
    sizes: dict[tuple[str, str], int] = {}
    for step in trace(model, prompt(model, n, seed)).steps:
        assert len(step.axes) == len(step.shape), step
        for letter, size in zip(step.axes, step.shape, strict=True):
            assert sizes.setdefault((step.place, letter), size) == size, step
    assert sizes["model", "n"] == n and sizes["model", "V"] == model.shape.vocab


def test_looking_on_changes_nothing_and_prints_as_a_table() -> None:
    model, tokens = articles_model(), np.arange(3)
    tracer = Tracer()
    logits = model.forward(tokens, run=tracer.on())
    assert np.array_equal(logits, model.forward(tokens))
    found = tracer.trace("three tokens")
    assert found.steps == trace(model, tokens).steps
    assert isinstance(found.table, Table)
    assert "[8 × 3 × 3]" in repr(found) and "<table" in found._repr_html_()
    assert "place" not in repr(found.at("block 1"))
    with pytest.raises(LookupError, match="place must be one of model, block 1"):
        found.at("block 9")
    scores = next(step for step in found.steps if step.name == "scores")
    assert scores.num_bytes == np.zeros((8, 3, 3)).nbytes


def test_requests_of_a_varlen_forward_are_told_apart() -> None:
    model, tracer = articles_model(), Tracer()
    model.hidden([1, 2, 3], [0, 1, 3], run=tracer.on(ORDERED))
    found = tracer.trace("two requests").at("block 1 / request 1")
    assert {step.shape for step in found.steps} == {(2, 2), (8, 2, 2)}
