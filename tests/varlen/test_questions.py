"""What a question asks to foresee comes true where it is carried out."""

from llmserve_lab.varlen.page import questions as module
from tests.varlen.batches import carried_out


def test_the_predictions_come_true_in_a_run() -> None:
    assert module.predict_masked.right == carried_out("masked", [10, 30]).pairs
    long, short = (carried_out("varlen", x).pairs for x in ([100], [10] * 10))
    assert module.predict_split.right == long / short
    assert module.BRANCHES[int(module.predict_dominates.right)] == "the linear layers"


def test_a_row_is_most_often_one_of_the_long_request() -> None:
    lengths = [100, 100, 100, 3700]
    answers = [length for length in lengths for _ in range(length)]
    assert module.row.right == sum(answers) / len(answers)
