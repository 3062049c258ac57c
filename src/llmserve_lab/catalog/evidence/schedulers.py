"""What others measured of schedulers: batches that are refilled, prompts in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.records.cited import Cited

ANYSCALE = "Daniel et al., continuous batching benchmark, Anyscale blog, 2023"
SARATHI = "Agrawal et al., Sarathi-Serve, OSDI 2024, table 4"
SARATHI_SETTING = (
    "Yi-34B (34 billion parameters) on two A100 GPUs, a token budget of 1,024, "
    "128 requests"
)

CHUNKING = (
    "Agrawal et al., Sarathi-Serve, OSDI 2024, artifact microsoft/sarathi-serve, "
    "commit 02d2567, osdi-experiments/figure-9/chunking-overhead.csv"
)
CHUNKING_SETTING = (
    "Yi-34B in 16 bits on two A100 GPUs of 80 GB joined by NVLink, one prompt at a "
    "time, no decodes"
)


@dataclass(frozen=True, kw_only=True)
class Batching:
    """A server's throughput as a multiple of naive static batching, same requests."""

    name: str
    scheduler: str
    times: Cited


_times = partial(Cited, unit="dimensionless", kind="measured", source=ANYSCALE)
BATCHING: tuple[Batching, ...] = (
    Batching(name="FasterTransformer", scheduler="static batching", times=_times(4)),
    Batching(
        name="Ray Serve, text-generation-inference",
        scheduler="continuous batching, cache reserved",
        times=_times(8),
    ),
    Batching(
        name="vLLM", scheduler="continuous batching, cache in blocks", times=_times(23)
    ),
)


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """Median TTFT and 99th percentile of the time between tokens of one scheduler.

    ``chat`` and ``papers`` hold the pair for conversations and for long documents.
    """

    scheduler: str
    chat: tuple[Cited, Cited]
    papers: tuple[Cited, Cited]


_s = partial(Cited, unit="s", kind="measured", source=SARATHI, note=SARATHI_SETTING)
MIXING: tuple[Mixing, ...] = (
    Mixing(
        scheduler="mixing only",
        chat=(_s(0.53), _s(0.68)),
        papers=(_s(3.78), _s(1.38)),
    ),
    Mixing(
        scheduler="chunks only",
        chat=(_s(1.04), _s(0.17)),
        papers=(_s(5.38), _s(0.20)),
    ),
    Mixing(
        scheduler="both",
        chat=(_s(0.76), _s(0.14)),
        papers=(_s(3.90), _s(0.17)),
    ),
)


_read = partial(
    Cited, unit="s", kind="measured", source=CHUNKING, note=CHUNKING_SETTING
)
READ_IN_CHUNKS: dict[tuple[int, int], Cited] = {
    (2047, 512): _read(0.43569),
    (2047, 1024): _read(0.44417),
    (2047, 2048): _read(0.37771),
    (4095, 512): _read(0.92196),
    (4095, 1024): _read(0.93226),
    (4095, 2048): _read(0.79390),
    (8191, 512): _read(1.95853),
    (8191, 1024): _read(1.94624),
    (8191, 2048): _read(1.64337),
    (16383, 512): _read(4.51283),
    (16383, 1024): _read(4.35755),
    (16383, 2048): _read(3.65159),
}  # time to read a prompt, by its tokens and those of a chunk
