"""The figures play what ran, and say what the formulas and the meter count."""

import re
from itertools import product

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.attention import REGISTERS_PER_SM, SHARED_PER_BLOCK
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention.arguments import BOOK, TILE_SIDE, wave_splits
from llmserve_lab.flash_attention.arguments import head as of_example
from llmserve_lab.flash_attention.example import (
    KEYS,
    SPLITS,
    TILE,
    TOKENS,
    WIDTH_V,
    decoded,
    head,
    tiled,
)
from llmserve_lab.flash_attention.loops import keys_met, two_loops
from llmserve_lab.flash_attention.page import figures, pictures, stills
from llmserve_lab.flash_attention.page.walk import GRID_Y, STATE_EDGES
from llmserve_lab.transformer import HbmMeter, attend, causal_mask, flash_attention
from tests.page import drawn


def test_the_walk_of_the_figure_ends_in_plain_attention() -> None:
    log, (query, key, value) = tiled(), head(TOKENS)
    want = attend(query, key, value, causal_mask(TOKENS, TOKENS))
    np.testing.assert_allclose(log.output, want, rtol=0, atol=1e-12)
    frames = figures.tiles_walked().logs["tiles"].frames
    assert len(frames) == len(log.steps) + TOKENS // TILE
    moved = [float(n) for n in frames[-1].counters[:2]]
    assert moved == [log.hbm.reads.total(), log.hbm.writes.total()]
    assert moved[1] == want.size


