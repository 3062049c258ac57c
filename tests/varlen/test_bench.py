"""The bench reads lengths as they are typed, and its goal can be reached."""

import pytest

from llmserve_lab.running_example import cost
from llmserve_lab.varlen.page.playground import bench, read, show
from llmserve_lab.varlen.prefill_time import total_s
from tests.varlen.batches import carried_out


def test_lengths_are_read() -> None:
    assert read("") == [100, 200, 500, 1200]
    assert read("3 x 7 5") == [7, 7, 7, 5] and read("2x4") == [4, 4]


@pytest.mark.parametrize("text", ["a", "0", "3 x", "2 x 3 x 4", "-5", "200 x 1000"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a length must"):
        read(text)
    with pytest.raises(ValueError, match="lengths must be 100,000 tokens at most"):
        read("90000 90000")


@pytest.mark.parametrize("name", ["model", "accelerator"])
def test_a_name_that_is_in_no_catalogue_is_refused(name: str) -> None:
    known = {"model": "Llama-3.1-8B", "accelerator": "H100 SXM"}
    with pytest.raises(ValueError, match=f"{name} must be one of .* got 'x'"):
        show(text="3 5", tile=64, **{**known, name: "x"})


def test_the_bill_is_rows_and_pairs_of_a_run() -> None:
    lengths = [2, 5, 3]
    for way, seconds in total_s(lengths, cost()).items():
        done = carried_out(way, lengths)
        want = done.n_rows * cost().row_s + done.pairs * cost().pair_s
        assert seconds == pytest.approx(want)


def test_the_goal_is_reached_by_many_short_requests_only() -> None:
    def over(lengths: list[int]) -> float:
        times = total_s(lengths, cost())
        return times["masked"] / times["varlen"]

    assert over([128] * 64) >= 1.25 > over([1024] * 8)
    shown = bench().answer(
        text="64 x 128", tile=128, model="Llama-3.1-8B", accelerator="H100 SXM"
    )
    assert "1.28" in shown
    assert "Not possible" in bench().answer(
        text="?", tile=128, model="Llama-3.1-8B", accelerator="H100 SXM"
    )
