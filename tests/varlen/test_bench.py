"""The bench reads lengths as they are typed, and its goal can be reached."""

import pytest

from llmserve_lab.page.widget import Choose
from llmserve_lab.running_example import cost
from llmserve_lab.transformer import Packing, cumulative
from llmserve_lab.varlen.page.playground import bench, read, show
from llmserve_lab.varlen.prefill_time import one_pass_s, total_s
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


def test_the_bill_is_rows_and_pairs_of_a_run_without_the_future() -> None:
    """The masks of the kernels, counted: to masking all rows are one sequence."""
    lengths = [2, 5, 3]
    sequences = {"padded": [5, 5, 5], "masked": [10], "varlen": lengths}
    for way, seconds in total_s(lengths, cost()).items():
        mask = Packing(cumulative(sequences[way]), (0,) * len(sequences[way])).mask
        pairs = int(mask.sum())
        want = carried_out(way, lengths).n_rows * cost().row_s + pairs * cost().pair_s
        assert seconds == pytest.approx(want)
        assert pairs < carried_out(way, lengths).pairs


@pytest.mark.parametrize("lengths", [[1000], [100, 200, 500, 1200]])
def test_a_pass_is_an_iteration_of_the_engine_and_longer_than_its_arithmetic(
    lengths: list[int],
) -> None:
    together = one_pass_s(lengths, cost())
    assert together > total_s(lengths, cost())["varlen"]
    one_by_one = sum(one_pass_s([each], cost()) for each in lengths)
    assert together <= one_by_one
    apart = one_by_one - together  # what each further pass costs beside arithmetic
    assert apart >= (len(lengths) - 1) * cost().overhead_s


def test_the_goal_is_reached_by_many_short_requests_only() -> None:
    def over(lengths: list[int]) -> float:
        times = total_s(lengths, cost())
        return times["masked"] / times["varlen"]

    assert over([600] * 100) >= 2 > over([600] * 90)
    assert over([6000] * 10) < 2
    shown = bench().answer(
        text="64 x 128", tile=128, model="Llama-3.1-8B", accelerator="H100 SXM"
    )
    assert "1.14" in shown
    assert "Not possible" in bench().answer(
        text="?", tile=128, model="Llama-3.1-8B", accelerator="H100 SXM"
    )


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    """First model, first GPU, the four prompts: as the knobs stand."""
    made = bench()
    first = {
        name: knob.default
        for name, knob in made.knobs.items()
        if isinstance(knob, Choose)
    }
    assert first == {"model": "Llama-3.1-8B", "accelerator": "H100 SXM"}
    assert made.picture.html() in made.answer(text="", tile=128, **first)
    times = total_s([100, 200, 500, 1200], cost())
    assert made.picture.sentence == (
        "Arithmetic in all: "
        + ", ".join(f"{way} {1e3 * seconds:.1f} ms" for way, seconds in times.items())
        + "."
    )
