"""Arrows of the opening picture point as the meter saw numbers pass."""

import re

from llmserve_lab.flash_attention.example import TILE, TOKENS, head
from llmserve_lab.flash_attention.page import pictures, playground, split_steps
from llmserve_lab.page.widget import Turn
from llmserve_lab.transformer import (
    HbmMeter,
    causal_mask,
    flash_attention,
    plain_attention,
)
from tests.page import drawn

LETTERS = {"query": "q", "key": "k", "value": "v"}


def passed(hbm: HbmMeter) -> tuple[set[str], set[str]]:
    """What a meter saw read, and written, as the picture calls it."""
    read, written = (
        {LETTERS.get(n, n) for n in way} for way in (hbm.reads, hbm.writes)
    )
    return read, written


def test_arrows_point_into_a_kernel_for_what_the_meter_saw_it_read() -> None:
    three, one = HbmMeter(), HbmMeter()
    query, key, value = head(TOKENS)
    mask = causal_mask(TOKENS, TOKENS)
    plain_attention(query[:, 0], key[:, 0], value[:, 0], mask, hbm=three)
    flash_attention(query, key, value, tile_rows=TILE, tile_keys=TILE, hbm=one)
    (panel,) = drawn.panels(pictures.fused)
    arrows = [each for each in panel.texts if getattr(each, "arrow_patch", None)]
    found: dict[bool, tuple[set[str], set[str]]] = {}
    for arrow in arrows:
        (tip, y), (tail, _) = arrow.xy, arrow.xyann
        near = min(
            (t for t in panel.texts if t.get_text() and tail != t.get_position()[0]),
            key=lambda t: (
                abs(t.get_position()[1] - y - 0.34) + abs(t.get_position()[0] - 6.75)
            ),
        )
        names = set(re.split(r" and |, many times", near.get_text())) - {""}
        reads, writes = found.setdefault(y > 2.36, (set(), set()))
        (reads if tip > tail else writes).update(names)
    assert found == {True: passed(three), False: passed(one)}


def test_the_merge_reads_as_many_numbers_as_are_in_its_ink() -> None:
    """Of the table, when the splits are merged: what the sentence counts."""
    (log,) = split_steps.split_decoding().logs.values()
    read = [
        row
        for row in log.tables["cells"]
        if row["ink"] == "communication" and row["text"] != "merge"
    ]
    said = [re.findall(r"reads all (\d+)", frame.sentence) for frame in log.frames]
    assert [len(read)] == [int(count) for found in said for count in found]


def test_the_picture_of_the_bench_is_the_state_at_the_start() -> None:
    """As the knobs stand: a head of 512 tokens, counted pair by pair."""
    made = playground.bench()
    turned = {n: k.default for n, k in made.knobs.items() if isinstance(k, Turn)}
    assert turned == {"prompt_len": 512, "tile_rows": 128, "tile_keys": 64}
    answered = made.answer(**turned, loop="queries outside")
    assert made.picture.html() in answered
    read = 512 + 2 * sum(range(128, 513, 128))  # rows: queries; keys and values
    assert f"tiled {2 * 128 * (read + 512) / 1e6:.2f} MB" in made.picture.sentence
    plain = 2 * (4 * 512 * 128 + 4 * 512**2) / 1e6
    assert f"plain {plain:.2f} MB" in made.picture.sentence
