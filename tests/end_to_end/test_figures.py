"""The figures say what runs say."""

import math
import re
from functools import cache

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end.example import example
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.page import (
    drawings,
    figures,
    forward_pass,
    heat,
    loop,
    rows,
    stills,
    turn,
)
from llmserve_lab.end_to_end.replies import reply
from llmserve_lab.end_to_end.story import PROMPT
from llmserve_lab.end_to_end.toy import toy
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.step.figure import StepFigure
from tests.page import drawn

TINY = {"prompt_len": 10.0, "new_tokens": 10.0}


@cache
def live() -> LiveFigure:
    return figures.again_or_once()


NUMERAL = re.compile(r"[\d.]+(?:e[-+]\d+)?")


def test_rows_and_pairs_of_the_figure_are_those_of_two_loops() -> None:
    known = live().values(**TINY)
    both = both_loops(toy(), [0] * 10, 10)
    again, once = both.recomputed.tally, both.cached.tally
    assert known["rows_ratio"] == pytest.approx(again.rows / once.rows)
    assert known["pairs_ratio"] == pytest.approx(again.pairs / once.pairs)


def test_the_cache_of_the_figure_is_the_catalog_s() -> None:
    known, model = live().values(**TINY), MODELS["llama-3.1-8b"]
    assert known["kv_held_bytes"] == 19 * model.kv_bytes_per_token()


def test_a_pass_waits_for_the_longer_of_its_bars() -> None:
    """Counted from the list of tensors; the picture states each pass's longer bar."""
    model, (read, after, full) = MODELS["llama-3.1-8b"], stills.phases().values()
    inside = sum(
        each.params
        for each in model.tensors()
        if len(each.shape) == 2 and each.name not in ("embed_tokens", "lm_head")
    )
    head = model.vocab * model.d_model
    pairs = 4 * 32 * 32 * 128 * 1000 * 1001 / 2
    flops = 2 * (inside * 1000 + head) + pairs
    assert read[2] == pytest.approx(flops / 989.4e12, rel=1e-4)
    weights_s = 2 * (inside + head) / 3.35e12
    assert after[0] == full[0] == read[0] == pytest.approx(weights_s, rel=1e-4)
    assert read[2] > 3 * read[0] and read[1] == 0
    assert after[0] + after[1] > 200 * after[2]
    assert full[1] > full[0] and full[1] == pytest.approx(131_072 * 131_071 / 3.35e12)
    assert full[2] == pytest.approx(
        (2 * (inside + head) + 4 * 32 * 32 * 128 * 131_072) / 989.4e12, rel=1e-4
    )
    said = stills.waiting().sentence
    assert "14.4 ms to compute the prompt, 4.52 ms to read" in said
    assert "9.61 ms with the longest" in said


@pytest.mark.parametrize("name", rows.WAYS)
def test_lines_are_as_wide_as_weights(name: str) -> None:
    figure, one, way = rows.attention_rows(), example(), rows.WAYS[name]
    log = list(rows.WAYS).index(name)
    for i, weights in enumerate(way.weights()):
        lines = [r for r in figure.rows["lines"] if r["since"] == i and r["log"] == log]
        widths = [line["width"] / rows.WIDEST for line in lines]
        seen = weights[: way.seen(i)]
        assert widths == pytest.approx(seen, abs=0.06 / rows.WIDEST)
        assert seen.sum() == pytest.approx(1) and not weights[way.seen(i) :].any()
        received = figure.frame(name, i).counters
        assert received == tuple(f"{x:.2f}" for x in weights @ one.value)


def test_the_ways_to_attend_differ_in_what_they_leave_out() -> None:
    first, free, undivided, turned = rows.WAYS.values()
    assert first.weights() == pytest.approx(example().weights)
    assert turned.weights() == pytest.approx(example().turned.weights)
    assert (free.weights() > 0).all()
    assert undivided.weights()[-1].max() > first.weights()[-1].max()


def inks_of(figure: StepFigure, number: int, top: float) -> list[str]:
    """Inks of the keys and values of one half in one pass."""
    rows = figure.rows["cells"]
    alive = [row for row in rows if row["since"] == number]
    return [row["ink"] for row in alive if 0 < row["y"] - top < loop.BLOCKS]


def test_the_loop_s_columns_are_those_of_its_passes() -> None:
    figure = loop.loop()
    once, again = loop.runs().values()
    assert once.text == again.text
    totals = [0, 0]
    for number, pair in enumerate(zip(once.passes, again.passes, strict=True)):
        for half, (top, one) in enumerate(zip(loop.TOPS.values(), pair, strict=True)):
            inks = inks_of(figure, number, top)
            repeated = pair[0].reused if one is pair[1] else 0
            assert inks.count("idle") == loop.BLOCKS * repeated
            assert inks.count("new") == loop.BLOCKS * (one.computed - repeated)
            assert inks.count("cache") == loop.BLOCKS * one.reused
            totals[half] += one.computed
        counters = figure.frame("both loops", number).counters
        assert counters[0] == f"{pair[0].computed} with, {pair[1].computed} without"
        assert counters[1] == f"{totals[0]} with, {totals[1]} without"
        kept = inks_of(figure, number, loop.TOPS["with a KV cache"]).count("cache")
        per_token = MODELS[loop.LLAMA].kv_bytes_per_token()
        assert counters[2] == kept / loop.BLOCKS * per_token  # what is drawn as kept
    assert totals == [11, 60]


