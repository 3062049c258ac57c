"""The chapter's figures: tiles walked, the roof, splits walked, time against splits."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.attention import REGISTERS_PER_SM, SHARED_PER_BLOCK
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention.arguments import BOOK, decode, head, multiprocessors
from llmserve_lab.flash_attention.measured import band
from llmserve_lab.flash_attention.page import charts, split_steps, walk
from llmserve_lab.formula.text import si
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import BandTable, banded
from llmserve_lab.page.live.controls import Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.roofline.formulas import (
    ATTAINABLE_FLOPS,
    ITERATION_BYTES,
    RIDGE,
    STORED_BYTES,
)
from llmserve_lab.running_example import ideal

LENGTHS = (
    250.0,
    500.0,
    1000.0,
    2000.0,
    4000.0,
    8000.0,
    16_000.0,
    32_000.0,
    64_000.0,
    float(BOOK),
    128_000.0,
)
ROWS, KEYS = (64.0, 128.0, 256.0, 512.0), (16.0, 32.0, 64.0, 128.0, 192.0)
FIRST_ROWS, FIRST_KEYS = 128.0, 128.0
SPLITS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 17.0, 24.0, 32.0, 33.0, 64.0)
BATCHES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
HELD = Verdict(
    "model_held",
    "On one GPU, model and cache",
    "hbm_bytes",
    "held_bytes",
    ("do not fit", "fit"),
)
NEAR = 1.05  # of the least time
HIGH = 200.0  # FLOP/byte: what the goal asks for


def tiles_walked() -> StepFigure:
    """Six tokens in tiles, visit by visit."""
    return walk.tiles_walked()


def split_decoding() -> StepFigure:
    """A decode on three multiprocessors, with and without splits."""
    return split_steps.split_decoding()


def _constants(known: dict[str, object], *names: str) -> tuple[Lookup, ...]:
    """Signals that the reader cannot change."""
    return tuple(
        Lookup(name, (), known[name])  # type: ignore[arg-type]
        for name in names
    )


def _of(label: str, room: Cited) -> str:
    """The label of a number of bytes, with what there is of them."""
    return f"{label}, of {si(float(room), 'byte')} ({float(room) / 1024:.0f} KiB)"


def traffic() -> LiveFigure:
    """One head: bytes to and from memory, room on chip, and points under the roof."""
    known = {**head(BOOK), **ideal()}
    known |= {"shared_room": SHARED_PER_BLOCK, "register_room": REGISTERS_PER_SM}
    ways = ("plain", "tiled", "once")
    return LiveFigure(
        name="traffic",
        title="Tiles move fewer bytes for the same FLOPs, so the point climbs the roof",
        chart=charts.roof,
        controls=(
            Slider(
                quantity("prompt_len"), LENGTHS, float(BOOK), "Tokens of the prompt"
            ),
            Slider(quantity("tile_rows"), ROWS, FIRST_ROWS, "Queries of a tile"),
            Slider(quantity("tile_keys"), KEYS, FIRST_KEYS, "Keys of a tile"),
            *_constants(known, "d_head", "bytes_number", "bytes_sum", "tile_stages"),
            *_constants(known, "peak_flops", "hbm_bw", "eff_compute", "eff_mem"),
            *_constants(known, "shared_room", "register_room"),
        ),
        derived={
            "ridge": RIDGE,
            **{
                f"{way}_intensity": each
                for way, each in zip(
                    ways,
                    (f.PLAIN_INTENSITY, f.TILED_INTENSITY, f.ONCE_INTENSITY),
                    strict=True,
                )
            },
            **{
                f"{way}_attainable_flops": Bound(
                    ATTAINABLE_FLOPS, intensity=f"{way}_intensity"
                )
                for way in ways
            },
            "chip_share": f.CHIP_SHARE,
        },
        readouts=(
            Readout(f.PLAIN_BYTES, "Plain: bytes moved"),
            Readout(f.TILED_BYTES, "Tiled: bytes moved"),
            Readout(f.SHARED_BYTES, _of("Shared memory", SHARED_PER_BLOCK)),
            Readout(f.REGISTER_BYTES, _of("Registers", REGISTERS_PER_SM)),
        ),
        sentence=(
            "One head, {prompt_len}, queries of a tile {tile_rows}, keys {tile_keys}: "
            "plain attention does {plain_intensity}, tiled {tiled_intensity}; the "
            "ridge of the H100 is at {ridge}."
        ),
        goal=Goal(
            f"bring the tiled point above {HIGH:.0f} FLOP/byte with a tile that fits.",
            lambda tiled_intensity, chip_share: (
                (tiled_intensity >= HIGH) & (chip_share <= 1)
            ),
            {"prompt_len": 8000.0, "tile_rows": 256.0, "tile_keys": 64.0},
        ),
    )


def decode_splits() -> LiveFigure:
    """Attention of a layer in decode against the number of splits."""
    machine = ideal()
    known = {**machine, **decode(BOOK), "stored_bytes": STORED_BYTES.at(machine)}
    sms = int(float(multiprocessors()))
    heads = ("n_heads", "n_kv_heads", "d_head", "n_sms")
    names = (*heads, "bytes_kv", "bytes_sum", "tile_keys")
    return LiveFigure(
        name="decode-splits",
        title="Splits give idle multiprocessors work, wave by wave, and cost a merge",
        chart=charts.splits,
        controls=(
            Slider(quantity("context"), LENGTHS, float(BOOK), "Tokens in cache, each"),
            Slider(quantity("batch"), BATCHES, 1.0, "Requests in the batch"),
            Slider(quantity("n_split"), SPLITS, 1.0, "Splits of the keys"),
            *_constants(known, *names, "launch_s", "hbm_bw", "eff_mem", "block_bw"),
            *_constants(known, "kv_bytes_per_token", "stored_bytes", "hbm_bytes"),
        ),
        derived={
            "decode_attn_s": f.DECODE_ATTN_S,
            "least_read_s": f.LEAST_READ_S,
            "merge_s": f.MERGE_S,
            "held_bytes": Bound(ITERATION_BYTES, weight_bytes="stored_bytes"),
        },
        readouts=(
            Readout(f.WORK_BLOCKS, f"Thread blocks, for {sms} multiprocessors"),
            Readout(f.WAVES, "Waves of thread blocks"),
            banded(
                Readout("decode_attn_s", "Attention, one layer"),
                BandTable(band, by=("context", "batch", "n_split")),
            ),
            HELD,
        ),
        sentence=(
            "Decoding {batch} with {context} in cache, number of splits {n_split}: "
            "attention of a layer takes {decode_attn_s}, {merge_s} of it for the "
            "merge; the least time is {least_read_s}."
        ),
        goal=Goal(
            "four requests with 32,000 tokens each: come within a twentieth of the "
            "least time with as few splits as possible.",
            lambda decode_attn_s, least_read_s, batch, context, n_split: (
                (decode_attn_s <= NEAR * least_read_s)
                & (batch >= 4)
                & (batch <= 4)
                & (context >= 32_000)
                & (context <= 32_000)
                & (n_split <= 4)
            ),
            {"batch": 4.0, "context": 32_000.0, "n_split": 4.0},
        ),
    )
