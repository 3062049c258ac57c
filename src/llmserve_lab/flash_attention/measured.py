"""Published speeds beside the bounds: attention of a prompt, and decode in splits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.catalog.evidence.attention import (
    CAUSAL_SPEED,
    CODES,
    FIGURE_LENGTHS,
    FLASH_THREE,
    FLASH_TWO,
    STANDARD,
    SplitRun,
)
from llmserve_lab.catalog.evidence.one_h100 import DecodeAttention
from llmserve_lab.checks import key_of
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention.arguments import TILE_SIDE, decode, head
from llmserve_lab.formula.band import Band, ErrorBand, Unmeasured
from llmserve_lab.formula.text import off_by
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import device, model

INTENSITY = {
    STANDARD: f.PLAIN_INTENSITY,
    FLASH_TWO: f.TILED_INTENSITY,
    FLASH_THREE: f.TILED_INTENSITY,
}
LONGEST = FIGURE_LENGTHS[-1]
LIMIT = "limit ÷"  # over what was measured
MANY = 10**6  # splits, where a library chose and did not say how many
LONG = 8_192  # tokens of a cache: below, launches weigh more than reading
FILLED = 0.9  # of all waves, in every decode that was timed with two waves or more
SHOWN = (1, 4, 8, 16, 32, 66, 256)  # splits in the page's table
STEP_SPLITS = 66  # of the measured iteration's attention


def bound(code: str, prompt_len: int) -> float:
    """FLOP/s under the H100's datasheet roof if every tile comes from HBM.

    Raises:
        ValueError: nothing is measured for that code.
    """
    key_of("code", code, CODES)
    gpu = device()
    reached = float(INTENSITY[code].at(head(prompt_len))) * float(gpu.hbm_bw)
    return min(reached, float(gpu.peak("bf16")))


def once_bound(prompt_len: int) -> float:
    """The same if every number passes once: what an endless L2 cache would allow."""
    gpu = device()
    reached = float(f.ONCE_INTENSITY.at(head(prompt_len))) * float(gpu.hbm_bw)
    return min(reached, float(gpu.peak("bf16")))


def in_turns_bound() -> float:
    """FLOP/s if products and exponentials take turns instead of overlapping.

    A pair has one exponential, and FLOPs for each element of a head. Heads of 128.
    """
    flops = 4 * float(evidence.DECODE_WIDTH)
    products_s = flops / float(device().peak("bf16"))
    return flops / (products_s + 1 / float(evidence.EXP_RATE))


def speed_table() -> Table:
    """Measured speeds of three programs, both bounds, and how far off these are."""
    rows = []
    for length in FIGURE_LENGTHS:
        row: list[str | int] = [length]
        for code in CODES:
            found = CAUSAL_SPEED[code].get(length)
            if found is None:
                row += ["out of memory", "–"]
                continue
            slower = bound(code, length) / float(found)
            row += [f"{float(found) / 1e12:.0f}", f"{slower:.2f}"]
        once = once_bound(length)
        best = float(CAUSAL_SPEED[FLASH_THREE][length])
        rows.append(
            [*row, f"{once / 1e12:.0f}", f"{once / best:.2f}"],
        )
    columns = (
        "tokens",
        *(part for code in ("standard", "FA-2", "FA-3") for part in (code, LIMIT)),
        "each once",
        f"FA-3: {LIMIT}",
    )
    caption = "TFLOP/s of causal attention on an H100, heads of 128, beside two limits"
    notes = (
        "FA: FlashAttention. Limit ÷: the limit over what was measured, if every score "
        "(standard) or every tile (FA) comes from HBM. Below one the kernel is faster: "
        "a cache answers.",
        "Each once: the limit if every number passes once, and the same for FA-3.",
    )
    return Table(caption, columns, rows, notes=notes)


def decode_runs(*, heads: int = 32) -> tuple[DecodeAttention, ...]:
    """This book's decodes with so many query heads, no more splits than tiles."""
    return tuple(
        run
        for run in one_h100.decode_attention()
        if run.heads == heads and (run.splits or MANY) * TILE_SIDE <= run.context
    )


def model_s(run: DecodeAttention) -> float:
    """Seconds of a measured decode by the wave model.

    Raises:
        ValueError: a library chose the number of splits, and did not say which.
    """
    if run.splits is None:
        raise ValueError("splits must be known, got None")
    known = decode(run.context, batch=run.batch, n_split=run.splits)
    known |= {"n_heads": run.heads, "n_kv_heads": run.kv_heads}
    return float(f.DECODE_ATTN_S.at(known))


def errors(runs: Iterable[DecodeAttention]) -> tuple[float, ...]:
    """Predicted over measured, less one, of each run."""
    return tuple(model_s(run) / float(run.seconds) - 1 for run in runs)


def alone() -> tuple[DecodeAttention, ...]:
    """One request with the longest cache, by its number of splits."""
    one = [run for run in decode_runs() if run.batch == 1]
    most = max(run.context for run in one)
    return tuple(run for run in one if run.context == most)


def band(context: float, batch: float, n_split: float) -> ErrorBand:
    """The wave model's errors on measured decodes like this one.

    None was timed whose last wave is far from full after a full one.
    """
    known = decode(int(context), batch=int(batch), n_split=int(n_split))
    blocks, sms = float(f.WORK_BLOCKS.at(known)), float(known["n_sms"])
    waves = float(f.WAVES.at(known))
    if n_split * TILE_SIDE >= context + TILE_SIDE:
        return Unmeasured("more splits than tiles of keys")
    if waves > 1 and blocks < FILLED * waves * sms:
        return Unmeasured("no decode whose last wave is far from full was timed")
    long = context >= LONG - 192  # the stop of 8,000 tokens, too
    found = _errors_of(long=long)
    said = f"{LONG:,} tokens or more" if long else "1,024 tokens"
    regime = f"decodes of this shape with {said} on one H100"
    return Band(min(found), max(found), regime, len(found), whole=True)


