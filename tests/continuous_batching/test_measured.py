"""What others measured, beside two lines and beside the engine."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.servers import CHUNK_SIZES
from llmserve_lab.continuous_batching import measured

DECODE_S = 0.0155  # of a pass without a chunk, as the benchmark's own log has it


def test_two_lines_predict_the_chunk_between() -> None:
    first, middle, last = CHUNK_SIZES
    for end in (first, last):
        size = end.chunk_tokens
        assert measured.predicted_gap_s(size) == float(end.longest_gap_s)
        rate = measured.predicted_rate_per_s(size)
        assert rate == pytest.approx(float(end.output_per_s), rel=1e-12)
    gap = measured.predicted_gap_s(middle.chunk_tokens)
    assert gap == pytest.approx(float(middle.longest_gap_s), rel=0.04)
    rate = measured.predicted_rate_per_s(middle.chunk_tokens)
    assert rate == pytest.approx(float(middle.output_per_s), rel=0.02)
    assert 0.02 < measured.fixed_gap_s() < float(first.longest_gap_s)
    low, between, high = measured.on_lines()
    for fixed in (low, high):  # the line goes through them
        assert (fixed.gap_error, fixed.output_error) == pytest.approx((0, 0), abs=1e-12)
    assert 0 < between.gap_error < 0.04 and abs(between.output_error) < 0.02


def two_passes_per_s(chunk: int) -> float:
    """Output of a server that runs chunk and decodes apart, and pays for what it runs.

    One prompt at a time, which joins those who decode when it is read and a slot free.
    """
    chunk_s = measured.fixed_gap_s() - DECODE_S
    waiting, left, answers, now_s = list(measured.PROMPTS), 0, list[int](), 0.0
    reading = False
    while reading or waiting or answers:
        if not reading and waiting:
            reading, left = True, waiting.pop(0)
        if left:
            rows = min(left, chunk)
            now_s, left = now_s + chunk_s + rows * measured.row_s(), left - rows
        if reading and not left and len(answers) < measured.SLOTS:
            reading = False
            answers.append(measured.ANSWER - 1)
        if answers:
            now_s += DECODE_S
        answers = [more - 1 for more in answers if more > 1]
    return len(measured.PROMPTS) * measured.ANSWER / now_s


def test_the_engine_has_the_shape_of_the_measurement_and_not_its_height() -> None:
    """What it lacks is a server of two passes; that one is closer at every chunk."""
    for record in CHUNK_SIZES:
        run = measured.replayed(record.chunk_tokens)
        assert run.num_requests == len(measured.PROMPTS)
        assert run.gaps.longest_s == pytest.approx(
            float(record.longest_gap_s), rel=0.05
        )
        output = float(record.output_per_s)
        short = 1 - run.throughput_tokens_per_s / output
        assert 0.27 < short < 0.3
        apart = two_passes_per_s(record.chunk_tokens)
        assert abs(1 - apart / output) < short / 1.5
    for each in measured.in_engine():  # a little late in every gap, never early
        assert 0 < each.gap_error < 0.05 and -0.3 < each.output_error < -0.27
