"""What a question asks to foresee comes true where it is carried out."""

from __future__ import annotations

from llmserve_lab.continuous_batching.article_machine import cost
from llmserve_lab.continuous_batching.page import questions as module
from llmserve_lab.engine import IterationLoad


def test_the_chunk_that_fits_is_the_one_that_the_engine_takes() -> None:
    calm = IterationLoad(0, 0, 0)
    for _ in range(8):
        calm = calm.plus(IterationLoad.of(chunk=1, context=1024))
    for prefix in (0, module.HALF_WAY):
        rows = cost().chunk_within(0.05, load=calm, context=prefix)
        assert module.fits(prefix) == rows


def test_the_predictions_come_true_in_a_run() -> None:
    assert module.WAITS[int(module.predict_stall.right)] == "about eight seconds"
    assert module.PRICES[int(module.predict_price.right)] == "next to nothing"
    assert 4 < module.predict_late.right < 4.5
    read = sum(range(0, 32_768, 1024))
    assert module.reread.right == read
