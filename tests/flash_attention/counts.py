"""Traffic of tiles and of plain attention: both run, a meter at the memory counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.formula.formula import Formula
from llmserve_lab.transformer import (
    HbmMeter,
    Meter,
    causal_mask,
    flash_attention,
    plain_attention,
)
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.tiling import Outer
from tests.counted import Case, counts

Setting = dict[str, float]


def drawn(rng: random.Random, *, keys_outside: bool = False) -> Setting:
    """A prompt, a head, tiles: that of the inner loop divides that of the outer."""
    inner = rng.randint(1, 4)
    outer = inner * rng.randint(1, 3)
    tile_rows, tile_keys = (inner, outer) if keys_outside else (outer, inner)
    return {
        "prompt_len": float(rng.randint(1, 23)),
        "d_head": float(rng.randint(1, 5)),
        "tile_keys": float(tile_keys),
        "tile_rows": float(tile_rows),
        "bytes_number": float(rng.choice((1, 2, 4))),
        "bytes_sum": float(rng.choice((4, 8))),
    }


def arrays(known: Setting, rng: random.Random) -> tuple[Array, Array, Array]:
    """Query, key and value [s, 1, d] of one head."""
    size = (3, int(known["prompt_len"]), 1, int(known["d_head"]))
    query, key, value = np.random.default_rng(rng.randint(0, 99)).standard_normal(size)
    return query, key, value


def tiled(known: Setting, rng: random.Random, outer: Outer = "queries") -> HbmMeter:
    """Run the kernel on tiles, and return what passed the memory."""
    hbm = HbmMeter()
    flash_attention(
        *arrays(known, rng),
        tile_rows=int(known["tile_rows"]),
        tile_keys=int(known["tile_keys"]),
        outer=outer,
        hbm=hbm,
    )
    return hbm


def plain(known: Setting, rng: random.Random) -> HbmMeter:
    """Run the three kernels of plain attention."""
    query, key, value = (each[:, 0] for each in arrays(known, rng))
    hbm = HbmMeter()
    plain_attention(query, key, value, causal_mask(len(query), len(key)), hbm=hbm)
    return hbm


def flops(known: Setting, rng: random.Random) -> int:
    """FLOPs on pairs that the mask lets through."""
    meter = Meter()
    flash_attention(*arrays(known, rng), tile_rows=2, tile_keys=2, run=meter.on())
    return meter.useful_attn_flops


def counted(
    formula: Formula,
    count: Callable[[Setting, random.Random], float],
    *,
    keys_outside: bool = False,
) -> None:
    """Register a count on random prompts and tiles."""

    def play(rng: random.Random) -> Case:
        known = drawn(rng, keys_outside=keys_outside)
        return Case(formula.given(known), count(known, rng))

    counts(formula, by="executed")(play)


def per_number(name: str) -> Callable[[Setting, random.Random], float]:
    """Rows of one operand that the tiled kernel read."""

    def count(known: Setting, rng: random.Random) -> float:
        return tiled(known, rng).reads[name] / known["d_head"]

    return count


def queries_read(known: Setting, rng: random.Random) -> float:
    return tiled(known, rng, "keys").reads["query"] / known["d_head"]


def distinct(known: Setting, rng: random.Random) -> float:
    """With a tile as large as the prompt every number passes once."""
    whole: Any = known | dict.fromkeys(("tile_rows", "tile_keys"), known["prompt_len"])
    return tiled(whole, rng).numbers * known["bytes_number"]


def bytes_of(
    run: Callable[..., HbmMeter], *more: Any
) -> Callable[[Setting, random.Random], float]:
    return lambda known, rng: run(known, rng, *more).numbers * known["bytes_number"]


def outer_keys_bytes(known: Setting, rng: random.Random) -> float:
    """Queries, keys and values as they are stored, all else as sums are kept."""
    hbm = tiled(known, rng, "keys")
    stored = sum(hbm.reads[name] for name in ("query", "key", "value"))
    kept = hbm.numbers - stored
    return stored * known["bytes_number"] + kept * known["bytes_sum"]


def row_tiles(known: Setting, rng: random.Random) -> float:
    """Tiles of queries that the kernel brings on chip, one after another."""
    seen = set[int]()
    flash_attention(
        *arrays(known, rng),
        tile_rows=int(known["tile_rows"]),
        tile_keys=int(known["tile_keys"]),
        watch=lambda visit: seen.add(visit.tile.rows.start),
    )
    return len(seen)


def ratio(
    run: Callable[[Setting, random.Random], float],
) -> Callable[[Setting, random.Random], float]:
    return lambda known, rng: flops(known, rng) / run(known, rng)


PLAIN, TILED = bytes_of(plain), bytes_of(tiled)
counted(f.PLAIN_BYTES, PLAIN)
counted(f.TILED_BYTES, TILED)
counted(f.OUTER_KEYS_BYTES, outer_keys_bytes, keys_outside=True)
counted(f.ONCE_BYTES, distinct)
counted(f.ROW_TILES, row_tiles)
counted(f.KEYS_READ, per_number("key"))
counted(f.ROWS_VISITED, queries_read, keys_outside=True)
counted(f.HEAD_FLOPS, flops)
counted(f.PLAIN_INTENSITY, ratio(PLAIN))
counted(f.TILED_INTENSITY, ratio(TILED))
counted(f.ONCE_INTENSITY, ratio(distinct))


@counts(f.SQUARE_BYTES, by="executed")
def square_bytes(rng: random.Random) -> Case:
    known = drawn(rng) | {"n_heads": float(rng.randint(1, 4))}
    written = [plain(known, rng).writes["scores"] for _ in range(int(known["n_heads"]))]
    return Case(f.SQUARE_BYTES.given(known), sum(written) * known["bytes_number"])


def slope(
    run: Callable[[Setting, random.Random], float], known: Setting, rng: random.Random
) -> float:
    """FLOPs over bytes without end, from second differences of both over the prompt.

    Both are quadratics in the number of tiles, so the ratio of their curvatures is
    the ratio that they tend to.
    """
    step = known["tile_rows"]
    runs = [known | {"prompt_len": step * n} for n in (1, 2, 3)]
    curve = [[count(one, rng) for one in runs] for count in (flops, run)]
    work, moved = (a - 2 * b + c for a, b, c in curve)
    return work / moved


@counts(f.PLAIN_LIMIT, by="executed")
def plain_limit(rng: random.Random) -> Case:
    known = drawn(rng)
    return Case(f.PLAIN_LIMIT.given(known), slope(PLAIN, known, rng))


@counts(f.TILED_LIMIT, by="executed")
def tiled_limit(rng: random.Random) -> Case:
    known = drawn(rng)
    return Case(f.TILED_LIMIT.given(known), slope(TILED, known, rng))


def on_chip(known: Setting, rng: random.Random) -> tuple[float, float]:
    """Bytes in shared memory and in registers at the largest visit of a run."""
    shared, registers = [0.0], [0.0]

    def look(visit: Any) -> None:
        rows, keys = visit.scores.shape[-2:]
        held = (rows + known["tile_stages"] * 2 * keys) * known["d_head"]
        shared.append(held * known["bytes_number"])
        kept = visit.scores.size + visit.state.mixed.size
        weights = visit.scores.size * known["bytes_number"]
        registers.append(kept * known["bytes_sum"] + weights)

    long = arrays(known | {"prompt_len": 3 * known["tile_rows"]}, rng)
    flash_attention(
        *long,
        tile_rows=int(known["tile_rows"]),
        tile_keys=int(known["tile_keys"]),
        watch=look,
    )
    return max(shared), max(registers)


def chip(rng: random.Random) -> Setting:
    more = {"tile_stages": float(rng.randint(1, 3)), "bytes_sum": 4.0}
    return drawn(rng) | more | {"shared_room": 96.5, "register_room": 128.5}


@counts(f.SHARED_BYTES, by="executed")
def shared_bytes(rng: random.Random) -> Case:
    known = chip(rng)
    return Case(f.SHARED_BYTES.given(known), on_chip(known, rng)[0])


@counts(f.REGISTER_BYTES, by="executed")
def register_bytes(rng: random.Random) -> Case:
    known = chip(rng)
    return Case(f.REGISTER_BYTES.given(known), on_chip(known, rng)[1])


@counts(f.CHIP_SHARE, by="executed")
def chip_share(rng: random.Random) -> Case:
    known = chip(rng)
    shared, registers = on_chip(known, rng)
    tighter = max(shared / known["shared_room"], registers / known["register_room"])
    return Case(f.CHIP_SHARE.given(known), tighter)
