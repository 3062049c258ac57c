"""What the pictures of translation and of the chain of names say, worked out anew."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.serving import START_LOGS
from llmserve_lab.kv_memory.lifecycle import A_PROMPT, BLOCKS, SIZE, moments
from llmserve_lab.kv_memory.page import (
    figures,
    kinds,
    pictures,
    questions,
    stills,
    strips,
    tables,
)
from llmserve_lab.kv_memory.waste import SERVICES, lives, wasted
from llmserve_lab.page.palette import GREY, MEANINGS
from llmserve_lab.paged_cache import NoFreeBlockError, PagedAllocator, block_hash
from llmserve_lab.paged_cache.block_hash import ROOT
from tests.page import drawn, seen


def test_the_address_that_is_drawn_holds_the_token_of_that_position() -> None:
    table, first = pictures.request_a(), moments()[0]
    block = table[pictures.POSITION // SIZE]
    place = pictures.POSITION % SIZE
    assert first.contents[block][place] == A_PROMPT[pictures.POSITION]
    said = pictures.translation().sentence
    assert f"= {pictures.POSITION // SIZE} of the table says block {block}" in said
    assert f"place {pictures.POSITION} % {SIZE} = {place} " in said


def test_each_prompt_finds_as_many_blocks_as_begin_alike() -> None:
    found = {walk.what[0]: walk.found for walk in pictures.walks()}
    assert found == {"A": 2, "B": 2, "G": 0, "D": 0}


def test_equal_blocks_after_another_beginning_have_other_names() -> None:
    walks = {walk.what[0]: walk for walk in pictures.walks()}
    a, b, g, d = (walks[letter] for letter in "ABGD")
    assert a.tokens[SIZE : 2 * SIZE] == g.tokens[SIZE : 2 * SIZE]
    assert a.names == b.names
    assert a.names[1] != g.names[1]
    assert not set(a.names) & set(d.names)
    parent = ROOT
    for place, name in enumerate(a.names):
        parent = block_hash(parent, a.tokens[SIZE * place : SIZE * (place + 1)])
        assert parent.hex()[:2] == name


def test_blocks_shared_in_whole_save_a_little_less() -> None:
    """Four requests with a prompt of 1,000 that find its full blocks, 200 more each."""
    paged = PagedAllocator(1_000, 16)
    for sample in range(4):
        paged.admit(sample, [1] * 1_000)
        paged.computed(sample, 1_000)
        for _ in range(200):
            paged.append(sample, 2 + sample)
    taken = 1_000 - paged.pool.num_free
    assert taken == 114
    assert f"{1 - taken / 300:.1%}" == "62.0%"


def test_long_requests_with_one_beginning_fit_as_often_as_the_exercise_says() -> None:
    """Admit them to an allocator of as many blocks until the next finds no room."""
    paged, number = PagedAllocator(28_224, 16), 0
    try:
        while True:
            text = [1] * 6_000 + [2 + number] * (32_768 - 6_000)
            paged.admit(number, text)
            paged.computed(number, len(text))
            number += 1
    except NoFreeBlockError:
        assert number == questions.fits.answer()


@pytest.mark.parametrize("service", SERVICES)
def test_a_block_of_one_token_wastes_nothing_and_none_wastes_a_whole_block(
    service: str,
) -> None:
    found = wasted(service, sizes=(1, 2, 16, 256))
    assert found.paged[1] == found.used
    for size in (2, 16, 256):  # the last block has 0 to size - 1 places left
        left = found.paged[size] - found.used
        assert left == pytest.approx((size - 1) / 2, rel=0.1)


def test_the_point_of_a_model_lies_on_the_line_of_its_ink() -> None:
    """Vega's own pixels: the line of the ink, where the slider stands."""
    figure = figures.capacity()
    for context in (2000.0, 8000.0, 32_000.0):
        points = drawn.marks(figure, "symbol", mean_held=context)
        lines = drawn.marks(figure, "line", mean_held=context)
        inks = {point["ink"] for point in points}
        assert inks == {MEANINGS["cache"].name, GREY.name}
        for point in points:
            own = [each for each in lines if each["ink"] == point["ink"]]
            near = min(own, key=lambda each: abs(each["x"] - point["x"]))
            assert near["y"] == pytest.approx(point["y"], abs=3)


def test_sizes_of_the_log_are_in_units_of_1024_to_the_third() -> None:
    """A published line says 0.98 GiB where a counted byte is 1.05 billion."""
    for row, log in zip(tables.peaks().rows, START_LOGS, strict=True):
        number, unit = str(row[2]).split()
        assert unit == "GiB"
        assert float(number) == pytest.approx(float(log.peak) / 1024**3, abs=0.005)


