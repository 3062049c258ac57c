"""The figures say what ran, and the map what the ranks sent."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.parallelism import map as axes
from llmserve_lab.parallelism.arguments import MODEL
from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.dealing import zigzag
from llmserve_lab.parallelism.model import PROMPT, SMALL
from llmserve_lab.parallelism.online import KEYS, QUERIES, TOKENS, VALUES, play
from llmserve_lab.parallelism.page import figures, pipe_steps, ring_steps
from llmserve_lab.parallelism.page import questions as module
from llmserve_lab.parallelism.pipeline import pipelined, prefill_plan
from llmserve_lab.parallelism.rows import (
    data_parallel_attention,
    sequence_parallel,
    tensor_parallel,
)
from llmserve_lab.parallelism.timeline import timeline
from llmserve_lab.transformer import Transformer


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_running_softmax_ends_where_one_gpu_ends(ranks: int) -> None:
    for rank, steps in enumerate(play(ranks)):
        last = zigzag(TOKENS, ranks)[rank][-1]
        scores = QUERIES[last] * np.array(KEYS[: last + 1])
        weights = np.exp(scores - scores.max())
        assert steps[-1].largest == scores.max()
        assert steps[-1].total == pytest.approx(weights.sum())
        mixed = weights @ np.array(VALUES[: last + 1]) / weights.sum()
        assert steps[-1].mixed == pytest.approx(mixed)


def test_every_cell_of_the_pipeline_is_a_pass_or_idle() -> None:
    for name, log in figures.pipeline().logs.items():
        cells = log.tables["cells"]
        line = pipe_steps.played(name)
        idle = [cell for cell in cells if cell["ink"] == "idle"]
        assert len(cells) == 4 * line.makespan
        assert len(idle) / len(cells) == pytest.approx(line.bubble)
        assert len(log.frames) == line.makespan


def test_a_hop_sends_the_keys_and_the_values_of_one_gpu() -> None:
    """Numbers, counted in the lists that the toy attends to, each of width one."""
    (log,) = figures.ring().logs.values()
    held = (len(KEYS) + len(VALUES)) / len(play(ring_steps.GPUS))
    for hops, frame in enumerate(log.frames):
        assert frame.counters[:2] == (hops, hops * held)
    pairs = TOKENS * (TOKENS + 1) / 2  # of queries with their own and earlier keys
    assert log.frames[-1].counters[2] == pairs / ring_steps.GPUS


def test_the_map_has_the_bytes_of_runs() -> None:
    """Of a small model and two ranks, in the proportions that the map has for eight."""
    model, n = Transformer(SMALL), len(PROMPT)
    tensor = tensor_parallel(model, PROMPT, 2).ledger.sent_bytes()
    assert sequence_parallel(model, PROMPT, 2).ledger.sent_bytes() == tensor
    halves = [[PROMPT[: n // 2]], [PROMPT[n // 2 :]]]
    assert 2 * data_parallel_attention(model, halves).ledger.sent_bytes() == tensor
    pipe = pipelined(model, prefill_plan([[PROMPT]]), 2).ledger.sent_bytes()
    ring = context_parallel(model, [ContextTurn(PROMPT)], 2).ledger.sent_bytes()
    assert ring == SMALL.kv_bytes_per_token(8) * n
    sent = {name: axes.sent_bytes(name) for name in axes.AXES}
    names = list(axes.AXES)
    assert sent[names[0]] == sent[names[1]] == 2 * sent[names[5]]
    assert sent[names[4]] == 0
    big = MODEL
    assert sent[names[0]] / sent[names[2]] == pytest.approx(4 * big.n_layers)
    assert tensor / pipe == 4 * SMALL.n_layers
    kv = big.kv_bytes_per_token(2) * axes.ROWS
    assert sent[names[3]] == pytest.approx((axes.GPUS - 1) * kv)


def test_the_questions_come_true_in_runs() -> None:
    model = Transformer(SMALL)
    twelve = pipelined(model, prefill_plan([[(1,)]] * 12), 4)
    assert module.bubble.right == pytest.approx(timeline(twelve.results).bubble)
    assert module.FASTER[int(module.predict_alone.right)] == "not faster at all"
    assert module.even.right * 7 * 35_136 == pytest.approx(7 * 10.49e9)
