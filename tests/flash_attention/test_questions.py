"""Numbers of the reasons that are no answers, worked out by hand."""

import math

from llmserve_lab.flash_attention.page import questions as module
from llmserve_lab.page.question.content import text_of


def test_each_other_number_of_the_reasons_is_worked_out() -> None:
    one = 2 * 98_000**2
    assert text_of(module.predict_square.why) == (
        f"One head has 98,000² scores of 2 bytes: {one / 1e9:.1f} GB. All 32 take "
        f"{32 * one / 1e9:.0f} GB."
    )
    assert one / 1e9 < 80 - 16 < 4 * one / 1e9  # a few heads, not all
    first = math.exp(1 - 3) + 1
    assert f"maximum 3 and sum {first:.3f}." in text_of(module.running.why)
    room, queries, key = 232_448, 128 * 96 * 2, 96 * 2 * 2
    said = text_of(module.keys_that_fit.why)
    assert f"128 · 96 · 2 = {queries:,} bytes, each key with its value {key}" in said
    assert f"{room - queries:,} / {2 * key} = {(room - queries) / 2 / key:.1f}" in said
    assert "8 of 132: " in text_of(module.predict_busy.why)
