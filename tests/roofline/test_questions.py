"""What a question asks to foresee comes true where it is carried out."""

import pytest

from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import questions as module


def test_the_predictions_come_true_in_a_walk() -> None:
    from llmserve_lab.catalog import MODELS

    def decode(batch: int) -> float:
        bill = walk(MODELS["llama-2-7b"], batch=batch, context=2**17, chunk=1)
        return bill.iteration_flops / bill.iteration_bytes

    assert module.predict_batch.right == 1
    assert decode(64) / decode(32) == pytest.approx(1, abs=0.02)
    long = walk(MODELS["llama-2-7b"], batch=1, context=2**20, chunk=2048)
    assert long.iteration_flops / long.iteration_bytes > module.predict_ridge.right
    assert module.predict_prefill.right == 1


def test_the_last_request_that_fits_does_and_one_more_does_not() -> None:
    from llmserve_lab.catalog import ACCELERATORS, MODELS

    batch = int(module.fits.right)
    held = [
        MODELS["llama-3-8b"].weight_bytes()
        + walk(MODELS["llama-3-8b"], batch=b, context=8192, chunk=1).kv_read_bytes
        for b in (batch, batch + 1)
    ]
    assert held[0] <= float(ACCELERATORS["h200-sxm"].usable_bytes) < held[1]


def test_the_ridge_itself_is_compute_bound() -> None:
    assert module.side(295.0, 295.0) == 1.0
    assert module.side(294.9, 295.0) == 0.0
