"""The live figures say what a run counts, and the stills what was measured."""

import re
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.evidence.packing import (
    AZURE_LONGEST,
    AZURE_MEAN,
    AZURE_PADDING,
    AZURE_PROMPTS,
    UNPADDED,
)
from llmserve_lab.varlen.arguments import batch_of
from llmserve_lab.varlen.lengths import SIZES, padding_share, prompts
from llmserve_lab.varlen.measured import large, measured, off, predicted
from llmserve_lab.varlen.page import charts, figures, stills
from tests.page import drawn
from tests.varlen.batches import carried_out


@pytest.mark.parametrize("lengths", [(10, 30, 5, 5), (20, 2, 5, 40), (1, 1, 1, 1)])
def test_the_square_states_what_is_counted(lengths: tuple[int, ...]) -> None:
    names = (f"len_{i}" for i in range(1, 5))
    known = figures.attention_square().values(**dict(zip(names, lengths, strict=True)))
    for way in ("padded", "masked", "varlen"):
        done = carried_out(way, list(lengths))
        assert known[f"{way}_pairs"] == pytest.approx(done.pairs)
        assert known["useful_pairs"] == pytest.approx(done.useful_pairs)
    padded = carried_out("padded", list(lengths))
    share = padded.wasted_rows / padded.n_rows
    assert known["padding_share"] == pytest.approx(share)


def test_the_squares_are_drawn_from_the_sliders() -> None:
    text = str(figures.attention_square().spec["layer"])
    assert all(f"len_{i}" in text for i in range(1, 5))


@pytest.mark.parametrize("width", [280, 390, 640, 900])
def test_what_is_useful_stays_inside_its_square_at_any_width(width: int) -> None:
    """Both axes have as many pixels a token, whatever the width."""
    spec = figures.attention_square().spec
    texts = set(re.findall(r"'domainMax': {'expr': \"?'?([^}]*?)\"?'?}", str(spec)))
    assert len(texts) == 2
    longest, total, height = 1200, 2000, spec["height"]
    side = max(2 * longest, total)
    tall = width < 400
    unit = (height / 3.4 if tall else min(width / 3.24, height - 96)) / side
    across = 0 if tall else 2 * 1.12 * side
    assert (across + side) * unit <= width + 1
    down = 2 * 1.2 * side if tall else 44 / unit
    assert (down + side) * unit <= height + 1


def test_attention_overtakes_where_the_bill_of_flops_says() -> None:
    shown = [m for m in MODELS.values() if m.params_total > figures.LARGE]
    assert len(shown) == len(MODELS) - 1
    for model in shown:
        known = figures.attention_share().values(model=model.name)
        s, pair = known["overtake_prompt"], model.attn_flops_per_pair(absorbed=False)
        head = model.vocab * model.d_model  # scored for the last row only
        attention = pair * s * (s + 1) / 2
        linear = 2 * (model.params_active - head) * s
        assert attention == pytest.approx(linear)


def test_a_prompt_beyond_the_model_s_context_is_said_to_be_so() -> None:
    known = figures.attention_share().values
    for model in (m for m in MODELS.values() if m.params_total > figures.LARGE):
        assert model.max_context
        for prompt in figures.PROMPTS:
            shown = known(model=model.name, row_prompt=prompt)
            with_answer = prompt + 1  # of one token
            assert shown["read_whole"] == float(with_answer > model.max_context)


def test_a_batch_of_nothing_has_no_moments() -> None:
    with pytest.raises(ValueError, match=r"lengths must be 1 or more requests .* \[\]"):
        batch_of([])
    with pytest.raises(ValueError, match=r"at least 1 token, got \[3, 0\]"):
        batch_of([3, 0])
    lengths: Any = [1.5]
    with pytest.raises(TypeError, match=r"lengths must be whole numbers, got 1\.5"):
        batch_of(lengths)


@pytest.mark.parametrize("service", AZURE_PROMPTS)
def test_the_quantiles_stand_for_the_trace(service: str) -> None:
    """Their mean, and the padding of their batches, are near those of all requests."""
    kept = AZURE_PROMPTS[service]
    assert list(kept) == sorted(kept) and max(kept) <= float(AZURE_LONGEST[service])
    assert np.mean(kept) == pytest.approx(float(AZURE_MEAN[service]), rel=0.005)
    for size, share in AZURE_PADDING[service].items():
        assert padding_share(service, size) == pytest.approx(float(share), abs=0.03)


