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
