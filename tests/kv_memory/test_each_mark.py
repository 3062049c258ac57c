"""Every cell, arrow, bar, word and ground of the chapter's stills and its live figure.

A word of a picture has the number of the bar that it stands at, an arrow leads from an
entry to its block, and what runs long is replaced by numbers of which each is its own.
"""

import re
from itertools import pairwise
from math import log
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from llmserve_lab.kv_memory import serving
from llmserve_lab.kv_memory.page import figures, kinds, pictures, stills, strips, tables
from llmserve_lab.paged_cache.block_hash import chained_hashes
from tests.page import drawn, seen
from tests.page.test_bars import burst

SIZE, BLOCKS = 4, 12
PROMPT = [7, 1, 8, 2, 8, 1, 8, 2]
A, B, G = [*PROMPT, 4, 5], [*PROMPT, 9, 0, 4], [5, 5, 5, 5, 8, 1, 8, 2, 4, 5]
TABLE = [6, 3, 9]  # the blocks that were free first


def ink(bar: Any) -> str:
    return seen._name(bar.get_facecolor())


def cells(panel: Any, near: float) -> list[Any]:
    """Bars of a row that covers a height, from the left."""
    row = [b for b in panel.patches if b.get_y() < near < b.get_y() + b.get_height()]
    return sorted(row, key=lambda bar: bar.get_x())


def middle(bar: Any) -> float:
    return float(bar.get_x() + bar.get_width() / 2)


def height(panel: Any, words: str) -> float:
    """Where a word stands."""
    (y,) = (t.get_position()[1] for t in panel.texts if t.get_text() == words)
    return float(y)


def written(panel: Any, row: list[Any]) -> list[str]:
    """What is written into each cell of a row."""
    found = []
    for bar in row:
        x, y = middle(bar), bar.get_y() + bar.get_height() / 2
        found += [
            t.get_text()
            for t in panel.texts
            if t.get_position() == (pytest.approx(x), pytest.approx(y, abs=0.1))
        ]
    return found