@pytest.mark.parametrize("key_at", turn.DIALS)
def test_the_angle_is_the_start_plus_distance_times_speed(key_at: int) -> None:
    figure = turn.turn()
    for distance in turn.DISTANCES:
        key = turn.arrow(0.0, key_at)
        query = turn.arrow(turn.START, key_at + distance)
        angle = math.radians(turn.START) + distance
        assert float(key @ query) == pytest.approx(math.cos(angle))
        sum_, product = map(str, figure.frame("both", distance).counters)
        shown = float(sum_.split("= ")[1].removesuffix("°").replace("−", "-"))
        assert shown == pytest.approx(math.degrees(angle), abs=0.05)
        assert abs(shown) < 180  # so it is the angle between them
        assert float(product.replace("−", "-")) == pytest.approx(
            math.cos(angle), abs=0.005
        )


def test_the_way_ends_where_the_next_pass_begins() -> None:
    figure = forward_pass.way()
    last = [r for r in figure.rows["cells"] if r["ink"] == "new"][-1]
    answer = reply(PROMPT).text
    assert answer.startswith(last["text"].replace("␣", " "))
    shown = figure.shown(figure.frame("pass", 3))
    assert shown == ["4 × 64", "4 × 4,096"]


@pytest.mark.parametrize("log", [0, 1])
def test_the_heat_s_goal_is_reached_where_it_says(log: int) -> None:
    """Not at the start, and not at the last temperature either."""
    figure, reached = heat.heat(), list[int]()
    assert figure.goal is not None
    for frame in range(len(heat.TEMPERATURES)):
        met = figure.goal.met({"frame": frame, "log": log})
        bar = next(
            r
            for r in figure.rows["bars"]
            if r["word"] == "worm" and r["since"] == frame and r["log"] == log
        )
        allowed = figure.frame(list(heat.LOGS)[log], frame).counters[1]
        assert met == (bar["end"] > heat.WANTED and float(allowed) <= heat.MOST)
        reached += [frame] if met else []
    assert reached == ([heat.TEMPERATURES.index(2.0)] if log else [])


def test_each_bar_has_its_number_once() -> None:
    rows = heat.heat().rows
    for bar, beside in zip(rows["bars"], rows["beside"], strict=True):
        (shown,) = [text for text in (bar["text"], beside["text"]) if text]
        cut = bar["end"] == 0
        assert shown.startswith("cut (was ") if cut else shown == f"{bar['end']:.2f}"
        assert beside["x"] > bar["end"] and beside["word"] == bar["word"]


def test_bars_are_shares_of_what_may_be_drawn() -> None:
    rows = heat.heat().rows["bars"]
    for log in range(len(heat.LOGS)):
        for frame in range(len(heat.TEMPERATURES)):
            ends = [r["end"] for r in rows if r["log"] == log and r["since"] == frame]
            assert sum(ends) == pytest.approx(1)


def test_stations_to_come_are_pale() -> None:
    figure = forward_pass.way()
    for frame in range(len(figure.logs["pass"].frames)):
        there = [
            row
            for row in figure.rows["cells"]
            if row.get("since", 0) <= frame < row.get("until", 99)
        ]
        inks = [row["ink"] for row in there]
        later = len(forward_pass.BANDS) - 1 - frame
        assert len({r["y"] for r in there if r["ink"] == "empty"}) == max(later, 0)
        assert "new" in inks
        assert all(row["text"] for row in there if row["ink"] != "empty")


def test_the_drawings_state_the_catalog_s_numbers() -> None:
    model = MODELS["llama-3.1-8b"]
    assert drawings.heads(model).sentence.startswith("32 query heads, 8 key–value")
    assert "8.03 billion parameters, 70%" in drawings.parameters(model).sentence
    assert "add their result" in drawings.block().sentence


def test_the_bold_number_of_a_pass_is_that_of_its_longer_bar() -> None:
    """Reading above, computing below it: the two numbers beside the bars of a pass."""
    (panel,) = drawn.panels(stills.waiting)
    beside = [text for text in panel.texts if NUMERAL.fullmatch(text.get_text())]
    pairs = list(zip(beside[::2], beside[1::2], strict=True))
    assert len(pairs) == len(stills.phases())
    for pair in pairs:
        bold = [text for text in pair if text.get_weight() == "bold"]
        assert len(bold) == 1
        assert float(bold[0].get_text()) == max(float(x.get_text()) for x in pair)


def test_a_word_that_is_cut_says_what_it_has_with_all_words_left() -> None:
    """Frame by frame: at the temperature of the frame, as in the log beside it."""
    figure = heat.heat()
    texts = {
        (row["log"], row["since"], row["word"]): row["text"]
        for table in ("bars", "beside")
        for row in figure.rows[table]
        if row["text"]
    }
    cut = {at: text for at, text in texts.items() if text.startswith("cut")}
    assert len(cut) > 5
    free = list(figure.logs).index("all words")
    for (log, since, word), text in cut.items():
        assert log != free and text == f"cut (was {texts[free, since, word]})"
