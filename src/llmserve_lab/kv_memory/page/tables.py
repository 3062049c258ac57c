"""The chapter's tables: what fits term by term, bytes a token, published counts."""

from __future__ import annotations

from llmserve_lab import catalog
from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
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
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.machine import (
    BLOCK,
    GRAPHS,
    SHARE_NOW,
    blocks_with,
    boxed,
    kept,
    log_errors,
    log_of,
    printed_blocks,
    room,
    scout,
    slots_at_full_length,
    working_bytes,
)
from llmserve_lab.page.table import Table
from llmserve_lab.roofline.formulas import STORED_BYTES
from llmserve_lab.running_example import ANSWER, PROMPT, model

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
        ("memory that the CUDA runtime reports", _mib(float(usable)), usable.source),
        (f"of it {float(share):.0%} for the server", _mib(allowed), share.source),
        ("less weights", _mib(-weights), "every parameter stored, two bytes each"),
        ("less working space", _mib(-float(beside)), beside.source),
        (
            "left for the cache",
            _mib(float(f.CACHE_BYTES.at(known))),
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


def _mib(value: float) -> str:
    return f"{value / MIB:,.0f} MiB".replace("-", "−")


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
        ("computed: tokens [1]", f"{tokens:,}", "--kv-cache-dtype fp8: twice as many"),
        ("computed: longest requests [1]", f"{tokens / length:.1f} × {length:,}",
         "--max-model-len: only this line"),
    ]  # fmt: skip
    return Table(
        "Start of vLLM 0.11.0, Llama-3.1-8B on one H100",
        ("line of the log", "size", "changed by"),
        rows,
        notes=(
            f"From the line above, for blocks of {BLOCK} tokens: {printed_blocks():,} "
            "whole blocks. The server's own had 128 tokens. The log has these lines as "
            "GPU KV cache size and Maximum concurrency.",
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
            f"{100 * error:+.1f} %".replace("-", "−"),
        )
        for log, error in zip(START_LOGS, log_errors(), strict=True)
    ]
    columns = ("model [2]", "vocabulary", "peak", "bytes [1]", "cache off by [3]")
    name, size = IMAGES_LOG.name, _gib(float(IMAGES_LOG.peak))
    notes = (
        "Bytes of the peak for each slot and each entry of the vocabulary.",
        f"The file has one model more, {name}, with an image encoder and options of "
        f"its own: {size}, or {per_entry(IMAGES_LOG):.1f} bytes, for no known reason.",
        "Cache predicted with the mean bytes of the other four logs, less the log's "
        "own; weights are the log's.",
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
                "2 · {} · {}".format(*each.heads) if each.heads else LATENT,
                " + ".join(str(count) for count in split),
                f"{each.window:,}" if each.window else "–",
                f"{each.naive_token_bytes() / KIB:.1f}",
                f"{each.full_token_bytes() / KIB:.1f}",
                f"{each.state_bytes() / MIB:.0f}" if each.state_layers else "–",
            )
        )
    return Table(
        "What a token and a request keep, in 16 bits",
        ("model", "numbers [1]", "layers [2]", "window", "KiB, all [3]",
         "KiB, long [3]", "state [4]"),
        rows,
        notes=(
            "Numbers of a token in one layer: 2 · key–value heads · their width, or "
            "latent + positions.",
            "Layers that keep all tokens + with a window + with a state.",
            "KiB a token: if every layer kept it; and what one more token adds to a "
            "text far longer than the window.",
            "MiB a request.",
        ),
    )  # fmt: skip


LATENT = "512 + 64"  # of both models with latent attention


def servers() -> Table:
    """The running example by rule, and one log: what is left, fits, and runs."""
    each = -(-(PROMPT + ANSWER) // BLOCK)
    seqs = int(float(DEFAULT_SEQS))
    start = log_of(model().name)
    command = slots_at_full_length(each * BLOCK, SHARE_NOW, GRAPHS)
    rows = []
    for what, share, slots, graphs in (
        ("By hand", MEMORY_SHARE, 128, 0),
        ("settings of a log, by the box", MEMORY_SHARE, seqs, 0),
        ("that log, measured [1]", MEMORY_SHARE, seqs, 0),
        ("today's defaults [2]", SHARE_NOW, seqs, GRAPHS),
        ("the command of What to set [2]", SHARE_NOW, command, GRAPHS),
    ):
        beside, blocks = working_bytes(slots), blocks_with(slots, share, graphs)
        if "measured" in what:
            beside, blocks = kept(start), printed_blocks()
        fit = blocks // each
        rows.append(
            (what, f"{float(share):.0%}", f"{slots:,}", _mib(beside), f"{blocks:,}",
             f"{fit}", f"{min(fit, slots)}")
        )  # fmt: skip
    return Table(
        f"Llama-3.1-8B on one H100: requests of {PROMPT + ANSWER:,} tokens",
        ("server", "share", "slots", "working space", "blocks", "room for", "runs"),
        rows,
        notes=(
            f"{_gib(float(start.cache))} of cache, in whole blocks. It is one of the "
            "five logs from which the bytes of a slot are taken.",
            "vllm serve 0.33.0, most GPUs of 70 GB or more; one GiB is taken off for "
            "CUDA graphs, besides the working space.",
        ),
    )


def _off(blocks: float, shape: ModelShape, gpus: int) -> str:
    """Blocks as MiB of one GPU, with their sign."""
    size = blocks * BLOCK * shape.kv_bytes_per_token() / gpus
    return f"{size / MIB:+,.0f}".replace("-", "−")


def counts() -> Table:
    """Ten published counts of blocks beside what the box gives for each."""
    rows = []
    for each in boxed():
        record = each.record
        device = "RTX 4090" if record.usable_bytes else "H100"
        rows.append(
            (
                f"{record.served or record.model.name}, {record.tp} × {device}",
                f"{int(float(record.blocks)):,}",
                f"{each.blocks:,}",
                f"{100 * each.error:+.1f} %".replace("-", "−"),
                _off(each.blocks - float(record.blocks), record.model, record.tp),
            )
        )
    blocks, error = scout()
    shape = catalog.model("llama-4-scout")
    name = f"Llama-4 Scout, {SCOUT_GPUS} × H100"
    rows.append(
        (
            name, f"{float(SCOUT_BLOCKS):,.0f}", f"{blocks:,}",
            f"{100 * error:+.1f} %",
            _off(blocks - float(SCOUT_BLOCKS), shape, SCOUT_GPUS),
        )
    )  # fmt: skip
    columns = ("server [2]", "published [1]", "predicted", "off by", "MiB a GPU [3]")
    notes = [
        "; ".join(
            f"{device}: vLLM {log.version}, published {log.published}"
            for device, log in (("H100", BLIS_LOG), ("RTX 4090", RTX_4090_LOG))
        )
        + "."
    ]
    notes.append(
        "Equal names differ in --max-num-batched-tokens: Llama-3.1-70B 8,192, then "
        "2,048; Qwen2.5-7B 1,024, then 2,048. Scout is in FP8."
    )
    notes.append("Predicted less published cache of one GPU.")
    return Table("KV-cache blocks of 16 tokens at start", columns, rows, notes=notes)