def test_each_row_of_the_translation_is_what_stands_beside_it() -> None:
    """Each entry lies under its four positions, and its arrow ends at its block."""
    (panel,) = drawn.panels(pictures.translation)
    text = cells(panel, height(panel, "positions in A"))
    table = cells(panel, height(panel, "block table of A"))
    assert written(panel, text) == [str(i) for i in range(len(A))]
    assert written(panel, table) == [str(block) for block in TABLE]
    at = pictures.POSITION
    for place, bar in enumerate(text):
        assert ink(bar) == ("vermillion" if place == at else "green")
        left, right = table[place // SIZE].get_x(), table[place // SIZE].get_width()
        assert left <= middle(bar) <= left + right
    arrows = [t for t in panel.texts if getattr(t, "arrow_patch", None)]
    numbers = {
        int(t.get_text()): t.get_position()[0]
        for t in panel.texts
        if t.get_text().isdigit() and t.get_position()[1] < pictures.MEMORY
    }
    assert sorted(numbers) == list(range(BLOCKS))
    memory = [b for b in panel.patches if b.get_y() == pytest.approx(pictures.MEMORY)]
    memory.sort(key=lambda bar: bar.get_x())
    for place, (bar, arrow) in enumerate(zip(table, arrows, strict=True)):
        chosen = place == at // SIZE
        assert ink(bar) == ("vermillion" if chosen else "green")
        colour = seen._name(arrow.arrow_patch.get_edgecolor())
        assert colour == ("vermillion" if chosen else "green")
        assert arrow.xyann[0] == pytest.approx(middle(bar))
        assert arrow.xy[0] == pytest.approx(numbers[TABLE[place]])
        held = memory[SIZE * TABLE[place] : SIZE * (TABLE[place] + 1)]
        used = sum(ink(cell) != "grid" for cell in held)
        assert used == min(SIZE, len(A) - SIZE * place)
        assert middle(held[0]) < numbers[TABLE[place]] < middle(held[-1])
    assert sum(ink(cell) != "grid" for cell in memory) == len(A)
    for near, other in pairwise(sorted(numbers)):
        assert numbers[near] < numbers[other]


# What each prompt is, by the words above it: its tokens and its salt.
ASKED = {
    "A: in the cache": (A, ""),
    "B: begins as A does": (B, ""),
    "G: begins otherwise": (G, ""),
    "D: A's text, other tenant": (A, "tenant 2"),
}


def test_each_block_of_the_chain_has_its_name_and_what_becomes_of_it() -> None:
    (panel,) = drawn.panels(pictures.chain)
    known = list(chained_hashes(A, SIZE))
    for words, (text, salt) in ASKED.items():
        y = height(panel, words) - 1.25
        row = [b for b in panel.patches if b.get_y() == pytest.approx(y)]
        row.sort(key=lambda bar: bar.get_x())
        near = [t for t in panel.texts if abs(t.get_position()[1] - y) < 1.0]
        said = {(round(t.get_position()[0], 2), t.get_text()) for t in near}
        names = list(chained_hashes(text, SIZE, salt=salt))
        full, rest = len(text) // SIZE, text[len(text) // SIZE * SIZE :]
        assert len(row) == full + 1 and len(names) == full
        blocks = [text[SIZE * i : SIZE * (i + 1)] for i in range(full)]
        assert written(panel, row) == [" ".join(map(str, b)) for b in (*blocks, rest)]
        found = 0
        while words[0] != "A" and found < full and names[found] == known[found]:
            found += 1
        for place, bar in enumerate(row[:full]):
            assert any(
                said_ == f"#{names[place].hex()[:2]}"
                and 0 < x - (bar.get_x() + bar.get_width()) < 1.9
                for x, said_ in said
            )
            fate = "found" if place < found else "not looked up"
            fate = "not found" if place == found else fate
            fate = "kept" if words[0] == "A" else fate
            look = {"kept": "green", "found": "purple"}.get(fate, "grid")
            assert ink(bar) == look, (words, place)
            below = (round(middle(bar), 2), fate)
            assert (below in said) is (fate != "kept")
        assert (round(middle(row[-1]), 2), "not full") in said
        start = "root\n+ salt" if salt else "root"
        assert (0, start) in said


def test_each_memory_says_whether_d_finds_room_where_its_name_stands() -> None:
    (panel,) = drawn.panels(strips.reserved)
    for strip in strips.strips():
        y = height(panel, strip.what)
        (verdict,) = (
            t
            for t in panel.texts
            if t.get_position()[1] == y and t.get_text().startswith("D ")
        )
        assert verdict.get_text() == ("D finds room" if strip.fits else "D must wait")
        look = seen._name(verdict.get_color())
        assert look == ("green" if strip.fits else "vermillion")
        firsts = {name: places_of(strip, name)[0] for name in "ABC"}
        letters = {
            t.get_text(): t.get_position()[0]
            for t in panel.texts
            if t.get_text() in "ABC" and 0.5 < y - t.get_position()[1] < 1.4
        }
        assert set(letters) == set(firsts)


def places_of(strip: Any, name: str) -> list[int]:
    return [i for i, place in enumerate(strip.places) if place == (name, "written")]


def test_each_kind_of_attention_has_its_words_and_its_height() -> None:
    """A column is as high as the bytes of a token, by the MiB below and its window."""
    panels = drawn.panels(kinds.kept)
    said = [[t.get_text() for t in panel.texts] for panel in panels]
    assert said == [
        ["keys and values", "128 MiB", "Llama-3.1-8B"],
        ["latents", "36 MiB", "DeepSeek-V3"],
        ["the last tokens", "8 MiB", "Gemma 3 27B"],
        ["one state", "1 MiB", "Qwen3-Next-80B"],
    ]
    highs = [max(bar.get_height() for bar in panel.patches) for panel in panels[:3]]
    per_token = [128 / 32_768, 36 / 32_768, 8 / 1_024]  # MiB over tokens that are kept
    assert [h / highs[0] for h in highs] == pytest.approx(
        [each / per_token[0] for each in per_token]
    )
    areas = [
        sum(b.get_width() * b.get_height() for b in panel.patches if ink(b) != "grid")
        for panel in panels
    ]
    sizes = [128, 36, 8, 1.047]
    assert [a / areas[0] for a in areas] == pytest.approx(
        [s / sizes[0] for s in sizes], rel=0.02
    )


def beside(panel: Any, row: float) -> list[str]:
    """Words at the height of a bar."""
    return [t.get_text() for t in panel.texts if t.get_position()[1] == row]


def test_each_share_of_the_waste_is_that_of_its_bar() -> None:
    (panel,) = drawn.panels(stills.waste)
    (named,) = (c for c in panel.containers if c.get_label() == "holds a token")
    for row, bar in enumerate(named):
        assert beside(panel, row) == [f"{bar.get_width():.0%}"]
        assert bar.get_x() == 0


def test_each_model_of_the_layers_has_both_its_bars_and_their_numbers() -> None:
    """By the KiB of a token in the table, if every layer kept all of them."""
    heads = [str(head) for head in tables.per_token().columns]
    kib = {
        str(row[0]): float(str(row[heads.index("KiB, all [3]")]))
        for row in tables.per_token().rows
    }
    (panel,) = drawn.panels(stills.layers)
    bars = {str(c.get_label()): list(c) for c in panel.containers}
    every = bars["if every layer kept every token"]
    kept = bars["what the layers keep"]
    assert {ink(bar) for bar in kept} == {"green"}
    for row, label in enumerate(panel.get_yticklabels()):
        most, here = every[row].get_width(), kept[row].get_width()
        naive = kib[label.get_text()] * 32_768 / 2**20
        assert most == pytest.approx(naive, rel=2e-3), label
        (said,) = beside(panel, row)
        want = [here, most] if most > 1.01 * here else [here]
        assert [float(x) for x in re.findall(r"[\d.]+", said)] == pytest.approx(
            want, abs=0.051
        )
        assert here <= most


def test_each_time_of_a_routing_is_the_mean_or_the_tail_that_its_word_says() -> None:
    names = list(serving.ROUTINGS)

    def warm(name: str) -> SimpleNamespace:
        place = 1 + names.index(name)
        both = {"ttft_mean_s": 0.01 * place, "ttft_p95_s": 0.1 + 0.01 * place}
        return SimpleNamespace(hit_share=0.1 * place, **both)

    with mock.patch.object(stills, "warm", warm):
        left, right = drawn.panels(stills.routing)
    assert left.get_xlabel().endswith("(%)") and right.get_xlabel().endswith("(ms)")
    for row in range(len(names)):
        found = warm(names[row])
        assert beside(left, row) == [f"{100 * found.hit_share:.0f}%"]
        for part, seconds in (("mean", found.ttft_mean_s), ("P95", found.ttft_p95_s)):
            words = f"{1e3 * seconds:.0f} {part}"
            (text,) = (t for t in right.texts if t.get_text() == words)
            y = text.get_position()[1]
            assert abs(y - row) < 0.5
            (bar,) = cells(right, y)
            assert bar.get_width() == pytest.approx(1e3 * seconds)
            assert ink(bar) == {"mean": "idle", "P95": "vermillion"}[part]


def test_each_panel_of_the_bursts_has_the_time_of_its_axis() -> None:
    last, pause = drawn.panels(stills.preemption)
    names = [label.get_text() for label in last.get_yticklabels()]
    for panel, field in ((last, "end_s"), (pause, "pause_s")):
        words = {"end_s": "last answer complete (s)", "pause_s": "longest pause (s)"}
        assert panel.get_xlabel() == words[field]
        for row, (name, bar) in enumerate(zip(names, panel.patches, strict=True)):
            seconds = getattr(burst(name), field)
            assert bar.get_width() == pytest.approx(seconds)
            assert beside(panel, row) == [f"{seconds:.1f}"]


def words_of(**known: Any) -> set[str]:
    texts = drawn.marks(figures.capacity(), "text", **known)
    return {t["text"] for t in texts if t.get("text") and t.get("opacity", 1)}


FULL: dict[str, Any] = {"model": "DeepSeek-V3", "gpu": "B200 SXM", "group": "4"}


def test_each_ground_and_warning_of_the_capacity_is_that_of_the_model() -> None:
    """Grey begins at the longest context; what no server confirms is said."""
    figure = figures.capacity()
    known: dict[str, Any] = {"model": "Qwen3-32B", "gpu": "B200 SXM", "group": "8"}
    (ground,) = (
        each
        for each in drawn.marks(figure, "rect", **known)
        if each.get("opacity", 1) == 0.22
    )
    whole = ground["x"] + ground["width"]
    at = log(40_960 / 1024) / log(131_072 / 1024)  # along the axis
    assert ground["x"] == pytest.approx(whole * at, abs=1)
    full = {**FULL, "bits": "FP8", "mean_held": 131_072.0}
    assert (
        figure.values(**known)["batch_fits"] > 1 > figure.values(**full)["batch_fits"]
    )
    said = {"beyond the model", "no server confirms this count"}
    said |= {"not even one request fits"}
    assert words_of(**known) & said == {"beyond the model"}
    assert words_of(**full) & said == said - {"beyond the model"}
    assert not words_of() & said
