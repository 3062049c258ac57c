"""Published speeds beside the bounds: attention of a prompt, and decode in splits."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.catalog.evidence.attention import (
    CAUSAL_SPEED,
    CODES,
    FIGURE_LENGTHS,
    FLASH_THREE,
    FLASH_TWO,
    STANDARD,
    SplitRun,
)
from llmserve_lab.checks import key_of
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention.arguments import (
    BOOK,
    BYTES,
    BYTES_SUM,
    TILE_SIDE,
    decode,
    head,
)
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import cost, device, model

INTENSITY = {
    STANDARD: f.PLAIN_INTENSITY,
    FLASH_TWO: f.TILED_INTENSITY,
    FLASH_THREE: f.TILED_INTENSITY,
}
LONGEST = FIGURE_LENGTHS[-1]
LIMIT = "limit ÷"  # over what was measured


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


def decode_bound_s(run: SplitRun, *, split: bool) -> float:
    """Least seconds of one measured decode, at the A100's datasheet bandwidth.

    Unsplit, the old kernel gave each query head a block of its own, so the wave model
    gives them. Split, every multiprocessor reads, and the cache is read once. Launches
    are left out.
    """
    if not split:
        return _unsplit_s(run, float(evidence.DECODE_HEADS))
    per_head = 2 * run.context * float(evidence.DECODE_WIDTH) * BYTES
    cache = run.batch * float(evidence.DECODE_KV_HEADS) * per_head
    return cache / float(accelerator("a100-80-sxm").hbm_bw)


def _unsplit_s(run: SplitRun, blocks: float) -> float:
    """Seconds of one measured decode with so many thread blocks for each request."""
    gpu = accelerator("a100-80-sxm")
    if gpu.compute_array is None:
        raise ValueError(f"the A100 must have known multiprocessors, got {gpu.name}")
    known = {
        "n_heads": evidence.DECODE_HEADS,
        "n_kv_heads": blocks,
        "n_split": 1,
        "d_head": evidence.DECODE_WIDTH,
        "n_sms": gpu.compute_array.num_sms,
        "hbm_bw": gpu.hbm_bw,
        "eff_mem": 1.0,
        "bytes_kv": BYTES,
        "bytes_sum": BYTES_SUM,
        "batch": run.batch,
        "context": run.context,
        "tile_keys": TILE_SIDE,
    }
    return float(f.SPLIT_READ_S.at(known))


def unsplit_factors(run: SplitRun) -> tuple[float, float]:
    """Why the old kernel was slow, by the model: keys read again, multiprocessors idle.

    The first is how often each key was read, once for each query head that shares it;
    the second how many times more multiprocessors there are than were at work.
    """
    again = float(evidence.DECODE_HEADS) / float(evidence.DECODE_KV_HEADS)
    without, split = (decode_bound_s(run, split=each) for each in (False, True))
    return again, without / split / again


def times_the_bound(*, split: bool) -> tuple[float, float]:
    """Least and most that a measured decode took, as a multiple of its bound."""
    found = [
        float(run.split_s if split else run.unsplit_s)
        / decode_bound_s(run, split=split)
        for run in evidence.DECODE_RUNS
    ]
    return min(found), max(found)


def one_request() -> tuple[SplitRun, SplitRun]:
    """The two measured decodes of a single request, the shorter first."""
    alone = [run for run in evidence.DECODE_RUNS if run.batch == 1]
    short, long = sorted(alone, key=lambda run: run.context)
    return short, long


@dataclass(frozen=True)
class Fitted:
    """What the two decodes of a single request tell of a kernel.

    ``share``: of their part of the datasheet's bandwidth, what the multiprocessors at
    work draw; ``rest_s``: seconds that do not grow with the cache.
    """

    share: float
    rest_s: float


def fitted(*, split: bool) -> Fitted:
    """Two runs, two unknowns: what grows with the cache, and what does not."""
    runs = one_request()
    seen = [float(run.split_s if split else run.unsplit_s) for run in runs]
    full = [decode_bound_s(run, split=split) for run in runs]
    share = (full[1] - full[0]) / (seen[1] - seen[0])
    return Fitted(share, seen[0] - full[0] / share)


@dataclass(frozen=True)
class Expected:
    """Seconds of a decode of the long prompt on an H100, one request."""

    model_s: float  # one layer, by the wave model
    layer_s: float  # one layer, with the two constants of the A100
    layers_s: float
    parameters_s: float  # to read them
    token_s: float


def expected(n_split: int) -> Expected:
    """The wave model, and what it says with the A100's two constants for its own."""
    known, fit = decode(BOOK, n_split=n_split), fitted(split=n_split > 1)
    layer_s = float(f.SPLIT_READ_S.at(known | {"eff_mem": fit.share})) + fit.rest_s
    layers_s, rest_s = layer_s * model().n_layers, float(cost().weights_s)
    return Expected(
        float(f.DECODE_ATTN_S.at(known)), layer_s, layers_s, rest_s, layers_s + rest_s
    )


ROWS = {
    "one layer, wave model": "model_s",
    "one layer, with the A100’s constants": "layer_s",
    "all layers, likewise": "layers_s",
    "reading the parameters": "parameters_s",
    "a token": "token_s",
}


def expected_table(n_split: int) -> Table:
    """A decode of the long prompt without splits and with so many."""
    without, split = expected(1), expected(n_split)
    rows = []
    for said, name in ROWS.items():
        slow, fast = getattr(without, name), getattr(split, name)
        gain = f"{slow / fast:.1f}" if slow != fast else "–"
        rows.append([said, _ms(slow), _ms(fast), gain])
    caption = f"One request with {BOOK:,} tokens on an H100, expected and not measured"
    columns = ("", "without splits", f"{n_split} splits", "times as fast")
    return Table(caption, ("decode", *columns[1:]), rows)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


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


def packed_alone_s(run: SplitRun) -> float:
    """Seconds by the model if the queries of a group shared a block, without splits."""
    return _unsplit_s(run, float(evidence.DECODE_KV_HEADS))


def decode_table() -> Table:
    """Measured decodes with and without splits, beside the model."""
    rows: list[list[str | int]] = []
    for run in evidence.DECODE_RUNS:
        pairs = (
            (float(run.unsplit_s), decode_bound_s(run, split=False)),
            (float(run.split_s), decode_bound_s(run, split=True)),
        )
        cells = [
            text
            for measured, predicted in pairs
            for text in (
                f"{1e6 * measured:,.1f}",
                f"{1e6 * predicted:,.1f}",
                f"{measured / predicted:.2f}",
            )
        ]
        rows.append([run.batch, run.context, *cells])
    columns = (
        "requests",
        "tokens each",
        *("unsplit, µs", "wave model, µs", "ratio"),
        *("split, µs", "least, µs", "ratio"),
    )
    caption = "Attention of one layer in decode on an A100, 16 query and 2 KV heads"
    note = (
        "Wave model: at the datasheet's whole bandwidth. Least: the time that all keys "
        "and values take at this bandwidth. Ratio: measured over the column before it."
    )
    return Table(caption, columns, rows, notes=(note,))
