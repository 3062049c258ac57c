"""The chapter's tables: what fits term by term, bytes a token, published counts."""

from __future__ import annotations

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.evidence.serving import (
    BLIS_LOG,
    DEFAULT_SEQS,
    H100_TOTAL,
    IMAGES_LOG,
    RTX_4090_LOG,
    SCOUT_BLOCKS,
    SCOUT_GPUS,
    START_LOGS,
    StartLog,
)
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.machine import (
    BLOCK,
    log_of,
    printed_blocks,
    room,
    scout,
)
from llmserve_lab.page.table import Table
from llmserve_lab.roofline.formulas import STORED_BYTES
from llmserve_lab.running_example import model
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
        ("memory that the CUDA runtime reports", _gb(float(usable)), usable.source),
        (f"of it {float(share):.0%} for the server", _gb(allowed), share.source),
        ("less weights", _gb(-weights), "every parameter stored, two bytes each"),
        ("less working space", _gb(-float(beside)), beside.source),
        (
            "left for the cache",
            _gb(float(f.CACHE_BYTES.at(known))),
            "the sum",
        ),
        (
            f"blocks of {size} tokens",
            f"{blocks:,}",
            f"{float(f.CACHE_BYTES.at(known)) / MIB:,.1f} MiB over "
            f"{float(f.BLOCK_BYTES.at(known)) / MIB:.0f} MiB each, rounded down",
        ),
        ("tokens", f"{blocks * size:,}", "blocks times their tokens"),
    ]
    return Table(
        "One H100 SXM, Llama-3.1-8B in 16 bits", ("term", "size", "from"), rows
    )


def _gb(value: float) -> str:
    return f"{value / 1e9:.2f} GB".replace("-", "−")


def start_log() -> Table:
    """What a server says at its start, line by line, and what each line answers to."""
    log = log_of(model().name)
    total, share = float(H100_TOTAL), float(room()["memory_share"])
    tokens, length = printed_blocks() * BLOCK, 16_000
    rows = [
        ("requested: share of the memory", _gib(share * total),
         "--gpu-memory-utilization"),
        ("Model loading took", _gib(-float(log.weights)),
         "--quantization, GPUs that share the model"),
        ("torch peak memory increase", _gib(-float(log.peak)),
         "--max-num-seqs, --max-num-batched-tokens"),
        ("non-torch memory", _gib(-float(log.other)), "GPUs that share the model"),
        ("Available KV cache memory", _gib(float(log.cache)), "the sum"),
        ("GPU KV cache size [1]", f"{tokens:,} tokens",
         "--kv-cache-dtype fp8: twice as many"),
        ("Maximum concurrency [1]", f"{tokens / length:.1f} × {length:,}",
         "--max-model-len: only this line"),
    ]  # fmt: skip
    return Table(
        "Start of vLLM 0.11.0, Llama-3.1-8B on one H100",
        ("line of the log", "size", "changed by"),
        rows,
        notes=(
            f"Computed here from the line above, for blocks of {BLOCK} tokens: "
            f"{printed_blocks():,} whole blocks. The server's own had 128 tokens.",
        ),
    )


def _gib(value: float) -> str:
    return f"{value / 2**30:.2f} GiB".replace("-", "−")


def peaks() -> Table:
    """The peak of the trial batch beside the vocabulary, of five published starts."""
    rows = [
        (
            f"{log.name}, {log.tp} GPU{'s' if log.tp > 1 else ''}",
            f"{log.vocab:,}",
            _gib(float(log.peak)),
            f"{per_entry(log):.1f}",
        )
        for log in START_LOGS
    ]
    columns = ("model", "vocabulary", "peak", "bytes")
    name, size = IMAGES_LOG.name, _gib(float(IMAGES_LOG.peak))
    notes = (
        "Bytes of the peak for each slot and each entry of the vocabulary.",
        f"The file has one model more, {name}, with an image encoder and options of "
        f"its own: {size}, or {per_entry(IMAGES_LOG):.1f} bytes, for no known reason.",
    )
    seqs = f"{float(DEFAULT_SEQS):,.0f} slots"
    caption = f"Peak of the trial batch on a GPU: vLLM 0.11.0, H100s, {seqs}"
    return Table(caption, columns, rows, notes=notes)


def per_entry(log: StartLog) -> float:
    """Peak of the trial batch over slots of requests and entries of the vocabulary."""
    return float(log.peak) / float(DEFAULT_SEQS) / log.vocab


def per_token() -> Table:
    """Bytes of the cache of a dozen models: of a token and of a request."""
    rows = []
    for each in CACHE_LAYERS.values():
        split = (each.full_layers, each.window_layers, each.state_layers)
        rows.append(
            (
                each.name,
                " + ".join(str(count) for count in split),
                f"{each.window:,}" if each.window else "–",
                f"{each.naive_token_bytes() / KIB:.1f}",
                f"{each.full_token_bytes() / KIB:.1f}",
                f"{each.state_bytes() / MIB:.0f}" if each.state_layers else "–",
            )
        )
    return Table(
        "Layers that keep all, a window, a state; KiB a token if all kept all, and in "
        "a text far longer than the window; MiB of state a request. 16 bits",
        ("model", "layers", "window", "all keep all", "long text", "state"),
        rows,
    )


def counts() -> Table:
    """Ten published counts of blocks beside what the formula gives for each."""
    rows = []
    for each in predicted():
        record = each.record
        device = "RTX 4090" if record.usable_bytes else "H100"
        rows.append(
            (
                f"{record.served or record.model.name}, {record.tp} × {device}",
                f"{int(float(record.blocks)):,}",
                f"{each.blocks:,}",
                f"{100 * each.error:+.1f} %".replace("-", "−"),
            )
        )
    blocks, error = scout()
    name = f"Llama-4 Scout, {SCOUT_GPUS} × H100"
    rows.append(
        (
            name, f"{float(SCOUT_BLOCKS):,.0f}", f"{blocks:,}",
            f"{100 * error:+.1f} %",
        )
    )  # fmt: skip
    columns = ("server", "published", "predicted", "off by")
    notes = [
        f"{device}: {log.place}. vLLM {log.version}; published {log.published}."
        for device, log in (("H100", BLIS_LOG), ("RTX 4090", RTX_4090_LOG))
    ]
    notes.append(
        "Equal names differ in --max-num-batched-tokens: Llama-3.1-70B 8,192, then "
        "2,048; Qwen2.5-7B 1,024, then 2,048. Scout is in FP8."
    )
    return Table("KV-cache blocks of 16 tokens at start", columns, rows, notes=notes)