def test_another_service_is_refused() -> None:
    with pytest.raises(ValueError, match="service must be one of conversation, code"):
        prompts("music")


def test_the_stills_say_their_numbers() -> None:
    share = padding_share("conversation", stills.LABELLED)
    assert f"{share:.0%} (conversation)" in stills.padding().sentence
    best = max(UNPADDED, key=lambda row: row.batch * row.stretched)
    said = stills.unpadded().sentence
    assert f"{measured(best):.2f}" in said and f"{predicted(best):.2f}" in said


def test_the_prediction_is_the_work_of_an_encoder() -> None:
    """Three matrices of 768 × 3,072 and more: counted for one token, layer by layer."""
    d, f, layers = 768, 3072, 12
    for row in UNPADDED:
        s, half = row.stretched, row.stretched // 2
        per_row = 2 * (4 * d * d + 2 * d * f) * layers
        whole = per_row * s + 4 * d * s * s * layers
        packed = per_row * half + 4 * d * half * half * layers
        assert predicted(row) == pytest.approx(whole / packed, rel=1e-9)


def test_the_model_is_near_where_rows_are_many_and_far_where_they_are_few() -> None:
    assert max(abs(off(row)) for row in large()) < 0.2
    few = [row for row in UNPADDED if row.batch * row.stretched <= 256]
    assert few and all(measured(row) <= 1.0 for row in few)


def test_more_prompts_mean_more_padding() -> None:
    pairs = product(AZURE_PROMPTS, pairwise(SIZES))
    for service, (less, more) in pairs:
        assert padding_share(service, less) < padding_share(service, more)


def test_the_sentence_says_on_which_side_attention_does_more() -> None:
    """Beyond the prompt at which it overtakes; before it the linear layers do more."""
    figure = figures.attention_share()
    words = r"attention does (more|fewer) FLOPs than the linear layers from prompts of "
    (said,) = re.findall(words + r"\{overtake_prompt\} on", figure.sentence)
    for prompt in figures.PROMPTS:
        known = figure.values(row_prompt=prompt)
        beyond, more = prompt > known["overtake_prompt"], known["attn_share"] > 0.5
        assert beyond is (more is (said == "more"))


def test_requests_lie_end_to_end_in_the_square_of_varlen() -> None:
    """Each begins as far behind the one before as that one is long."""
    square = f"2 * {charts.STEP_X} + "
    places = list(charts.starts().values())
    assert all(each.startswith(square) for each in places)
    before = [set(each.removeprefix(square).split("+")) - {"0"} for each in places]
    assert before[0] == set() and before[1] == {charts.LENGTHS[0]}
    added = [after - one for one, after in pairwise(before)]
    assert added == [{name} for name in charts.LENGTHS[:-1]]


def test_each_request_has_a_block_in_the_ink_of_its_own_future() -> None:
    """Three squares, four blocks in each, as wide as the requests are long."""
    figure = figures.attention_square()
    known = figure.values()
    words = {m["text"]: m["ink"] for m in drawn.marks(figure, "text") if "text" in m}
    ink = words["for nothing: own future"]
    assert ink != words["masked: pairs of two requests"]
    wide = [m["width"] for m in drawn.marks(figure, "rect") if m["ink"] == ink]
    lengths = 3 * [known[f"len_{i}"] for i in range(1, 5)]
    assert len(wide) == len(lengths)
    scale = sum(wide) / sum(lengths)
    assert sorted(wide) == pytest.approx([scale * n for n in sorted(lengths)])


@pytest.mark.parametrize("name", ["Llama-3.1-8B", "Llama-3-70B"])
def test_the_ground_beyond_the_model_begins_at_its_longest_context(name: str) -> None:
    """Placed on the axis between two prompts of the slider."""
    figure = figures.attention_share()
    places = []
    for prompt in (1000.0, 8000.0):
        at = {"model": name, "row_prompt": prompt}
        rules = {round(m["x"], 3) for m in drawn.marks(figure, "rule", **at)}
        places.append(rules)
        (ground,) = (m for m in drawn.marks(figure, "rect", **at))
    (start,), (end,) = places[0] - places[1], places[1] - places[0]
    model = next(each for each in MODELS.values() if each.name == name)
    along = np.log(longest(model) / 1000) / np.log(8)
    assert ground["x"] == pytest.approx(start + along * (end - start), abs=0.1)


def longest(model: Any) -> float:
    return float(model.max_context)
