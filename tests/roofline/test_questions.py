"""What a question asks to foresee comes true where it is carried out."""

import pytest

from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.page.question.content import text_of
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


def test_each_other_number_of_the_reasons_is_that_of_a_walk() -> None:
    """Decodes of 32 wait for memory alone; doubled ones, by FLOPs over bytes."""
    rate = float(ACCELERATORS["h100-sxm"].hbm_bw)
    one, many = (
        walk(model(), batch=batch, context=1100, chunk=1).iteration_bytes / rate
        for batch in (1, 32)
    )
    assert text_of(module.predict_batch.why).startswith(
        f"At least {1e3 * many:.2f} ms, {many / one:.2f} times as long, for 32 tokens"
    )
    assert f"needs at least {1e3 * one:.2f} ms" in text_of(module.predict_batch.prompt)
    does = [
        bill.iteration_flops / bill.iteration_bytes
        for bill in (
            walk(model(), batch=batch, context=16_384, chunk=1) for batch in (14, 28)
        )
    ]
    said = f"grows by a factor of {does[1] / does[0]:.2f}."
    assert text_of(module.predict_long.why).endswith(said)
