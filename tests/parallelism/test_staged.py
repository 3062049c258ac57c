"""Published pipelines: the timeline says what their prompts took."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence import pipelines
from llmserve_lab.parallelism import staged
from tests.page.cells import lines, says

RUNS = pipelines.STAGED_PREFILLS
STAGES = {"one stage": 1, "two": 2, "four": 4, "eight": 8}


def walked(chunk: int, stages: int) -> float:
    """Chunk by chunk and stage by stage, as soon as both are free."""
    ends = [0.0] * stages
    for took in staged.chunk_times(chunk):
        before = 0.0
        for stage in range(stages):
            ends[stage] = before = max(ends[stage], before) + took / stages
    return ends[-1]


@pytest.mark.parametrize("run", RUNS, ids=lambda r: f"{r.stages}x{r.chunk}")
def test_a_prediction_is_the_prompt_walked_through_the_stages(
    run: pipelines.StagedPrefill,
) -> None:
    assert staged.predicted_s(run) == pytest.approx(walked(run.chunk, run.stages))
    assert sum(staged.chunk_times(run.chunk)) == pytest.approx(
        staged.alone_s(run.chunk)
    )
    assert 0.99 < float(run.seconds) / staged.predicted_s(run) < 1.03


def test_attention_is_counted_pair_by_pair_at_the_peak() -> None:
    """64 heads of 128 in 94 layers; four H20 of 148 TFLOP/s; half of the square."""
    flops = 4 * 64 * 128 * 94 * 131_072 * 131_073 / 2
    assert staged.attention_s() == pytest.approx(flops / (4 * 148e12))
    assert catalog.model(staged.SHAPE).n_layers == 94
    assert all(staged.attention_s() < staged.alone_s(run.chunk) for run in RUNS)


def test_the_later_chunks_are_dearer_so_large_ones_fill_a_long_pipe_slowly() -> None:
    times = staged.chunk_times(8192)
    assert times == sorted(times) and len(times) == 16
    eight = [float(run.seconds) for run in RUNS if run.stages == 8]
    assert eight == sorted(eight)
    assert float(pipelines.SHRINKING) < min(eight)
    assert float(pipelines.STAGED_GAIN) > 1.2 * float(pipelines.GROUP_GAIN)


def test_each_column_of_the_pipelines() -> None:
    for row in lines(staged.table()):
        chunk = int(row.pop("chunk, tokens").replace(",", ""))
        assert {*row} == {*STAGES}
        for head, cell in row.items():
            (run,) = (r for r in RUNS if (r.chunk, r.stages) == (chunk, STAGES[head]))
            measured, *predicted = cell.split(" / ")
            assert says(measured, float(run.seconds))
            assert len(predicted) == (run.stages > 1)
            assert all(says(each, walked(chunk, run.stages)) for each in predicted)
