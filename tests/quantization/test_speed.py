"""What fewer bits buy: limits of the price, and what fits."""

import pytest

from llmserve_lab import running_example, validation
from llmserve_lab.catalog import MODELS
from llmserve_lab.quantization.page import questions
from llmserve_lab.quantization.speed import (
    ARITHMETIC,
    CACHES,
    Bits,
    decode_s,
    fits,
    prefill_s,
    served,
)
from llmserve_lab.quantization.tables import shared_table, unshared


def test_sixteen_bits_are_the_running_example() -> None:
    assert served(Bits()) == running_example.cost()


def test_a_quarter_of_the_bytes_is_a_quarter_of_the_reading_and_the_tables() -> None:
    shape = running_example.model()
    table = 2 * shape.vocab * shape.d_model
    cost = served(Bits("int4"))
    blocks = (cost.weight_bytes - 2 * table) / (2 * shape.params_total - 2 * table)
    assert blocks == pytest.approx(4.125 / 16)


@pytest.mark.parametrize("weights", ARITHMETIC)
def test_a_long_prompt_gains_only_by_arithmetic(weights: str) -> None:
    gain = prefill_s(served(Bits()), prompt=8192) / prefill_s(
        served(Bits(weights)), prompt=8192
    )
    if ARITHMETIC[weights] in ("fp8", "int8"):
        assert gain > 1.3
    else:
        assert 1 <= gain < 1.02


def test_a_huge_batch_gains_nothing_by_weight_only_formats() -> None:
    wide, few = served(Bits()), served(Bits("int4"))
    times = [
        decode_s(wide, batch=b, context=0) / decode_s(few, batch=b, context=0)
        for b in (1, 64, 1024, 65_536)
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.8 and times[-1] < 1.002


def test_the_cache_counts_where_there_is_much_of_it() -> None:
    wide, few = served(Bits()), served(Bits("bf16", "fp8"))
    share = few.kv_token_s / wide.kv_token_s
    assert share == pytest.approx(0.5)
    assert fits(few, context=1100) == pytest.approx(2 * fits(wide, context=1100), abs=2)


def test_what_does_not_fit_holds_no_request() -> None:
    large = MODELS["llama-3.1-70b"]
    assert fits(served(Bits(), large), context=1000) == 0
    assert fits(served(Bits("int4"), large), context=1000) > 0


def test_a_format_without_a_price_is_refused() -> None:
    with pytest.raises(ValueError, match=r"weights must be one of .*, got 'fp16'"):
        Bits("fp16")
    with pytest.raises(ValueError, match=r"cache must be one of .*, got 'int4'"):
        Bits("bf16", "int4")
    with pytest.raises(ValueError, match=r"key must be one of .*, got 'fp7'"):
        Bits("fp7")
    assert set(CACHES) == {"bf16", "fp8", "int4-row"}


def test_twice_the_peak_is_reached_by_the_fitted_power_but_for_the_head() -> None:
    wide, few = served(Bits()).row_s, served(Bits("fp8")).row_s
    shape, reached = running_example.model(), validation.achieved()
    peak = float(running_example.device().peak("bf16")) * reached.compute
    head = 2 * shape.vocab * shape.d_model / peak
    ratio = (wide - head) / (few - head)
    assert ratio == pytest.approx(2**reached.exponent, rel=1e-3)


def test_tables_have_a_row_for_each_choice() -> None:
    saved = {row[0]: row[2] for row in shared_table().rows}
    assert saved["Llama-2-7B"] == "1×" and saved["Llama-3.1-8B"] == "4×"
    assert unshared(MODELS["deepseek-v3"]) == 128 * (128 + 64 + 128)


def test_the_answers_are_the_prices() -> None:
    assert (
        questions.predict_one.answer() == 2 and questions.predict_prompt.answer() == 3
    )
    assert questions.bits.answer() == 4.25
    tables = 2 * 128_256 * 4096  # embedding and LM head
    rest = 8_030_261_248 - tables
    assert questions.stored.answer() == pytest.approx(2 * tables + 4.5 / 8 * rest)
