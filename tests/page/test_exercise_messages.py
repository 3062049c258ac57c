"""What the check of an exercise says in numbers is what the reader's function did."""

import re

import numpy as np
import pytest

from llmserve_lab.moe import exercise as moe
from llmserve_lab.roofline import exercise as roofline
from llmserve_lab.speculative import exercise as drafts
from llmserve_lab.tensor_parallel import exercise as tensor
from tests.page.amounts import untrue


@pytest.mark.parametrize("place", [moe.in_order, moe.heaviest_first])
def test_the_load_of_the_busiest_gpu_is_said(place: moe.Place) -> None:
    """Each of the copies of an expert takes its part of what is chosen."""
    rows = moe.batch_rows()
    held = place(rows, moe.GPUS, moe.SEATS)
    copies = np.bincount([e for each in held for e in each])
    load = [sum(rows[e] / copies[e] for e in each) for each in held]
    over = max(load) / (sum(rows) / 32)
    wants = [over] if over <= 1.1 else [float(np.argmax(load)), over, 1.1]
    assert untrue(moe.check(place), wants) == []


def test_what_each_gpu_sends_is_said() -> None:
    """In a ring a GPU sends what it lacks: of two gathers, and of one reduction."""
    said = tensor.check(tensor.columns_then_rows)
    rows, ranks = tensor.N_ROWS, tensor.RANKS
    once = 2 * (ranks - 1) * rows * tensor.D_MODEL // ranks
    assert untrue(said.partition(",")[2], [once]) == []
    twice = (ranks - 1) * rows * (tensor.D_FF + tensor.D_MODEL) // ranks
    (told,) = re.findall(
        r"there are (.*); one", tensor.check(tensor.by_columns_twice), re.S
    )
    assert untrue(told, [2, twice]) == []


@pytest.mark.parametrize("more", [1, -1])
def test_a_choice_beside_the_largest_batch_is_told_both(more: int) -> None:
    def choose(context: int, limit_s: float) -> int:
        return max(0, roofline.largest_batch(context, limit_s) + more)

    context, limit_s = next(
        (c, s)
        for c in roofline.CONTEXTS
        for s in roofline.LIMITS_S
        if choose(c, s) != roofline.largest_batch(c, s)
    )
    right = roofline.largest_batch(context, limit_s)
    assert roofline.seconds(right + 1, context) > limit_s
    assert not right or roofline.seconds(right, context) <= limit_s
    said = roofline.check(choose)
    assert untrue(said, [context, limit_s, right + more, right]) == []
    assert ("too many" in said) is (more > 0)


def test_the_chance_of_a_word_is_said_beside_that_of_the_target() -> None:
    """Drawn from the target again, tea is kept a quarter and has half of the rest."""
    kept = [min(p, q) for p, q in zip(drafts.TARGET, drafts.DRAFT, strict=True)]
    tea = kept[0] + (1 - sum(kept)) * drafts.TARGET[0]
    said = drafts.check(drafts.redrawn_from_the_target)
    assert untrue(said.partition("tea")[2], [tea, drafts.TARGET[0]]) == []
