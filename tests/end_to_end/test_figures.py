"""The figures say what runs say."""

from functools import cache

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.page import figures, stills
from llmserve_lab.end_to_end.toy import TEXT, tokenize, toy
from llmserve_lab.page.live.figure import LiveFigure

TINY = {"prompt_len": 32.0, "new_tokens": 16.0}


@cache
def live() -> LiveFigure:
    return figures.again_or_once()


def test_rows_and_pairs_of_the_figure_are_those_of_two_loops() -> None:
    known = live().values(**TINY)
    both = both_loops(toy(), [0] * 32, 16)
    again, once = both.recomputed.tally, both.cached.tally
    assert known["rows_ratio"] == pytest.approx(again.rows / once.rows)
    assert known["pairs_ratio"] == pytest.approx(again.pairs / once.pairs)


def test_the_cache_of_the_figure_is_the_catalog_s() -> None:
    known, model = live().values(**TINY), MODELS["llama-3-8b"]
    assert known["kv_held_bytes"] == 47 * model.kv_bytes_per_token()


def test_the_mask_states_how_many_pairs_it_lets_through() -> None:
    tokens = tokenize(TEXT)
    one, n = stills.causal_mask(tokens), len(tokens)
    assert f"Of the {n * n} pairs" in one.sentence
    assert f"lets {n * (n + 1) // 2} through" in one.sentence
