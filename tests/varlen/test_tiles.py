"""The step figure plays what the kernels visited."""

import numpy as np

from llmserve_lab.transformer import (
    attend_tiles,
    masked_attention,
    varlen_attention,
)
from llmserve_lab.varlen.page import tiles as module
from llmserve_lab.varlen.strategies import WAYS
from tests.varlen.batches import carried_out


def test_the_three_kernels_of_the_figure_agree() -> None:
    rng = np.random.default_rng(0)
    tokens = {f"{r}{i}": rng.standard_normal((3, 4)) for r in "ABC" for i in range(8)}
    found = {}
    for way in module.WAYS:
        rows = [module.owner(way, row) for row in range(module.packing(way).n_rows)]
        zero = np.zeros((3, 4))
        q, k, v = np.stack(
            [zero if i < 0 else tokens[f"{r}{i}"] for r, i in rows], axis=1
        )
        for skip in (False, True):
            one, two, three = (part[:, np.newaxis] for part in (q, k, v))
            out = attend_tiles(one, two, three, module.visits(way, skip=skip))[:, 0]
            found[way, skip] = out[[i >= 0 for _, i in rows]]
    first = found.pop(("varlen", False))
    for other in found.values():
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-12)


def test_tiles_of_side_one_are_the_pairs_of_a_run() -> None:
    for way in WAYS:
        pairs = carried_out(way, list(module.LENGTHS)).pairs
        kernel = masked_attention if way == "masked" else varlen_attention
        pieces = kernel(module.packing(way))
        assert sum(mask.size for _, _, mask in pieces) == pairs


def test_what_is_drawn_covers_each_tile_once() -> None:
    for skip in (False, True):
        for way in module.WAYS:
            for tile in module.visits(way, skip=skip):
                drawn = module._drawn(way, tile, 0)
                area = sum((row["x2"] - row["x"]) for row in drawn)
                assert round(area) == module.SIDE**2  # a tile is computed whole
                useful = sum(r["x2"] - r["x"] for r in drawn if r["ink"] in "ABC")
                assert round(useful) == module._useful(way, [tile])


def test_no_tile_is_drawn_upon_another() -> None:
    for skip in (False, True):
        for way in module.WAYS:
            seen = set()
            for tile in module.visits(way, skip=skip):
                for row in module._drawn(way, tile, 0):
                    for x in range(round(row["x2"] - row["x"])):
                        place = (round(row["x"] + x, 1), row["y"])
                        assert place not in seen
                        seen.add(place)
            assert max(y for _, y in seen) < module.side_of("padded")


def test_what_a_causal_kernel_skips_holds_no_pair() -> None:
    for way in module.WAYS:
        every, left = (module.visits(way, skip=skip) for skip in (False, True))
        kept = {(tile.rows.start, tile.keys.start) for tile in left}
        gone = [t for t in every if (t.rows.start, t.keys.start) not in kept]
        assert gone and not any(tile.useful for tile in gone)
        assert module.empty_skipped(way) <= len(left)
    assert module.empty_skipped("varlen") == len(module.visits("varlen", skip=True))


def test_tiles_are_drawn_within_the_squares_of_their_way() -> None:
    for way in module.WAYS:
        area = sum(side**2 for _, _, side in module.squares_of(way))
        drawn = module.visits(way, skip=False)
        assert area == len(drawn) * module.SIDE**2
        for row in (each for tile in drawn for each in module._drawn(way, tile, 0)):
            x, y = row["x"] - module.LEFT[way] - module.STRIP, row["y"]
            assert any(
                left <= x + 0.1 < left + side and top <= y < top + side
                for left, top, side in module.squares_of(way)
            )


def test_varlen_is_never_the_last_to_finish() -> None:
    figure = module.tiles_visited()
    for name, skip in module.LOGS.items():
        visited = {way: len(module.visits(way, skip=skip)) for way in module.WAYS}
        assert visited["varlen"] == min(visited.values())
        shown = tuple(f"{each} of {each}" for each in visited.values())
        assert figure.logs[name].frames[-1].counters == shown
