"""What the chapter's formulas ask about: one head of the running example, its GPU."""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import Any

from llmserve_lab import running_example
from llmserve_lab.catalog import Accelerator, Cited, ModelShape
from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.catalog.evidence.kernels import GRAPH_STEP_S
from llmserve_lab.catalog.evidence.one_h100 import decode_attention, source
from llmserve_lab.catalog.evidence.packing import TILE
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.checks import whole, whole_number
from llmserve_lab.flash_attention import formulas as f

BOOK = 98_000  # tokens of the long prompt that the book's other pages have, too
MOST_SPLITS = 1_024
MOST_TOKENS = 2**22
TILE_SIDE = int(float(TILE))
BYTES = 2.0  # of a number in 16 bits
BYTES_SUM = 4.0  # of a number in 32 bits, in which sums are taken


def heads(model: ModelShape | None = None) -> dict[str, Cited]:
    """Heads of a model, by default the running example's, and how wide they are.

    Raises:
        TypeError: its attention is not grouped-query.
    """
    shape = model or running_example.model()
    if not isinstance(shape.attention, GroupedQueryAttention):
        raise TypeError(
            f"model must have grouped-query attention, got {shape.attention.kind}"
        )
    spec = shape.attention
    return {
        "n_heads": Cited(spec.n_heads, "head/layer", "counted", shape.source),
        "n_kv_heads": Cited(spec.n_kv_heads, "head/layer", "counted", shape.source),
        "d_head": Cited(spec.d_head, "element", "counted", shape.source),
    }


def tile(rows: int = TILE_SIDE, keys: int = TILE_SIDE) -> dict[str, Any]:
    """A tile of FlashAttention-3, or one of other sides, in 16 bits, sums in 32."""
    return {
        "tile_rows": rows,
        "tile_keys": keys,
        "tile_stages": evidence.STAGES,
        "bytes_number": BYTES,
        "bytes_sum": BYTES_SUM,
    }


def head(prompt_len: int, rows: int = TILE_SIDE, keys: int = TILE_SIDE) -> Any:
    """One head, one prompt, one tile, ready for the formulas of traffic."""
    return {**heads(), **tile(rows, keys), "prompt_len": prompt_len}


def multiprocessors(device: Accelerator | None = None) -> Cited:
    """Multiprocessors of a GPU, by default the running example's.

    Raises:
        ValueError: the catalog does not know how many it has.
    """
    gpu = device or running_example.device()
    if gpu.compute_array is None:
        raise ValueError(f"device must have known multiprocessors, got {gpu.name}")
    return gpu.compute_array.num_sms


@cache
def block_pace() -> Cited:
    """Bytes a second that one thread block of a decode reads while others idle.

    Measured on an H100 by this book's kernel: the longest cache, without splits.
    """
    alone = [run for run in decode_attention() if run.batch == 1 and run.splits == 1]
    run = max(alone, key=lambda run: (run.context, run.kv_heads))
    pace = run.bytes_per_s / run.kv_heads
    note = f"{run.context:,} tokens, {run.kv_heads} blocks, split-KV kernel in Triton"
    return Cited(pace, "byte/s", "measured", source(), note)


def decode(context: int, *, batch: int = 1, n_split: int = 1) -> dict[str, Any]:
    """A decode of the running example, as measured servers reach its GPU."""
    known = running_example.setting()
    return {
        **heads(),
        "tile_keys": TILE_SIDE,
        "context": context,
        "batch": batch,
        "n_split": n_split,
        "n_sms": multiprocessors(),
        "bytes_kv": BYTES,
        "bytes_sum": BYTES_SUM,
        "launch_s": GRAPH_STEP_S,
        "block_bw": block_pace(),
        "hbm_bw": known["hbm_bw"],
        "eff_mem": known["eff_mem"],
    }


ENOUGH = 0.85  # of the best share of full waves: what the library is content with
NEARLY_FULL = 0.8  # of the multiprocessors: from here on it does not look further
FEW_TILES = 4  # of keys: up to here neither


def waves_filled(blocks: int, n_split: int, n_sms: int) -> float:
    """Share of its waves that a decode fills with so many splits.

    Raises:
        ValueError: an argument is below 1.
    """
    whole(blocks=blocks, n_split=n_split, n_sms=n_sms)
    waves = blocks * n_split / n_sms
    return waves / ceil(waves)


