"""Calculations by hand close with the digits that are printed, and with no others."""

import json
import re
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.transformer import HbmMeter, RunningSoftmax, flash_attention

PAGE = Path(__file__).parents[2] / "chapters" / "flash_attention.ipynb"
LINKED = re.compile(r"\[([^\]]*)\]\(#num-(hand_\w+)\)")


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    cells = json.loads(PAGE.read_text("utf8"))["cells"]
    text = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return {name: words for words, name in LINKED.findall(text)}


def _closes(said: dict[str, str], name: str, found: float) -> bool:
    """Whether a number worked out from what is printed rounds to what is printed."""
    digits = len(said[name].partition(".")[2])
    return f"{found:.{digits}f}" == said[name]


def _added(words: str) -> float:
    return sum(float(each) for each in words.split(" + "))


def test_a_reader_with_a_calculator_finds_the_output(said: dict[str, str]) -> None:
    at = {
        name: float(text)
        for name, text in said.items()
        if re.fullmatch(r"[\d.]+", text)
    }
    factor, one, two = at["hand_factor"], at["hand_one"], at["hand_two"]
    first, after = at["hand_mixed"], at["hand_mixed_2"]
    all_, total = at["hand_mixed_all"], at["hand_sum"]
    worked = {
        "hand_factor": exp(3 - 5),
        "hand_one": _added(said["hand_terms"]),
        "hand_two": _added(said["hand_terms_2"]),
        "hand_kept": one * factor,
        "hand_sum": at["hand_kept"] + _added(said["hand_terms_2"]),
        "hand_mixed_kept": first * factor,
        "hand_mixed_all": at["hand_mixed_kept"] + after,
        "hand_out": all_ / total,
        "hand_lse_1": 3 + log(one),
        "hand_lse_2": 5 + log(two),
        "hand_share_1": 1 / (1 + exp(at["hand_lse_2"] - at["hand_lse_1"])),
        "hand_share_2": 1 - at["hand_share_1"],
        "hand_out_1": first / one,
        "hand_out_2": after / two,
    }
    assert [
        name for name, found in worked.items() if not _closes(said, name, found)
    ] == []


def test_the_merge_gives_the_same_output(said: dict[str, str]) -> None:
    parts = (1, 2)
    merged = sum(
        float(said[f"hand_share_{n}"]) * float(said[f"hand_out_{n}"]) for n in parts
    )
    assert _closes(said, "hand_out", merged)


def test_the_mixture_is_what_its_terms_add_up_to(said: dict[str, str]) -> None:
    for terms, whole in (
        ("hand_mixture", "hand_mixed"),
        ("hand_mixture_2", "hand_mixed_2"),
    ):
        pairs = [term.split(" · ") for term in said[terms].split(" + ")]
        assert _closes(said, whole, sum(float(e) * float(v) for e, v in pairs))


def test_a_tile_is_summed_with_the_new_maximum_and_not_with_its_own() -> None:
    """5, 4 and then 2, 1, 3: the second tile's own maximum is below the old one."""
    first, second = np.array([5.0, 4.0]), np.array([2.0, 1.0, 3.0])
    old, new = first.max(), max(first.max(), second.max())
    known = {
        "sum_before": float(np.exp(first - old).sum()),
        "max_before": float(old),
        "max_now": float(new),
    }
    right, wrong = (
        float(f.RUNNING_SUM.at(known | {"tile_sum": float(np.exp(second - top).sum())}))
        for top in (new, second.max())
    )
    whole = np.exp(np.concatenate([first, second]) - new).sum()
    assert right == pytest.approx(whole) and wrong > 1.8 * right
    state = RunningSoftmax.empty((1,), 1)
    for tile in (first, second):
        state.add(tile[None], np.zeros((len(tile), 1)))
    assert state.total[0] == pytest.approx(right)


@pytest.mark.parametrize(
    ("n_q", "n_k", "read"), [(128, 128, 4608), (64, 128, 4608), (128, 256, 2560)]
)
def test_queries_read_with_keys_outside_are_counted_one_by_one(
    n_q: int, n_k: int, read: int
) -> None:
    """1,024 tokens: each tile of keys is met by the queries from its first key on."""
    rounds = [key for key in range(1024) if key % n_k == 0]
    counted = sum(len(range(first, 1024)) for first in rounds)
    known = {"prompt_len": 1024, "tile_keys": n_k}
    assert float(f.ROWS_VISITED(**known)) == counted == read
    hbm = HbmMeter()
    q = np.random.default_rng(0).standard_normal((3, 1024, 1, 1))
    flash_attention(*q, tile_rows=n_q, tile_keys=n_k, outer="keys", hbm=hbm)
    assert hbm.reads["query"] == counted
