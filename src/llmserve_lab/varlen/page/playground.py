"""The chapter's bench: your own lengths, three ways, in rows, pairs, tiles and time."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.evidence.packing import TILE
from llmserve_lab.catalog.selection import (
    beginning_with,
    chip_known,
    in_servers,
    stacks_known,
)
from llmserve_lab.checks import key_of
from llmserve_lab.engine import IterationCost
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn, Write
from llmserve_lab.running_example import DEVICE, served_by
from llmserve_lab.transformer import tiles_of
from llmserve_lab.varlen.page.figures import FOUR
from llmserve_lab.varlen.page.stills import bill
from llmserve_lab.varlen.prefill_time import arithmetic_ms, work

START = " ".join(f"{length:.0f}" for length in FOUR)
MODEL_NAMES = tuple(
    MODELS[key].name for key in ("llama-3.1-8b", "llama-2-7b", "qwen3-32b")
)
# Tiles are multiplied, so the peak must be known from the chip.
DEVICES = beginning_with(DEVICE, in_servers("bf16", chip_known, stacks_known))
DEVICE_NAMES = tuple(each.name for each in DEVICES)
MOST = 100_000  # tokens of a batch that the bench takes
PICTURE = "varlen.bench"


def bench() -> Bench:
    """Lengths, model and GPU open; its picture is the state at the start."""
    knobs: dict[str, Knob] = {
        "text": Write("lengths", f"{START}, or 64 x 128"),
        "tile": Turn("side of a tile", 1, 1024, int(float(TILE))),
        "model": Choose("model", MODEL_NAMES, MODEL_NAMES[0]),
        "accelerator": Choose("GPU", DEVICE_NAMES, DEVICE_NAMES[0]),
    }
    lengths = read("")
    times_ms = arithmetic_ms(lengths, _cost(MODEL_NAMES[0], DEVICE_NAMES[0]))
    title = _title(lengths, MODEL_NAMES[0], DEVICE_NAMES[0])
    picture = bill(times_ms, title, name=PICTURE)
    return Bench("Bench: batch your own requests", knobs, show, picture)


def read(text: str) -> list[int]:
    """Lengths from ``"100 200 1200"`` or ``"64 x 128"``; nothing is the start.

    Raises:
        ValueError: a part is no whole number of at least 1, or they are too many.
    """
    found: list[int] = []
    for part in (text.replace(" x ", "x").strip() or START).split():
        try:
            numbers = [int(each) for each in part.split("x")]
        except ValueError:
            raise ValueError(f"a length must be a number, got {part!r}") from None
        *count, length = numbers
        if len(count) > 1 or min(numbers) < 1 or sum(count) * length > MOST:
            raise ValueError(
                f"a length must be at least 1, or several as 64 x 128, got {part!r}"
            )
        found += [length] * (count[0] if count else 1)
    if sum(found) > MOST:
        raise ValueError(f"lengths must be {MOST:,} tokens at most, got {sum(found):,}")
    return found


def _cost(model: str, accelerator: str) -> IterationCost:
    shapes = {each.name: each for each in MODELS.values()}
    devices = {each.name: each for each in DEVICES}
    key_of("model", model, shapes)
    key_of("accelerator", accelerator, devices)
    return served_by(shapes[model], devices[accelerator])


def _title(lengths: list[int], model: str, accelerator: str) -> str:
    plural = "s" if len(lengths) > 1 else ""
    return f"{len(lengths)} request{plural}, {model} on {accelerator}"


def show(*, text: str, tile: int, model: str, accelerator: str) -> str:
    """The bars, and a table of what each way computes."""
    lengths = read(text)
    times_ms = arithmetic_ms(lengths, _cost(model, accelerator))
    picture = bill(times_ms, _title(lengths, model, accelerator), name=PICTURE)
    return picture.html() + _table(lengths, tile, times_ms)._repr_html_()


def _table(lengths: list[int], tile: int, times_ms: dict[str, Any]) -> Table:
    done, varlen_ms = work(lengths), sum(times_ms["varlen"])
    useful, rows = done["varlen"].pairs, []
    for way, (of_rows, pairs) in done.items():
        rows.append(
            (
                way,
                of_rows,
                pairs,
                f"{useful / pairs:.0%}",
                f"{sum(times_ms[way]):.1f} ms",
                f"{sum(times_ms[way]) / varlen_ms:.2f}",
            )
        )
    columns = ("way", "rows", "pairs", "of them useful", "arithmetic", "over varlen")
    visited = tiles_of(lengths, tile)
    note = (
        "Pairs and milliseconds without the future. A varlen kernel with tiles of "
        f"{tile} by {tile}, one head in each, visits {visited:,}; "
        f"{useful / (visited * tile**2):.0%} of their places are useful."
    )
    return Table(f"{sum(lengths):,} tokens, three ways", columns, rows, [note])