@cache
def _errors_of(*, long: bool) -> tuple[float, ...]:
    """The wave model's errors on this book's decodes, long ones or short ones."""
    return errors(run for run in decode_runs() if (run.context >= LONG) == long)


def block_speed(blocks: int) -> float:
    """Most bytes a second that so many blocks drew together in plain reads.

    Raises:
        ValueError: so many were not timed.
    """
    found = [run.bytes_per_s for run in one_h100.reads() if run.blocks == blocks]
    if not found:
        raise ValueError(f"blocks must be a number that was timed, got {blocks}")
    return max(found)


def step_s() -> tuple[int, float]:
    """Tokens and seconds of the measured iteration with the longest single decode."""
    timed = one_h100.mean_seconds()
    longest = max(size for size in timed if size.decodes == 1 and not size.chunk)
    return longest.context, timed[longest]


def unsplit_step_s(block_bytes_per_s: float | None = None) -> float:
    """That iteration if attention had one split: by the wave model, what it adds.

    With ``block_bytes_per_s`` a block reads at another pace than this book's kernel.
    """
    context, seconds = step_s()
    many, one = (decode(context, n_split=n) for n in (STEP_SPLITS, 1))
    if block_bytes_per_s is not None:
        one |= {"block_bw": block_bytes_per_s}
    more_s = float(f.DECODE_ATTN_S.at(one)) - float(f.DECODE_ATTN_S.at(many))
    return seconds + model().n_layers * more_s


def prompt_s() -> tuple[int, float]:
    """Tokens and seconds of the longest measured prompt, a whole iteration."""
    timed = one_h100.mean_seconds()
    longest = max(size for size in timed if not size.decodes and not size.prefix)
    return longest.chunk, timed[longest]


def splits_table() -> Table:
    """One request with the longest cache: measured by splits, and the wave model."""
    rows = []
    for run in alone():
        if run.splits not in SHOWN:
            continue
        seconds, predicted = float(run.seconds), model_s(run)
        blocks = run.kv_heads * int(run.splits or 1)
        each = run.bytes_per_s / blocks
        rows.append(
            [
                str(run.splits),
                f"{blocks:,}",
                f"{1e6 * seconds:,.0f}",
                f"{1e6 * predicted:,.0f}",
                off_by(predicted / seconds - 1),
                f"{each / 1e9:.1f}",
            ]
        )
    columns = ("splits", "blocks", "measured, µs", "model, µs", "error", "GB/s a block")
    caption = (
        f"Attention of one layer in decode on an H100, one request with "
        f"{alone()[0].context:,} tokens"
    )
    note = (
        "Error: model over measured, less one. GB/s a block: keys and values over "
        "measured time and blocks."
    )
    return Table(caption, columns, rows, notes=(note,))


def gain_parts() -> tuple[float, float, float]:
    """What FlashAttention-3's gain over standard attention is made of.

    Fewer bytes; how much slower than its bytes standard attention is; how much faster
    than its own FlashAttention-3. At the longest prompt that both did.
    """
    length, _ = over_standard()
    tiled, plain = bound(FLASH_THREE, length), bound(STANDARD, length)
    fast, slow = (float(CAUSAL_SPEED[c][length]) for c in (FLASH_THREE, STANDARD))
    return tiled / plain, plain / slow, fast / tiled


def over_standard() -> tuple[int, float]:
    """Longest prompt that standard attention did, and FlashAttention-3's gain there."""
    longest = max(CAUSAL_SPEED[STANDARD])
    fast, slow = (
        float(CAUSAL_SPEED[each][longest]) for each in (FLASH_THREE, STANDARD)
    )
    return longest, fast / slow


def two_gpus() -> tuple[tuple[SplitRun, DecodeAttention, DecodeAttention], ...]:
    """Decodes of both GPUs: an A100; an H100 with one split, and with the best."""
    mine: dict[tuple[int, int], list[DecodeAttention]] = {}
    heads = int(float(evidence.DECODE_HEADS))
    for run in decode_runs(heads=heads):
        mine.setdefault((run.batch, run.context), []).append(run)
    found = []
    for theirs in evidence.DECODE_RUNS:
        if runs := mine.get((theirs.batch, theirs.context)):
            least = min(runs, key=lambda run: float(run.seconds))
            found.append((theirs, next(r for r in runs if r.splits == 1), least))
    return tuple(found)


def decode_table() -> Table:
    """Measured decodes of the same shape on two GPUs, with and without splits."""
    rows: list[list[str | int]] = []
    for theirs, one, best in two_gpus():
        pairs = ((theirs.unsplit_s, theirs.split_s), (one.seconds, best.seconds))
        cells = [
            text
            for slow, fast in pairs
            for text in (
                f"{1e6 * float(slow):,.1f}",
                f"{1e6 * float(fast):,.1f}",
                f"{float(slow) / float(fast):.1f}",
            )
        ]
        rows.append([theirs.batch, theirs.context, *cells])
    columns = (
        "requests",
        "tokens each",
        *("A100: one block, µs", "splits, µs", "gain"),
        *("H100: one split, µs", "best, µs", "gain of splits"),
    )
    caption = (
        f"Attention of one layer in decode, {float(evidence.DECODE_HEADS):.0f} query "
        f"and {float(evidence.DECODE_KV_HEADS):.0f} KV heads, on two GPUs"
    )
    note = (
        "All measured. A100: 2023, an old kernel without packing and without splits, "
        "and a new one with both. H100: this book’s kernel, which always packs, with "
        "one split and with the best number of splits."
    )
    return Table(caption, columns, rows, notes=(note,))