@pytest.mark.parametrize(("n_q", "n_k"), [(1, 1), (2, 3), (4, 2), (6, 6), (8, 8)])
def test_the_loops_on_the_page_are_plain_attention(n_q: int, n_k: int) -> None:
    query, key, value = head(TOKENS)
    want = attend(query, key, value, causal_mask(TOKENS, TOKENS))[:, 0]
    made = two_loops(query[:, 0], key[:, 0], value[:, 0], n_q, n_k)
    np.testing.assert_allclose(made, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_q", "n_k"), [(2, 3), (4, 2), (4, 6), (8, 8), (3, 16)])
def test_keys_are_read_in_whole_tiles(n_q: int, n_k: int) -> None:
    query, key, value = np.random.default_rng(0).standard_normal((3, 23, 1, 4))
    hbm = HbmMeter()
    flash_attention(query, key, value, tile_rows=n_q, tile_keys=n_k, hbm=hbm)
    assert keys_met(23, n_q, n_k) == hbm.reads["key"] / 4
    if n_q % n_k == 0:
        assert keys_met(23, n_q, n_k) == f.KEYS_READ(prompt_len=23, tile_rows=n_q)


def test_every_sentence_of_the_walk_says_what_happened_to_the_last_row() -> None:
    log, said = tiled(), figures.tiles_walked().logs["tiles"].frames
    visits = [frame for frame in said if "meet keys" in frame.sentence]
    kinds = []
    for step, frame in zip(log.steps, visits, strict=True):
        factor = float(step.factor[-1])
        kinds.append(min(factor, 1.0) if factor in (0.0, 1.0) else 0.5)
        if 0 < factor < 1:
            assert f"multiplied by {factor:.3f}" in frame.sentence
    assert set(kinds) == {0.0, 0.5, 1.0}  # nothing seen, rescaled, not rescaled


def test_the_output_in_a_sentence_is_that_of_the_query_it_names() -> None:
    """What is said "for query 4" in brackets is written in the fourth row."""
    (log,) = figures.tiles_walked().logs.values()
    told = []
    for at, frame in enumerate(log.frames):
        for numbers, query in re.findall(
            r"\(([\d., −]+) for query (\d+)", frame.sentence
        ):
            row = [
                str(cell["text"])
                for cell in log.tables["cells"]
                if cell["since"] <= at < cell.get("until", at + 1)
                and int(cell["y"] - GRID_Y) + 1 == int(query)
                and cell["ink"] == "other"
            ]
            assert row[1:] == numbers.split(", ")
            told.append(int(query))
    assert told == [TILE, 2 * TILE, TOKENS]


def test_no_score_outlives_the_frame_of_its_tile() -> None:
    figure = figures.tiles_walked()
    (log,) = figure.logs.values()
    shown = [
        (row["since"], row.get("until", len(log.frames)))
        for row in log.tables["cells"]
        if row["ink"] == "compute" and row["text"] and row["x"] < STATE_EDGES[0] - 1
    ]
    assert shown and all(until - since == 1 for since, until in shown)


def test_splits_and_one_block_end_in_the_same_output() -> None:
    query, key, value = head(KEYS)
    want = attend(query[-1:], key, value, np.ones((1, KEYS), dtype=bool))[0]
    for count in (1, SPLITS):
        log = decoded(count)
        np.testing.assert_allclose(log.output, want, rtol=0, atol=1e-12)
    moved = log.hbm.reads["partial output"] + log.hbm.reads["log-sum-exp"]
    ticks = KEYS // TILE
    log_of = figures.split_decoding().logs["ticks"]
    merging = log_of.frames[ticks // SPLITS]
    assert f"the merge reads all {moved}. " in merging.sentence
    assert moved == SPLITS * (WIDTH_V + 1) and len(log_of.frames) == ticks
    read = [[float(n) for n in frame.counters[1:]] for frame in log_of.frames]
    assert read[ticks // SPLITS - 1][0] == KEYS > read[ticks // SPLITS - 1][1]
    assert read[-1] == [KEYS, KEYS]
    lines: dict[int, list[str]] = {}
    for row in log_of.tables["cells"]:
        if row["since"] <= ticks - 1 < row.get("until", ticks) and row["y"] > 12:
            lines.setdefault(row["y"], []).append(row["text"])
    merged, alone = (lines[y][3:] for y in sorted(lines)[-2:])
    assert merged == alone and len(alone) == WIDTH_V + 1


def test_shares_of_the_merge_add_up_as_printed() -> None:
    merging = figures.split_decoding().logs["ticks"].frames[KEYS // TILE // SPLITS]
    shares = [float(each) for each in re.findall(r"([\d.]+)%", merging.sentence)]
    assert len(shares) == SPLITS and sum(shares) == pytest.approx(100)


@pytest.mark.parametrize(
    ("length", "rows", "keys"),
    [*product((250.0, float(BOOK)), figures.ROWS, figures.KEYS)],
)
def test_the_roof_is_ordered_at_every_stop(
    length: float, rows: float, keys: float
) -> None:
    """Tiles move less than plain, each number once moves the least."""
    known = figures.traffic().values(prompt_len=length, tile_rows=rows, tile_keys=keys)
    assert known["plain_bytes"] > known["tiled_bytes"]
    plain, tiled_, once = (known[f"{w}_intensity"] for w in ("plain", "tiled", "once"))
    assert plain < tiled_ <= once * (1 + 1e-12)


@pytest.mark.parametrize("length", figures.LENGTHS)
def test_a_tile_of_keys_changes_no_byte_and_one_of_queries_does(length: float) -> None:
    figure = figures.traffic()
    moved = {
        (rows, keys): figure.values(prompt_len=length, tile_rows=rows, tile_keys=keys)[
            "tiled_bytes"
        ]
        for rows, keys in product(figures.ROWS, figures.KEYS)
    }
    for rows in figures.ROWS:
        assert len({moved[rows, keys] for keys in figures.KEYS}) == 1
    falling = [moved[rows, 16.0] for rows in figures.ROWS]
    assert falling == sorted(falling, reverse=True)


def test_large_tiles_of_queries_do_not_fit_beside_large_tiles_of_keys() -> None:
    most = {64.0: 192.0, 128.0: 192.0, 256.0: 64.0, 512.0: 0.0}
    for rows, keys in product(figures.ROWS, figures.KEYS):
        known = figures.traffic().values(tile_rows=rows, tile_keys=keys)
        assert (known["chip_share"] <= 1) == (keys <= most[rows])


def test_a_visit_counts_the_scores_of_its_whole_tile() -> None:
    frames = figures.tiles_walked().logs["tiles"].frames
    counted = sum(float(frame.counters[2]) for frame in frames)
    assert counted == len(tiled().steps) * TILE**2
    masked = counted - TOKENS * (TOKENS + 1) / 2
    assert masked == TOKENS / TILE  # one above the diagonal of each tile on it


def test_the_walk_opens_where_a_row_is_rescaled() -> None:
    figure = figures.tiles_walked()
    said = figure.logs["tiles"].frames[figure.start].sentence
    assert "finds a larger score" in said


def test_every_row_that_is_rescaled_is_named() -> None:
    log, said = tiled(), figures.tiles_walked().logs["tiles"].frames
    visits = [frame for frame in said if "meet keys" in frame.sentence]
    for step, frame in zip(log.steps, visits, strict=True):
        if not 0 < float(step.factor[-1]) < 1:
            continue
        for factor in step.factor:
            if 0 < factor < 1:
                assert f"multiplied by {factor:.3f}" in frame.sentence


@pytest.mark.parametrize(
    ("context", "batch", "n_split"),
    [*product((250.0, 1000.0, float(BOOK)), (1.0, 8.0, 64.0), figures.SPLITS)],
)
def test_no_number_of_splits_beats_the_whole_bandwidth(
    context: float, batch: float, n_split: float
) -> None:
    known = figures.decode_splits().values(
        context=context, batch=batch, n_split=n_split
    )
    assert known["decode_attn_s"] >= known["least_read_s"] * (1 - 1e-12)
    assert (known["merge_s"] > 0) == (n_split > 1)


def test_one_wave_of_splits_is_what_the_goal_asks_for() -> None:
    """Fewer splits are too slow; more are as fast, and no longer as few as possible."""
    figure = figures.decode_splits()
    assert figure.goal is not None
    known = {"batch": 4.0, "context": 32_000.0}
    every = [figure.values(n_split=float(n), **known) for n in range(1, 33)]
    met = [n for n, values in enumerate(every, 1) if figure.goal.met(values)]
    assert met == [wave_splits(4 * 8, 132, key_tiles=250)] == [4]
    near = [v["decode_attn_s"] <= 1.05 * v["least_read_s"] for v in every]
    assert near.index(True) == 3 and near.count(True) > 1


def test_the_still_is_faster_than_tiles_from_memory_allow() -> None:
    assert "616 TFLOP/s" in stills.speeds().sentence
    assert "419 would be the most" in stills.speeds().sentence
    assert f.TILED_INTENSITY.label == "tiled_intensity"


@pytest.mark.parametrize("tile", pictures.TILES)
def test_the_bars_of_a_tile_add_up_to_the_formulas(tile: tuple[int, int]) -> None:
    known = of_example(1, *tile)
    assert sum(pictures.shared_parts(*tile).values()) == float(f.SHARED_BYTES.at(known))
    assert sum(pictures.register_parts(*tile).values()) == float(
        f.REGISTER_BYTES.at(known)
    )


def test_the_picture_says_which_tiles_fit() -> None:
    said = pictures.rooms().sentence
    assert "128 × 128, 128 × 192, 192 × 128 and 256 × 64 fit." in said
    assert pictures.TILES[0] == (TILE_SIDE, TILE_SIDE)  # that is named as used
    assert "three kernels" in pictures.fused().title.lower()


@pytest.mark.parametrize(
    ("tile", "over", "words"),
    [
        (pictures.MORE_KEYS, (True, False), "{} × {} overflows shared memory,"),
        (pictures.MORE_QUERIES, (False, True), ", {} × {} the registers"),
    ],
)
def test_the_title_names_the_room_that_a_tile_overflows(
    tile: tuple[int, int], over: tuple[bool, bool], words: str
) -> None:
    taken = pictures.shared_parts(*tile), pictures.register_parts(*tile)
    rooms = SHARED_PER_BLOCK, REGISTERS_PER_SM
    found = [
        sum(part.values()) > float(room)
        for part, room in zip(taken, rooms, strict=True)
    ]
    assert tuple(found) == over
    assert words.format(*tile) in pictures.rooms().title


@pytest.mark.parametrize("n_split", [1, 2, 4, 8, 16, 32, 64])
def test_more_splits_than_tiles_is_said_of_more_only(n_split: int) -> None:
    """Tiles counted one by one: as many splits as tiles have one each."""
    figure = figures.decode_splits()
    for context in (1000, 2000, 4000, 8000):
        known = {"n_split": float(n_split), "context": float(context), "batch": 1.0}
        keys = figure.values(**known)["tile_keys"]
        tiles = len(range(0, context, round(keys)))
        words = drawn.texts(figure, **known)
        assert ("more splits than tiles" in words) == (n_split > tiles)
