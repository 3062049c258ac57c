"""What fewer bits buy: limits of the price, and what fits."""

import math
import re

import numpy as np
import pytest

from llmserve_lab import running_example, validation
from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.quantization.page import questions
from llmserve_lab.quantization.page.controls import BATCHES
from llmserve_lab.quantization.page.sharing import kib_per_token
from llmserve_lab.quantization.speed import (
    ARITHMETIC,
    CACHES,
    Bits,
    decode_s,
    fits,
    overtaken,
    overtaken_between,
    prefill_s,
    room_line,
    served,
)
from llmserve_lab.quantization.tables import (
    SHARED,
    saved_by_sharing,
    shared_table,
    unshared,
)


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
    both = fits(few, context=1100), fits(wide, context=1100)
    assert 1.9 < both[0] / both[1] < 2  # slots stay as large as they were
    assert fits(few, context=3) == fits(few, context=16)  # one block


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


def test_int4_and_fp8_weights_are_level_at_one_batch_whatever_is_cached() -> None:
    """FP8 does not stay ahead: with an equal cache INT4 is faster below that batch."""
    level = overtaken(Bits("int4"), Bits("fp8"), context=1100)
    for context in (16, 1100, 32_768):
        for kind in ("bf16", "fp8"):
            four, eight = (served(Bits(key, kind)) for key in ("int4", "fp8"))
            for batch in (1, 64, level - 1, level, 256, 1000):
                took = (
                    decode_s(c, batch=batch, context=context) for c in (four, eight)
                )
                ahead = next(took) < next(took)
                assert ahead == (batch < level)
    with pytest.raises(ValueError, match="most must be a batch at which second is"):
        overtaken(Bits("int4"), Bits("fp8"), context=1100, most=level - 1)


def test_the_batch_where_they_are_level_is_no_sharp_number() -> None:
    """Assumptions by closed forms, alone and together: overlap, the whole peak."""
    four, eight = served(Bits("int4")), served(Bits("fp8"))
    apart = (eight.weights_s - four.weights_s) / (four.row_s - eight.row_s)
    together = eight.weights_s / four.row_s
    shape = running_example.model()
    head = shape.vocab * shape.d_model / shape.params_active
    full = four.row_s * (head + (1 - head) / 2)
    peak = (eight.weights_s - four.weights_s / 2) / (four.row_s - full / 2)
    both = (eight.weights_s - four.weights_s) / (four.row_s - full)
    between = overtaken_between(Bits("int4"), Bits("fp8"), context=1100)
    found = [math.ceil(each) for each in (both, peak, together, apart)]
    assert between == (found[0], found[-1]) == (min(found), max(found))
    level = overtaken(Bits("int4"), Bits("fp8"), context=1100)
    assert between[0] < level < between[1]
    slower = (
        1.1 * (eight.weights_s - four.weights_s / 2) / (four.row_s - eight.row_s / 2)
    )
    assert slower == pytest.approx(1.1 * level, abs=1.1)  # a tenth slower, a tenth more


def test_faster_memory_lets_eight_bits_catch_up_sooner() -> None:
    """H200: the same arithmetic, memory 4.8 / 3.35 times as fast. A100: no FP8."""
    int4, fp8 = Bits("int4"), Bits("fp8")
    sooner, level = (
        overtaken(int4, fp8, context=1100, gpu=ACCELERATORS[f"{name}-sxm"])
        for name in ("h200", "h100")
    )
    assert level == overtaken(int4, fp8, context=1100)
    assert sooner == pytest.approx(level * 3.35 / 4.8, abs=1)
    with pytest.raises(ValueError, match="most must be a batch at which second is"):
        overtaken(int4, fp8, context=1100, gpu=ACCELERATORS["a100-80-sxm"])


def test_a_prompt_in_print_adds_up_to_its_gain() -> None:
    """Attention over the pairs that a causal mask lets through, counted row by row."""
    wholes = []
    for bits in (Bits(), Bits("fp8")):
        layers, reading, attention, fixed, whole = (
            float(each) for each in re.findall(r"[\d.]+", questions.prompt_line(bits))
        )
        assert layers + reading + attention + fixed == pytest.approx(whole, abs=0.21)
        assert fixed == pytest.approx(4 * 1e3 * served(bits).overhead_s, abs=0.07)
        pairs = sum(range(1, 8193))
        shape, reached = running_example.model(), validation.achieved().compute
        flops = pairs * 4 * shape.n_layers * 32 * 128
        peak = float(running_example.device().peak("bf16")) * reached
        assert attention == pytest.approx(1e3 * flops / peak, abs=0.06)
        wholes.append(whole)
    gain = questions.prompt_gain(Bits("fp8"))
    assert wholes[0] / wholes[1] == pytest.approx(gain, rel=1e-3)


