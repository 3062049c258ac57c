"""The figures say what runs say."""

from functools import cache

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end.example import example
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.page import (
    drawings,
    figures,
    heat,
    loop,
    rows,
    stills,
    way,
)
from llmserve_lab.end_to_end.replies import reply
from llmserve_lab.end_to_end.story import PROMPT
from llmserve_lab.end_to_end.toy import TEXT, tokenize, toy
from llmserve_lab.page.live.figure import LiveFigure

TINY = {"prompt_len": 10.0, "new_tokens": 10.0}


@cache
def live() -> LiveFigure:
    return figures.again_or_once()


def test_rows_and_pairs_of_the_figure_are_those_of_two_loops() -> None:
    known = live().values(**TINY)
    both = both_loops(toy(), [0] * 10, 10)
    again, once = both.recomputed.tally, both.cached.tally
    assert known["rows_ratio"] == pytest.approx(again.rows / once.rows)
    assert known["pairs_ratio"] == pytest.approx(again.pairs / once.pairs)


def test_the_cache_of_the_figure_is_the_catalog_s() -> None:
    known, model = live().values(**TINY), MODELS["llama-3.1-8b"]
    assert known["kv_held_bytes"] == 19 * model.kv_bytes_per_token()


def test_the_mask_states_how_many_pairs_it_lets_through() -> None:
    tokens = tokenize(TEXT)
    one, n = stills.causal_mask(tokens), len(tokens)
    assert f"Of the {n * n} pairs" in one.sentence
    assert f"lets {n * (n + 1) // 2} through" in one.sentence


def test_lines_are_as_wide_as_weights() -> None:
    figure = rows.attention_rows()
    for i, weights in enumerate(example().weights):
        lines = [r for r in figure.rows["lines"] if r["since"] == i]
        widths = [line["width"] / rows.WIDEST for line in lines]
        assert widths == pytest.approx(weights[: i + 1], abs=0.05 / rows.WIDEST)
        received = figure.frame("rows", i).counters
        assert received == pytest.approx(example().mixed[i])


def test_the_loop_s_columns_are_those_of_its_passes() -> None:
    figure = loop.loop()
    for log, (name, cached) in enumerate(loop.LOGS.items()):
        for number, one in enumerate(reply(PROMPT, cached=cached).passes):
            there = [
                r
                for r in figure.rows["cells"]
                if r["log"] == log and r["since"] == number and r["y"] > 1
            ]
            inks = [row["ink"] for row in there]
            assert inks.count("new") == loop.BLOCKS * one.computed
            assert inks.count("cache") == loop.BLOCKS * one.reused
            assert figure.frame(name, number).counters[:2] == (one.computed, one.reused)


def test_the_way_ends_where_the_next_pass_begins() -> None:
    figure = way.way()
    last = [r for r in figure.rows["cells"] if r["ink"] == "new"][-1]
    answer = reply(PROMPT).text
    assert answer.startswith(last["text"].replace("␣", " "))
    shown = figure.shown(figure.frame("pass", 3))
    assert shown == ["4 × 64", "4 × 4,096"]


@pytest.mark.parametrize(("log", "top_p"), [(0, 1.0), (1, 0.9)])
def test_the_heat_s_goal_is_reached_first_where_it_says(log: int, top_p: float) -> None:
    figure, first = heat.heat(), heat.first_frame(top_p)
    assert figure.goal is not None and 0 < first < len(heat.TEMPERATURES)
    for frame in range(len(heat.TEMPERATURES)):
        met = figure.goal.met({"frame": frame, "log": log})
        bar = next(
            r
            for r in figure.rows["bars"]
            if r["word"] == "seed" and r["since"] == frame and r["log"] == log
        )
        drawn = bar["ink"] == "new" and bar["end"] > heat.WANTED
        assert met == drawn == (frame >= first)


def test_each_bar_has_its_number_once() -> None:
    rows = heat.heat().rows
    for bar, beside in zip(rows["bars"], rows["beside"], strict=True):
        shown = [text for text in (bar["text"], beside["text"]) if text]
        assert shown == [f"{bar['end']:.2f}"]
        assert beside["x"] > bar["end"] and beside["word"] == bar["word"]


def test_stations_to_come_are_pale() -> None:
    figure = way.way()
    for frame in range(len(figure.logs["pass"].frames)):
        there = [
            row
            for row in figure.rows["cells"]
            if row.get("since", 0) <= frame < row.get("until", 99)
        ]
        inks = [row["ink"] for row in there]
        later = len(way.BANDS) - 1 - frame
        assert len({r["y"] for r in there if r["ink"] == "empty"}) == max(later, 0)
        assert "new" in inks
        assert all(row["text"] for row in there if row["ink"] != "empty")


def test_the_drawings_state_the_catalog_s_numbers() -> None:
    model = MODELS["llama-3.1-8b"]
    assert drawings.heads(model).sentence.startswith("32 query heads, 8 key–value")
    assert "8.03 billion parameters, 70%" in drawings.parameters(model).sentence
    assert "(−0.42 and −0.42)" in drawings.rope().sentence
    assert "add their result" in drawings.block().sentence
