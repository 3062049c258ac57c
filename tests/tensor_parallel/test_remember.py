"""The five sentences that a reader keeps, each held in every state that is shown."""

from __future__ import annotations

import re

import numpy as np
import pytest

from llmserve_lab import running_example
from llmserve_lab.catalog.evidence.collectives import (
    ENGINE_LIMITS,
    ENGINE_RUNS,
    NCCL_RUNS,
)
from llmserve_lab.collectives import calibration, run
from llmserve_lab.collectives import formulas as wires
from llmserve_lab.engine import IterationLoad
from llmserve_lab.tensor_parallel import fits
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import DEVICE, MODEL
from llmserve_lab.tensor_parallel.model import forward
from llmserve_lab.tensor_parallel.page.figures import STOPS
from llmserve_lab.transformer import Transformer, tiny_shape
from tests.page.test_takeaways import sentences

USUAL = running_example.PROMPT + running_example.ANSWER


def token_s(tp: int, batch: int = 1, context: int = running_example.PROMPT) -> float:
    """Seconds of an iteration of decodes, as the engine prices it."""
    one = IterationLoad.of(chunk=1, context=context)
    rows, pairs, kv_tokens, requests, _ = (batch * each for each in one)
    load = IterationLoad(rows, pairs, kv_tokens, requests, prompts=0)
    return running_example.served_by(MODEL, DEVICE, tp=tp).seconds(load)


@pytest.mark.parametrize("n_layers", [1, 3])
def test_two_all_reduces_a_layer(n_layers: int) -> None:
    model = Transformer(tiny_shape(n_layers=n_layers))
    done = run(forward, 2, model, [3, 1, 4])
    per_layer = done.ledger.calls("all_reduce", rank=0) / n_layers
    assert per_layer * MODEL.n_layers == 160


def test_for_a_vector_one_shot_beats_nccl_as_measured() -> None:
    """On the measured times themselves: 16 KiB on two, four and eight GPUs."""
    row = 2 * MODEL.d_model
    for n_gpus, least in ((2, 1.5), (4, 2.0), (8, 3.0)):
        shot, nccl = (
            float(found.seconds)
            for runs in (ENGINE_RUNS, NCCL_RUNS)
            for found in runs
            if (found.n_gpus, found.nbytes) == (n_gpus, row)
        )
        assert nccl / shot > least


def test_the_switch_takes_over_where_the_engine_changes() -> None:
    """Within a factor of two of the size at which vLLM leaves its own kernel."""
    changes = float(ENGINE_LIMITS[8].one_shot)
    assert 0.5 < worked.turn_bytes() / changes < 2
    assert round(worked.turn_rows()) == 12


def test_the_sentence_says_on_which_side_the_switch_is_faster() -> None:
    (said,) = (each for each in sentences("tensor_parallel") if "switch" in each)
    words = re.search(r"(above|below) .* adds up (faster|slower) than one shot", said)
    assert words
    for rows in (worked.turn_rows() / 2, 2 * worked.turn_rows()):
        size = {"n_ranks": 8.0, "tensor_bytes": rows * worked.row_bytes()}
        switch_s, shot_s = (
            float(formula.at({**kind.known(), **size}))
            for formula, kind in (
                (wires.IN_SWITCH_S, calibration.in_switch()),
                (wires.ONE_SHOT_S, calibration.one_shot()),
            )
        )
        told = (rows > worked.turn_rows()) is (words[1] == "above")
        assert (switch_s < shot_s) is (told is (words[2] == "faster"))


@pytest.mark.parametrize("batch", [int(b) for b in STOPS["batch"]])
def test_more_gpus_help_but_less_than_their_number(batch: int) -> None:
    times = [token_s(tp, batch) for tp in (2, 4, 8)]
    gains = np.array(times[:-1]) / np.array(times[1:])
    assert (gains > 1.2).all() and (gains < 1.9).all() and gains[1] < gains[0]
    if batch == 1:
        assert gains[1] == pytest.approx(1.50, abs=0.005)


def test_the_cache_gains_most() -> None:
    two, eight = (fits.fitting_requests(tp) for tp in (2, 8))
    assert (two, eight) == (23, 1076)
    assert eight / two > 4 > token_s(2) / token_s(8)


def test_one_gpu_and_sixteen_are_refused() -> None:
    alone = running_example.served_by(MODEL, DEVICE)
    with pytest.raises(ValueError, match="memory must hold the weights"):
        alone.kv_blocks()
    with pytest.raises(ValueError, match=r"tp must be at most 8, .* joins, got 16"):
        running_example.served_by(MODEL, DEVICE, tp=16)
