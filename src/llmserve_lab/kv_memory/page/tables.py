"""The chapter's tables: what fits term by term, bytes a token, published counts."""

from __future__ import annotations

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.machine import room
from llmserve_lab.page.table import Table
from llmserve_lab.roofline.formulas import STORED_BYTES
from llmserve_lab.validation.cache_blocks import predicted

KIB, MIB = 1024.0, float(1 << 20)


def terms() -> Table:
    """Where the memory of one GPU goes, each number with its source."""
    known = room()
    usable, share = known["usable_bytes"], known["memory_share"]
    beside, weights = known["beside_bytes"], float(STORED_BYTES.at(known))
    allowed = float(usable) * float(share)
    blocks = int(float(f.NUM_BLOCKS.at(known)))
    size = int(float(known["block_tokens"]))
    rows = [
        ("memory that the driver reports", _gb(float(usable)), usable.source),
        (f"of it {float(share):.0%} for the server", _gb(allowed), share.source),
        (
            "less weights",
            _gb(-weights),
            "every parameter stored, two bytes each",
        ),
        ("less activations and graphs", _gb(-float(beside)), beside.source),
        (
            "left for the cache",
            _gb(float(f.CACHE_BYTES.at(known))),
            "the sum",
        ),
        (
            f"blocks of {size} tokens",
            f"{blocks:,}",
            f"{float(f.CACHE_BYTES.at(known)) / MIB:,.0f} MiB over "
            f"{float(f.BLOCK_BYTES.at(known)) / MIB:.0f} MiB each, rounded down",
        ),
        ("tokens", f"{blocks * size:,}", "blocks times their tokens"),
    ]
    return Table(
        "One H100 SXM, Llama-3.1-8B in 16 bits", ("term", "size", "from"), rows
    )


def _gb(value: float) -> str:
    return f"{value / 1e9:.2f} GB".replace("-", "−")


def per_token() -> Table:
    """Bytes of the cache of a dozen models, a token and a long request."""
    rows = []
    for each in CACHE_LAYERS.values():
        split = (each.full_layers, each.window_layers, each.state_layers)
        rows.append(
            (
                each.name,
                each.kind,
                " + ".join(str(count) for count in split),
                f"{each.window:,}" if each.window else "–",
                f"{each.naive_token_bytes() / KIB:.1f}",
                f"{each.full_token_bytes() / KIB:.1f}",
            )
        )
    return Table(
        "KiB of cache a token, 16 bits",
        (
            "model",
            "attention",
            "layers: full + window + state",
            "window (tokens)",
            "all layers",
            "a token beyond the window",
        ),
        rows,
    )


def counts() -> Table:
    """Nine published counts of blocks beside what the formula gives for each."""
    rows = []
    for each in predicted():
        record = each.record
        device = "RTX 4090" if record.usable_bytes else "H100"
        rows.append(
            (
                record.model.name,
                f"{record.tp} × {device}",
                f"{record.budget:,}",
                f"{int(float(record.blocks)):,}",
                f"{each.blocks:,}",
                f"{100 * each.error:+.1f} %".replace("-", "−"),
            )
        )
    columns = ("model", "GPUs", "token budget", "published", "predicted", "off by")
    return Table("KV-cache blocks of 16 tokens at start", columns, rows)
