"""The pipeline gives what one rank gives, in the time that its log says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.parallelism.model import SMALL
from llmserve_lab.parallelism.pipeline import (
    Microbatch,
    StageOutput,
    chunked_plan,
    decode_plan,
    links,
    pipelined,
    prefill_plan,
)
from llmserve_lab.parallelism.stages import PipelineStage, layers_of
from llmserve_lab.parallelism.timeline import timeline
from llmserve_lab.transformer import Transformer, tiny_shape
from tests.depth import examples
from tests.parallelism.alone import SHAPES, answers, same, tokens

LENGTHS = st.lists(
    st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=4
)


@given(shape=SHAPES, stages=st.integers(1, 4), lengths=LENGTHS, many=st.integers(1, 3))
@settings(max_examples=examples(15))
def test_every_request_gets_the_logits_that_it_gets_alone(
    shape: ModelShape, stages: int, lengths: list[list[int]], many: int
) -> None:
    model = Transformer(shape)
    groups = [[tokens(shape, n, seed=n) for n in group] for group in lengths]
    plan = decode_plan(groups, many)
    logits = pipelined(model, plan, stages).results[-1].logits
    for group, prompts in enumerate(groups):
        own = [logits[i] for i, batch in enumerate(plan) if batch.group == group]
        alone = [answers(model, prompt, many) for prompt in prompts]
        for place, found in enumerate(own):
            wanted = np.concatenate([each[place] for each in alone])
            same(found, wanted)


@given(stages=st.integers(1, 4), n=st.integers(1, 12), chunk=st.integers(1, 5))
@settings(max_examples=examples(15))
def test_chunks_of_one_prompt_follow_each_other_through_the_stages(
    stages: int, n: int, chunk: int
) -> None:
    model, prompt = Transformer(tiny_shape(n_layers=4)), tokens(tiny_shape(), n, 0)
    plan = chunked_plan(prompt, chunk)
    done = pipelined(model, plan, stages)
    found = np.concatenate(done.results[-1].logits)
    same(found, model.forward(prompt))
    assert timeline(done.results).makespan == len(plan) + stages - 1


@given(stages=st.integers(1, 8), groups=st.integers(1, 10), many=st.integers(1, 4))
@settings(max_examples=examples(15))
def test_bytes_are_those_of_the_rows_at_each_border(
    stages: int, groups: int, many: int
) -> None:
    plan = decode_plan([[(1, 2, 3), (4,)]] * groups, many)
    ledger = pipelined(Transformer(SMALL), plan, stages).ledger
    rows = groups * (4 + 2 * (many - 1))
    activations = (stages - 1) * rows * SMALL.d_model * 8
    tokens_back = (stages > 1) * groups * 2 * (many - 1) * 8
    assert ledger.sent_bytes() == activations + tokens_back
    for rank in range(stages - 1):
        assert ledger.sent_bytes(rank=rank) == rows * SMALL.d_model * 8


def test_decode_is_held_up_by_its_own_tokens_and_prefill_is_not() -> None:
    model, prompts = Transformer(SMALL), [[(1, 2)]]
    same = pipelined(model, prefill_plan(prompts * 6), 4).results
    assert timeline(same).makespan == 6 + 3
    one = timeline(pipelined(model, decode_plan(prompts, 6), 4).results)
    assert one.makespan == 6 * 4  # one group: one stage works at a time
    assert one.bubble == pytest.approx(3 / 4)
    four = timeline(pipelined(model, decode_plan(prompts * 4, 6), 4).results)
    assert np.diff(four.finished(0)).tolist() == [4.0] * 5  # not sooner, but four
    assert four.makespan == 6 * 4 + 3


def test_a_longer_pass_makes_others_wait() -> None:
    plan = decode_plan([[(1, 2)]] * 3, 2)
    stages = pipelined(Transformer(SMALL), plan, 3).results
    slow = timeline(stages, lambda one: one.n_layers * one.n_rows)
    assert slow.busy == sum(
        one.n_layers * one.n_rows for s in stages for one in s.passes
    )
    for span, after in zip(slow.spans, slow.spans[1:], strict=False):
        assert span.start <= after.start


@given(stages=st.integers(1, 9), layers=st.integers(1, 20))
def test_every_layer_is_on_one_stage(stages: int, layers: int) -> None:
    if stages > layers:
        with pytest.raises(
            ValueError, match=f"at most n_layers, {layers}, got {stages}"
        ):
            layers_of(0, stages, layers)
        return
    parts = [layers_of(i, stages, layers) for i in range(stages)]
    assert [layer for part in parts for layer in part] == list(range(layers))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_stages_hold_the_model_once() -> None:
    model = Transformer(SMALL)
    held = [PipelineStage(model, i, 4).num_params for i in range(4)]
    final = sum(part.size for part in model.weights.final_norm if part is not None)
    assert sum(held) + final == model.weights.num_params
    assert held[1] == held[2] == min(held)


def _outputs() -> tuple[StageOutput, ...]:
    return pipelined(Transformer(SMALL), prefill_plan([[(1,)]]), 2).results


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prefill_plan([]), "groups must hold at least 1 microbatch, got none"),
        (lambda: prefill_plan([[(1,)], []]), "at least 1 request each, got an empty"),
        (lambda: decode_plan([[(1,)]], 0), "num_tokens must be at least 1 token"),
        (lambda: chunked_plan((1, 2), 0), "chunk must be at least 1 token, got 0"),
        (
            lambda: pipelined(Transformer(SMALL), (), 2),
            "plan must hold at least 1 microbatch, got none",
        ),
        (
            lambda: pipelined(Transformer(SMALL), prefill_plan([[(1,)]]), 9),
            "num_stages must be at most n_layers, 8, got 9",
        ),
        (
            lambda: links([Microbatch(3)]),
            "plan must begin group 3 with a prompt, got a decode pass at microbatch 0",
        ),
        (
            lambda: timeline(_outputs()[1:]),
            "stages must not wait for each other",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_a_pipeline_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()  # type: ignore[operator]