def library_splits(blocks: int, n_sms: int, *, key_tiles: int, most: int = 128) -> int:
    """Fewest splits that fill their waves nearly as well as the best number does.

    ``blocks`` are those without splits; where they nearly fill the GPU, or there are
    few tiles of keys, there is one split. No split has less than a tile of keys.

    Source: FlashAttention, hopper/heuristics.h.

    Raises:
        ValueError: an argument is below 1.
    """
    whole(blocks=blocks, n_sms=n_sms, key_tiles=key_tiles)
    whole_number("most", most, of="split", most=MOST_SPLITS)
    if blocks >= NEARLY_FULL * n_sms or key_tiles <= FEW_TILES:
        return 1
    most = min(most, n_sms, key_tiles)
    filled = [waves_filled(blocks, n, n_sms) for n in range(1, most + 1)]
    return next(n for n, f in enumerate(filled, 1) if f >= ENOUGH * max(filled))


def rule_splits(blocks: int, n_sms: int, *, key_tiles: int) -> int:
    """One full wave of splits; where that idles too many SMs, the fewest full waves.

    Splits that fit into one wave are taken if they fill their waves ``NEARLY_FULL``;
    else the fewest that fill them ``ENOUGH``, or, where none does, those of one wave.
    No split has less than a tile of keys.

    Raises:
        ValueError: an argument is below 1.
    """
    first = wave_splits(blocks, n_sms, key_tiles=key_tiles)
    if waves_filled(blocks, first, n_sms) >= NEARLY_FULL:
        return first
    fills = (
        n
        for n in range(1, min(n_sms, key_tiles) + 1)
        if waves_filled(blocks, n, n_sms) >= ENOUGH
    )
    return next(fills, first)


def wave_splits(blocks: int, n_sms: int, *, key_tiles: int) -> int:
    """Most splits that fit into one wave, of a tile of keys or more; at least one.

    Raises:
        ValueError: an argument is below 1.
    """
    whole(blocks=blocks, n_sms=n_sms, key_tiles=key_tiles)
    return max(1, min(n_sms // blocks, key_tiles))


def request_splits(context: int, heads_kv: int, n_sms: int, *, most: int) -> int:
    """Splits that FlashAttention-3 gives a single request, as vLLM calls it.

    vLLM hands ``most`` over as the number of splits, so ``library_splits`` is not
    asked, and calls every batch ragged. All tiles of keys, and a tenth more, are dealt
    out to the multiprocessors; a split has as many tiles as one of them gets.

    Source: FlashAttention, hopper/flash_prepare_scheduler.cu.

    Raises:
        ValueError: an argument is below 1.
    """
    whole_number("most", most, most=MOST_TOKENS)
    tiles = ceil(context / TILE_SIDE)
    return max(1, min(ceil(tiles / request_tiles(context, heads_kv, n_sms)), most))


def request_tiles(context: int, heads_kv: int, n_sms: int) -> int:
    """Tiles of keys in a split of that request: a multiprocessor's, and a tenth more.

    Raises:
        ValueError: an argument is below 1.
    """
    whole(most=MOST_TOKENS, context=context, heads_kv=heads_kv, n_sms=n_sms)
    return ceil(ceil(context / TILE_SIDE) * 11 * heads_kv / (10 * n_sms))


def check_fits(rows: int, keys: int, d_head: int) -> tuple[float, float]:
    """Bytes of shared memory and of registers that a tile takes on one multiprocessor.

    Raises:
        TypeError: a side is no whole number.
        ValueError: a side is below 1, or the tile does not fit on the chip.
    """
    whole(tile_rows=rows, tile_keys=keys, d_head=d_head)
    known = {**tile(rows, keys), "d_head": d_head}
    shared, registers = (
        float(each.at(known)) for each in (f.SHARED_BYTES, f.REGISTER_BYTES)
    )
    room = float(evidence.SHARED_PER_BLOCK), float(evidence.REGISTERS_PER_SM)
    for taken, most, where in zip(
        (shared, registers), room, ("shared memory", "registers"), strict=True
    ):
        if taken > most:
            raise ValueError(
                f"tile_rows and tile_keys must fit into {most:,.0f} bytes of {where}, "
                f"got {rows} and {keys}, which take {taken:,.0f}"
            )
    return shared, registers


def fits(rows: int, keys: int, d_head: int) -> bool:
    """Whether a tile fits on one multiprocessor."""
    try:
        check_fits(rows, keys, d_head)
    except ValueError:
        return False
    return True
