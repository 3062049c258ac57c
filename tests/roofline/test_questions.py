"""What a question asks to foresee comes true where it is carried out."""

import pytest

from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.page import questions as module
from llmserve_lab.running_example import model


def test_the_predictions_come_true_in_a_walk() -> None:
    def decode(batch: int) -> float:
        bill = walk(model(), batch=batch, context=module.SIXTEEN_K, chunk=1)
        return bill.iteration_flops / bill.iteration_bytes

    few, twice = module.FEW, module.TWICE
    assert twice == 2 * few
    assert decode(twice) / decode(few) == pytest.approx(1.2, abs=0.03)
    assert module.predict_long.right == 1
    assert module.longer() == pytest.approx(4 / 3, abs=0.06)
    assert module.predict_batch.right == 2


def test_the_long_batch_fits_and_reads_more_cache_than_weights() -> None:
    few, twice = (
        walk(model(), batch=batch, context=module.SIXTEEN_K, chunk=1)
        for batch in (module.FEW, module.TWICE)
    )
    assert few.kv_read_bytes > few.weight_bytes
    room = float(ACCELERATORS["h100-sxm"].usable_bytes)
    taken = model().weight_bytes() + twice.kv_read_bytes
    assert 0.85 * room < taken <= room


def test_the_last_request_that_fits_does_and_one_more_does_not() -> None:
    batch = int(module.fits.right)
    assert batch == 124
    held = [
        model().weight_bytes()
        + walk(model(), batch=b, context=8192, chunk=1).kv_read_bytes
        for b in (batch, batch + 1)
    ]
    assert held[0] <= float(ACCELERATORS["h200-sxm"].usable_bytes) < held[1]


def test_the_bound_of_the_large_model_is_that_of_a_walk() -> None:
    bill = walk(module.BIG, batch=1, context=1000, chunk=1, bytes_weight=1, bytes_kv=1)
    moved = bill.iteration_bytes
    rate = float(ACCELERATORS["h200-sxm"].hbm_bw)
    assert module.speed.right == pytest.approx(rate / moved, rel=1e-6)