def test_of_three_ways_to_set_memory_aside_only_blocks_have_room() -> None:
    """Free places are enough in the last two; only blocks need them in no one piece."""
    longest, final, paged = strips.strips()
    assert [each.fits for each in (longest, final, paged)] == [False, False, True]
    free = [sum(not name for name, _ in each.places) for each in (final, paged)]
    assert min(free) >= strips.NEXT[1]
    for strip in (longest, final, paged):
        assert len(strip.places) == 48
        for name, held in strips.NOW.items():
            assert strip.places.count((name, "written")) == held


def test_a_reserved_memory_turns_a_request_away_beside_places_that_are_empty() -> None:
    """The title: more places hold no token than the request will ever need."""
    *reserved, paged = strips.strips()
    for strip in reserved:
        empty = sum(use != "written" for _, use in strip.places)
        assert not strip.fits and empty > strips.NEXT[1]
    assert paged.fits


def test_the_legend_of_the_strips_names_each_place_by_its_use() -> None:
    """Places drawn in a word's ink are as many as the memories have of its use."""
    (panel,) = drawn.panels(strips.reserved)
    handles, words = panel.get_legend_handles_labels()
    inks = {
        word: seen._name(bars.patches[0].get_facecolor())
        for word, bars in zip(words, handles, strict=True)
    }
    cells = Counter(
        seen._name(bar.get_facecolor()) for bar in panel.patches if bar.get_width()
    )
    places = Counter(use for strip in strips.strips() for _, use in strip.places)
    meant = {word: "never" if word == "lost" else word for word in words}
    assert set(meant.values()) == set(places)
    assert len(set(places.values())) == len(places), "a swap of two would not be seen"
    for word, use in meant.items():
        assert cells[inks[word]] == places[use], word
        if use in strips.USES:
            assert inks[word] == seen._name(strips.USES[use].light)


def test_the_place_in_memory_that_is_marked_is_the_one_of_the_sentence() -> None:
    said = pictures.translation().sentence
    block, place = (
        int(re.findall(pattern, said)[0])
        for pattern in (r"says block (\d+)", r"= (\d+) \(places")
    )
    (panel,) = drawn.panels(pictures.translation)
    row = [
        bar for bar in panel.patches if bar.get_y() == pytest.approx(pictures.MEMORY)
    ]
    cells = sorted(row, key=lambda bar: bar.get_x())
    inks = [seen._name(bar.get_facecolor()) for bar in cells]
    assert len(cells) == BLOCKS * SIZE and inks.count("vermillion") == 1
    assert inks.index("vermillion") == SIZE * block + place


def test_every_reservation_holds_the_answers_that_are_still_to_come() -> None:
    """A moment of an answer of n: on the average (n - 1) / 2 tokens are missing."""
    answers = np.array([answer for _, answer in lives(SERVICES[0])], dtype=float)
    missing = (answers * (answers - 1) / 2).sum() / answers.sum()
    (panel,) = drawn.panels(stills.waste)
    names = [label.get_text() for label in panel.get_yticklabels()]
    bars = dict(
        zip(panel.get_legend_handles_labels()[1], panel.containers, strict=True)
    )
    holds, later, never = (
        dict(zip(names, (bar.get_width() for bar in bars[part]), strict=True))
        for part in stills.PARTS
    )
    used = wasted(SERVICES[0]).used
    for name in names:
        assert holds[name] + later[name] + never[name] == pytest.approx(1)
        to_come = later[name] / holds[name] * used
        reserved = name.startswith("reserved")
        assert to_come == pytest.approx(missing if reserved else 0, rel=0.05), name


def test_of_a_window_the_end_of_the_text_is_kept() -> None:
    """Columns run as the text does: light first, coloured last."""
    panels = drawn.panels(kinds.kept)
    (window,) = (p for p in panels if p.texts[0].get_text() == "the last tokens")
    where: dict[str, list[float]] = {"green": [], "grid": []}
    for bar in window.patches:
        where[seen._name(bar.get_facecolor())].append(bar.get_x())
    assert max(where["grid"]) < min(where["green"])


def test_the_axis_of_the_layers_has_the_unit_of_its_bars() -> None:
    """Llama-3.1-70B: a key and a value of eight heads in eighty layers."""
    (panel,) = drawn.panels(stills.layers)
    unit, tokens = re.findall(r"(\w+) of one request of ([\d,]+)", panel.get_xlabel())[
        0
    ]
    names = [label.get_text() for label in panel.get_yticklabels()]
    row = names.index("Llama-3.1-70B")
    held = 2 * 8 * 128 * 80 * 2 * int(tokens.replace(",", ""))
    for bars in panel.containers:
        byte = bars[row].get_width() * {"GiB": 2**30, "GB": 10**9}[unit]
        assert byte == pytest.approx(held)


def test_what_is_off_has_the_same_sign_in_percent_and_in_bytes() -> None:
    """Predicted less published, in both."""
    for _, published, predicted, off, mib in tables.counts().rows:
        counts = [int(str(each).replace(",", "")) for each in (predicted, published)]
        less = counts[0] < counts[1]
        assert str(off).startswith("−") is less and str(mib).startswith("−") is less