def test_an_fp8_cache_saves_reading_long_before_the_memory_is_full() -> None:
    """The recipe: it gains below what sixteen bits hold, and makes room above."""
    wide, few = served(Bits()), served(Bits("bf16", "fp8"))
    most = fits(wide, context=1100)
    gains = [questions.gain(Bits("bf16", "fp8"), batch) for batch in (64, 256)]
    assert 1.1 < gains[0] < gains[1] and most > 256
    assert fits(few, context=1100) > 1.9 * most


def test_a_difference_of_two_runs_errs_by_the_answers_that_change() -> None:
    """The page's standard error, on answers that are drawn."""
    rng = np.random.default_rng(4)
    turned = rng.choice([-1, 0, 1], p=[0.025, 0.95, 0.025], size=(2000, 1319))
    assert 100 * turned.mean(axis=1).std() == pytest.approx(0.6, abs=0.05)
    twice = 2 * rng.binomial(2000, 0.05, 2000).mean() ** 0.5 / 2000
    assert twice == pytest.approx(0.01, rel=0.01)  # a point, at 2,000 questions


def test_the_gain_of_weights_melts_and_that_of_a_cache_grows() -> None:
    batches = (1, 4, 16, 64, 128, 256)
    for weights in ("int4", "fp8"):
        gains = [questions.gain(Bits(weights), batch) for batch in batches]
        assert gains == sorted(gains, reverse=True) and gains[0] - gains[-1] > 0.3
    for weights in ("bf16", "fp8", "int4"):
        added = [
            questions.gain(Bits(weights, "fp8"), batch)
            / questions.gain(Bits(weights), batch)
            for batch in batches
        ]
        assert added == sorted(added) and added[-1] > 1.2


def test_the_head_is_no_reason_why_a_prompt_gains_little() -> None:
    """An engine applies it to the last token alone; the gain hardly changes."""
    with_head, without = (
        questions.prompt_gain(Bits("fp8"), head=head) for head in (True, False)
    )
    assert with_head < without < 1.03 * with_head and without < 2**0.5


def test_shared_heads_are_the_models_of_the_catalog() -> None:
    models = {"MHA": "llama-2-7b", "GQA": "llama-3.1-8b"}
    for kind, key in models.items():
        assert kib_per_token(kind) == MODELS[key].kv_bytes_per_token(2.0) / 1024
    assert kib_per_token("MQA") == kib_per_token("MHA") / 32
    v3 = MODELS["deepseek-v3"]
    a_layer = v3.kv_bytes_per_token(2.0) / v3.n_layers / 1024
    assert kib_per_token("MLA") == pytest.approx(32 * a_layer)


def test_tables_have_a_row_for_each_choice() -> None:
    assert len(shared_table().rows) == len(SHARED)
    for key in ("llama-2-7b", "llama-3.1-8b"):
        spec = MODELS[key].attention
        assert isinstance(spec, GroupedQueryAttention)
        assert saved_by_sharing(MODELS[key]) == spec.n_heads / spec.n_kv_heads
    assert unshared(MODELS["deepseek-v3"]) == 128 * (128 + 64 + 128)


def test_the_answers_are_the_prices() -> None:
    assert questions.predict_one.answer() == 2
    assert questions.bits.answer() == 4.25
    tables = 2 * 128_256 * 4096  # embedding and LM head
    rest = 8_030_261_248 - tables
    assert served(Bits("nvfp4")).weight_bytes == pytest.approx(
        questions.stored.answer()
    )
    assert questions.stored.answer() == pytest.approx(2 * tables + 4.5 / 8 * rest)


def test_the_room_in_print_is_what_fits_and_follows_from_its_own_digits() -> None:
    """A calculator on what stands there, whatever the formats."""
    for bits in (Bits(), Bits("fp8"), Bits("int4", "fp8")):
        line = room_line(served(bits), context=1100)
        share, whole, libraries, weights, cached, slot, found = (
            float(part.replace(",", "")) for part in re.findall(r"[\d.,]+", line)
        )
        left = 1e3 * (share * whole - libraries - weights)  # MB
        tokens = 1e6 * cached / served(bits).kv_bytes_per_token
        assert tokens == pytest.approx(1104, rel=1e-3)
        assert slot == round(39 * 128_256 / 1e6, 1)
        assert found - 0.1 < left / (cached + slot) < found + 1.1
        assert found == fits(served(bits), context=1100)


def test_two_stops_of_the_slider_are_the_least_and_the_most_room() -> None:
    rooms = (
        fits(served(Bits(*bits)), context=1100) for bits in (("bf16",), ("int4", "fp8"))
    )
    assert BATCHES[-2:] == tuple(rooms)
