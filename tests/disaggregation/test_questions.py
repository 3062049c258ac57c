"""What a question asks to foresee comes true where it is carried out."""

from llmserve_lab.disaggregation import questions as module


def test_rows_ride_along_for_free_by_the_hundred() -> None:
    assert module.predict_free.right == 2.0
    assert module.predict_rate.right == 1.0
    assert module.predict_hide.right == 1.0
