"""The chapter's bench: any tile, any order of the loops, run on a metered kernel."""

from __future__ import annotations

import numpy as np

from llmserve_lab.catalog.evidence.attention import SHARED_PER_BLOCK
from llmserve_lab.checks import whole
from llmserve_lab.flash_attention.arguments import BYTES, check_fits, heads
from llmserve_lab.flash_attention.page.stills import moved
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.transformer import (
    HbmMeter,
    attend,
    causal_mask,
    flash_attention,
    plain_attention,
)
from llmserve_lab.transformer.tiling import Outer

LOOPS: dict[str, Outer] = {"queries outside": "queries", "keys outside": "keys"}
FIRST_LENGTH, MOST_LENGTH = 512, 1024
MOST_TOKENS = 8_192  # of which every pair is scored, twice
FIRST_TILE = 128, 64  # queries and keys


def bench() -> Bench:
    """Prompt, tile and order of the loops; the kernel runs on one head of 128."""
    first = next(iter(LOOPS))
    knobs: dict[str, Knob] = {
        "prompt_len": Turn("tokens", 1, MOST_LENGTH, FIRST_LENGTH),
        "tile_rows": Turn("queries of a tile", 1, 512, FIRST_TILE[0]),
        "tile_keys": Turn("keys of a tile", 1, 512, FIRST_TILE[1]),
        "loop": Choose("loops", tuple(LOOPS), first),
    }
    tiled, plain, _ = run(FIRST_LENGTH, *FIRST_TILE, LOOPS[first])
    return Bench(
        "Bench: your own tile", knobs, show, _picture(FIRST_LENGTH, tiled, plain)
    )


def run(
    prompt_len: int, tile_rows: int, tile_keys: int, outer: Outer
) -> tuple[HbmMeter, HbmMeter, float]:
    """Both kernels on one head: their meters, and how far the outputs are apart."""
    whole(of="token", most=MOST_TOKENS, prompt_len=prompt_len)
    rng, width = np.random.default_rng(0), int(float(heads()["d_head"]))
    query, key, value = rng.standard_normal((3, prompt_len, 1, width))
    tiled, plain = HbmMeter(), HbmMeter()
    out = flash_attention(
        query,
        key,
        value,
        tile_rows=tile_rows,
        tile_keys=tile_keys,
        outer=outer,
        hbm=tiled,
    )
    mask = causal_mask(prompt_len, prompt_len)
    plain_attention(query[:, 0], key[:, 0], value[:, 0], mask, hbm=plain)
    apart = float(np.abs(out - attend(query, key, value, mask)).max())
    return tiled, plain, apart


def show(*, prompt_len: int, tile_rows: int, tile_keys: int, loop: str) -> str:
    """What passed the memory, tiled and plain, and whether the tile fits."""
    on_chip = check_fits(tile_rows, tile_keys, int(float(heads()["d_head"])))
    tiled, plain, apart = run(prompt_len, tile_rows, tile_keys, LOOPS[loop])
    picture = _picture(prompt_len, tiled, plain)
    table = _table(prompt_len, tiled, plain, on_chip, apart)
    return picture.html() + table._repr_html_()


def _picture(prompt_len: int, tiled: HbmMeter, plain: HbmMeter) -> StaticFigure:
    """Bars of the bytes that both kernels moved."""
    megabytes = {
        name: (
            meter.reads.total() * BYTES / 1e6,
            meter.writes.total() * BYTES / 1e6,
        )
        for name, meter in (("tiled", tiled), ("plain", plain))
    }
    times = plain.numbers / tiled.numbers
    said = f"{times:.1f} times fewer" if times > 1 else f"{1 / times:.1f} times more"
    return moved(megabytes, f"{prompt_len:,} tokens: tiles move {said} bytes")


def _table(
    prompt_len: int,
    tiled: HbmMeter,
    plain: HbmMeter,
    on_chip: tuple[float, float],
    apart: float,
) -> Table:
    work = 2 * 128 * prompt_len * (prompt_len + 1)
    rows = [
        (
            name,
            f"{meter.reads.total() * BYTES / 1e6:.2f} MB",
            f"{meter.writes.total() * BYTES / 1e6:.2f} MB",
            f"{work / (meter.numbers * BYTES):.1f}",
        )
        for name, meter in (("tiled", tiled), ("plain", plain))
    ]
    columns = ("way", "read", "written", "useful FLOP/byte")
    notes = [
        f"The tile takes {on_chip[0]:,.0f} of {float(SHARED_PER_BLOCK):,.0f} bytes of "
        f"shared memory and {on_chip[1]:,.0f} bytes of registers.",
        f"Largest difference to plain attention: {apart:.1e}.",
    ]
    return Table(
        f"One head of 128, {prompt_len:,} tokens, 16 bits", columns, rows, notes
    )
