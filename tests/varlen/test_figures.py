"""The live figures say what a run counts."""

from typing import Any

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.varlen.arguments import batch_of
from llmserve_lab.varlen.page import figures
from tests.varlen.batches import carried_out


@pytest.mark.parametrize("lengths", [(10, 30, 0, 0), (20, 0, 5, 40), (1, 1, 1, 1)])
def test_the_square_states_what_is_counted(lengths: tuple[int, ...]) -> None:
    names = (f"len_{i}" for i in range(1, 5))
    known = figures.attention_square().values(**dict(zip(names, lengths, strict=True)))
    there = [length for length in lengths if length]
    for way in ("padded", "masked", "varlen"):
        done = carried_out(way, there)
        assert known[f"{way}_pairs"] == pytest.approx(done.pairs)
        assert known[f"{way}_wasted"] == pytest.approx(done.wasted_pairs)
        assert known["useful_pairs"] == pytest.approx(done.useful_pairs)
    assert known["n_rows"] == pytest.approx(sum(there))


def test_the_square_is_drawn_from_its_sliders() -> None:
    text = str(figures.attention_square().spec["layer"])
    assert all(f"len_{i}" in text for i in range(1, 5)) and "way == 1" in text


def test_attention_overtakes_where_the_bill_of_flops_says() -> None:
    for model in MODELS.values():
        known = figures.attention_share().values(model=model.name)
        s, pair = known["overtake_prompt"], model.attn_flops_per_pair(absorbed=False)
        attention, linear = pair * s * (s + 1) / 2, 2 * model.params_active * s
        assert attention == pytest.approx(linear)


def test_a_batch_of_nothing_has_no_moments() -> None:
    with pytest.raises(ValueError, match=r"lengths must be 1 or more requests .* \[\]"):
        batch_of([])
    with pytest.raises(ValueError, match=r"at least 1 token, got \[3, 0\]"):
        batch_of([3, 0])
    lengths: Any = [1.5]
    with pytest.raises(TypeError, match=r"lengths must be whole numbers, got 1\.5"):
        batch_of(lengths)
