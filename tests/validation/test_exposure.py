"""Priced exposures are the engine's own times, whatever the machine."""

import random

import numpy as np
import pytest

from llmserve_lab.engine import IterationCost
from llmserve_lab.validation import MeasuredRow, dense_rows
from llmserve_lab.validation.__main__ import SAMPLE
from llmserve_lab.validation.exposure import exposures_of, exposures_of_all, run
from llmserve_lab.validation.protocol import protocol_of
from llmserve_lab.validation.rows import every
from llmserve_lab.validation.unit_work import bill_of, cost_of
from tests.validation.sample import drawn, sample

ROWS = {row.server: row for row in every(dense_rows(), SAMPLE)}
FEW = sorted(ROWS.items())[::5]


@pytest.mark.parametrize("row", [row for _, row in FEW], ids=[name for name, _ in FEW])
def test_the_engine_comes_to_the_same_times(row: MeasuredRow) -> None:
    """However fast the machine is: the order of events is one and the same."""
    rng = np.random.default_rng(len(row.server))
    counted = exposures_of(row)
    bill = bill_of(row, kv_bytes=protocol_of(row).kv_bytes)
    for _ in range(2):
        cost = cost_of(bill, drawn(rng))
        report = run(row, cost)
        assert counted.tpot.seconds(cost) == pytest.approx(report.tpot_s.mean())
        assert counted.ttft.seconds(cost) == pytest.approx(report.ttft_s.mean())


@pytest.mark.long
def test_rows_priced_together_are_those_priced_alone() -> None:
    rows, rng = sample(), np.random.default_rng(1)
    machine = drawn(rng)
    times = rows.predict(machine)
    for place in range(0, len(rows.rows), 9):
        row, counted = rows.rows[place], rows.exposures[place]
        bill = bill_of(row, kv_bytes=protocol_of(row).kv_bytes)
        cost = cost_of(bill, machine)
        assert times.tpot[place] == pytest.approx(counted.tpot.seconds(cost))
        ttft_s = counted.ttft.seconds(cost) + machine.client_s
        assert times.ttft[place] == pytest.approx(ttft_s)


def test_rows_that_go_alike_are_counted_as_if_each_had_been_run() -> None:
    """In FP4 the cache has more blocks; it matters only where they run out."""
    rows = [row for row in dense_rows() if row.clients == 8 and row.tp == 1]
    few = random.Random(3).sample(rows, 4)
    twice = [row for row in rows if any(_sent(row) == _sent(one) for one in few)]
    shared = exposures_of_all(twice, [protocol_of(row) for row in twice])
    assert len({id(each) for each in shared}) < len(twice)
    for row, counted in zip(twice, shared, strict=True):
        alone = exposures_of(row)
        for mine, own in ((counted.ttft, alone.ttft), (counted.tpot, alone.tpot)):
            assert np.array_equal(mine.rows, own.rows)
            assert np.array_equal(mine.share, own.share)
            assert (mine.pairs, mine.kv_tokens) == (own.pairs, own.kv_tokens)


def _sent(row: MeasuredRow) -> tuple[object, ...]:
    return row.engine, row.prompt_len, row.output_len, row.clients


def test_a_token_takes_one_iteration_and_what_comes_between() -> None:
    """A decode takes part in every iteration, unless prompts go first."""
    for row, counted in zip(sample().rows, sample().exposures, strict=True):
        if row.engine == "sglang":
            assert counted.tpot.iterations >= 1
        elif not (row.engine == "vllm" and row.tp <= 2):  # those may be preempted
            assert counted.tpot.iterations == pytest.approx(1)


def test_overlapping_attention_is_refused() -> None:
    with pytest.raises(ValueError, match="cost must have attention_apart"):
        sample().exposures[0].tpot.seconds(IterationCost(row_s=1.0))
