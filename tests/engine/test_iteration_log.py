"""The log of a run says what was run, in a table and in a drawing."""

import pytest

from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    IterationLog,
    Pool,
    Request,
    Static,
    simulate,
)

COST = IterationCost(row_s=1e-4, weights_s=5e-3, kv_token_s=1e-6)
REQUESTS = [
    Request(arrival_s=0.1 * number, prompt_len=90, output_len=30 + number, id=number)
    for number in range(4)
] + [Request(arrival_s=5.0, prompt_len=9, output_len=2, id=4)]


def traced(deployment: Pool | Disaggregated) -> IterationLog:
    trace = simulate(REQUESTS, deployment, log=True).log
    assert trace is not None
    return trace


CHUNKED = Pool(COST, Chunked(32), kv_blocks=99)
SPLIT = Disaggregated(
    prefill=Pool(COST, Chunked(32), kv_blocks=99),
    decode=Pool(COST, Continuous(), kv_blocks=99),
)


def test_it_is_kept_only_when_asked_for() -> None:
    assert simulate(REQUESTS, CHUNKED).log is None


def test_it_adds_up_to_the_report() -> None:
    report = simulate(REQUESTS, CHUNKED, log=True)
    trace = report.log
    assert trace is not None and len(trace) == len(list(trace))
    assert sum(step.count for step in trace) == report.iterations
    rows = sum(step.decode_rows * step.count for step in trace)
    assert rows == report.gaps.count
    use = report.pools["pool"]
    assert sum(step.compute_s for step in trace) == pytest.approx(use.compute_s)
    busy_s = sum(step.seconds * step.count for step in trace)
    assert busy_s == pytest.approx(use.busy_s) and max(s.count for s in trace) > 1
    decoding_s = sum(s.decode_rows * (s.end_s - s.start_s) for s in trace)
    assert decoding_s == pytest.approx(
        report.gaps.total_s
    )  # Little's law, in the batch


def test_the_table_shows_the_first_of_them() -> None:
    trace = traced(CHUNKED)
    text = repr(trace.table(limit=3))
    assert f"the first 3 of {len(trace)} runs" in text
    assert "memory" in text and "replica" not in text
    assert "decode 0" in repr(traced(SPLIT))
    assert "<table" in trace._repr_html_()
    assert repr(trace[0]).startswith("IterationRecord(start_s=0.0")


def test_in_the_decode_pool_nobody_runs_a_prompt() -> None:
    for step in traced(SPLIT):
        assert (step.prefill_rows == 0) == (step.pool == "decode")
        assert step.padding_rows == 0


def test_the_drawing_says_what_it_shows() -> None:
    drawing = traced(CHUNKED).timeline(title="Chunks of 32 rows")
    assert "iterations: the shortest takes" in drawing.sentence
    for label in ("decodes", "prompt rows", "an iteration ends"):
        assert f">{label}<" in drawing.svg
    assert "padding" not in drawing.svg
    assert ">padding<" in traced(Pool(COST, Static(2), kv_blocks=99)).timeline().svg


def test_every_busy_replica_has_a_panel() -> None:
    svg = traced(SPLIT).timeline(until_s=1).svg
    assert svg.index("rows, prefill 0") < svg.index("rows, decode 0")


def test_a_stretch_in_which_nothing_happens_cannot_be_drawn() -> None:
    trace = traced(CHUNKED)
    assert len(trace.between(3, 4)) == 0
    with pytest.raises(ValueError, match="busy replicas from 3 s to 4 s, got 0"):
        trace.timeline(from_s=3, until_s=4)
