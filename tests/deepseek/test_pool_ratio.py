"""Decode GPUs for each prefill GPU: by hand, and beside published counts."""

import pytest

from llmserve_lab.catalog.evidence import deployments as d
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.pool_ratio import (
    kimi_answer,
    pool_ratio,
    ratios,
)
from llmserve_lab.deepseek.evaluation.predictions import point


def test_the_ratio_by_hand() -> None:
    """Of SGLang's 54,543 tokens in and 22,282 out of a node, 2,048 / 500 a request."""
    found = pool_ratio(d.PREFILL_RATES[1], d.SGLANG_DECODE, prompt=2048, answer=500)
    assert found.measured == pytest.approx((500 / 22_282) / (2048 / 54_543))
    ours = (500 / found.decode.predicted) / (2048 / found.prefill.predicted)
    assert found.predicted == pytest.approx(ours)


def test_it_grows_with_the_answer_and_falls_with_the_prompt() -> None:
    one, long, read = (
        pool_ratio(d.PREFILL_RATES[1], d.SGLANG_DECODE, prompt=p, answer=a).predicted
        for p, a in ((2048, 500), (2048, 1000), (4096, 500))
    )
    assert long == pytest.approx(2 * one) and read == pytest.approx(one / 2)


def test_the_day_adds_up_to_the_nodes_that_were_told() -> None:
    """Tokens of a day over rates and seconds: two kinds of nodes, one published sum."""
    wrote = 8 * float(d.DEEPSEEK_DECODE.gpu_tokens_per_s)
    read = float(d.NODE_INPUT_TOKENS)
    day_s = 24 * 3600
    nodes = float(d.DAY_INPUT) / (read * day_s), float(d.DAY_OUTPUT) / (wrote * day_s)
    assert sum(nodes) == pytest.approx(float(d.DAY_NODES), rel=2e-3)
    day = ratios()[-1]
    assert day.measured == pytest.approx(nodes[1] / nodes[0])


def test_kimis_pools_are_balanced_by_an_answer() -> None:
    """Four nodes read 56,000 tokens/s each, twelve write 24,000."""
    said, told = kimi_answer()
    assert told == pytest.approx(12 * 24_000 / (4 * 56_000 / 2000))
    assert said == pytest.approx(told, rel=0.03)
    kimi = ratios()[-2]
    assert kimi.measured == pytest.approx(96 / 32)


def test_the_range_holds_what_was_published() -> None:
    for each in ratios():
        low, high = each.span
        assert low - 1e-9 <= each.measured <= high and low < each.predicted < high
        ends = each.band.around(each.predicted)
        assert ends == pytest.approx((low, high))


def test_lengths_are_positive() -> None:
    with pytest.raises(ValueError, match="answer must be positive, got 0"):
        pool_ratio(d.PREFILL_RATES[1], d.SGLANG_DECODE, prompt=2048, answer=0)


def test_what_the_page_says_of_another_simulator() -> None:
    """Farther off in prefill; in decode about as far, to the other side."""
    assumed = book_assumptions()
    read, wrote = (
        point(run, assumed) for run in (d.PROFILED_PREFILL, d.PROFILED_DECODE)
    )
    assert float(d.INFERSIM_PREFILL) / read.measured - 1 > 2 * abs(read.error)
    other = float(d.INFERSIM_DECODE) / wrote.measured - 1
    assert other > 0 > wrote.error
    assert other == pytest.approx(-wrote.error, abs=0.02)
