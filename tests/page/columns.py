"""What of a table can be worked out from the cells beside it, by heads and notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor

from llmserve_lab.how_wrong.example import TP
from llmserve_lab.validation import requests_that_fit

KIB, GIB = 1024.0, 1024.0**3
BLOCK = 16  # tokens
FIXED_US = 146.3  # of the kernels of a layer with experts, as the page prints it


@dataclass(frozen=True)
class Worked:
    """A head, the heads of the cells that it is worked out from, and how."""

    head: str
    of: tuple[str, ...]
    by: Callable[..., float]


@dataclass(frozen=True)
class Rules:
    """What is worked out in the tables whose captions begin so."""

    chapter: str
    caption: str
    columns: tuple[Worked, ...]
    turned: bool = False  # what is a head stands at the beginning of a row
    but: str = ""  # a row of sums


def within_both(a: float, f: float, wire: float, port: float, m: float) -> float:
    """Whoever is busiest sets the pace, or the way round, among so many batches."""
    return max(a, f, port, (a + f + wire) / m)


def held(context: int) -> Callable[[float], float]:
    """Requests of DeepSeek-V3, 61 layers of 512 + 64 numbers in BF16, beside slots."""
    each = context * 61 * (512 + 64) * 2
    return lambda left: requests_that_fit(
        left, request_bytes=each, vocab=129_280, n_gpus=2
    )


def new_pairs(whole: float, new: float) -> float:
    """Each new row sees the rows before it, and itself."""
    return sum(range(int(whole - new) + 1, int(whole) + 1))


def token_kib(numbers: float, layers: float) -> float:
    """Each number has two bytes."""
    return 2 * numbers * layers / KIB


SEQUENCE = ("experts", "rest", "sending")
TABLES = (
    Rules(
        "attention_ffn",
        "One layer, at 50 ms",
        (
            Worked(
                "period",
                ("Attention", "FFN", "wire", "port, one way", "m"),
                within_both,
            ),
        ),
    ),
    Rules(
        "capacity",
        "Goodput of pools",
        (
            Worked(
                "$/million",
                ("$/hour", "requests/s"),
                lambda dollars, rate: dollars / 3600 / rate * 1e6,
            ),
        ),
    ),
    Rules(
        "catalog",
        "Links:",
        (Worked("both ways", ("one way",), lambda one: 2 * one),),
    ),
    Rules(
        "disaggregation",
        "Most requests in a batch",
        (Worked("batch", ("reading", "computing", "memory"), min),),
    ),
    Rules(
        "disaggregation",
        "Llama-3.1-8B on H100 SXM: time to send",
        (
            Worked("1,000 tokens", ("reached",), lambda bw: 1000 * 128 * KIB / bw),
            Worked("8,000 tokens", ("reached",), lambda bw: 8000 * 128 * KIB / bw),
        ),
    ),
    Rules(
        "end_to_end",
        "Two loops",
        (
            Worked("pairs", ("rows",), lambda rows: new_pairs(rows, rows)),
            Worked("pairs, cached", ("rows", "rows, cached"), new_pairs),
        ),
        but="all passes",
    ),
    Rules(
        "how_wrong",
        "Plans for the same demand",
        (
            Worked(
                "answer takes, s",
                ("TTFT, ms, × factor", "TPOT, ms, × factor", "tokens in an answer"),
                lambda ttft, tpot, n: (ttft + (n - 1) * tpot) / 1e3,
            ),
            Worked(
                "tokens/s",
                ("clients", "tokens in an answer", "answer takes, s"),
                lambda clients, tokens, seconds: clients * tokens / seconds,
            ),
        ),
        turned=True,
    ),
    Rules(
        "how_wrong",
        "Plans for 40,000 tokens/s",
        (
            Worked("servers", ("tokens/s",), lambda rate: ceil(40_000 / rate)),
            Worked("GPUs", ("servers",), lambda servers: TP * servers),
            Worked("GPUs too many", ("GPUs",), lambda gpus: gpus - 13 * TP),
        ),
    ),
    Rules(
        "kv_memory",
        "What a token and a request keep",
        (
            Worked("KiB, all [3]", ("numbers [1]", "layers [2]"), token_kib),
            Worked("KiB, long [3]", ("numbers [1]", "layers [2], first"), token_kib),
        ),
    ),
    Rules(
        "kv_memory",
        "Llama-3.1-8B on one H100: requests of 1,200 tokens",
        (
            Worked("room for", ("blocks",), lambda n: floor(n / (1200 / BLOCK))),
            Worked("runs", ("slots", "room for"), min),
        ),
    ),
    Rules(
        "kv_memory",
        "Peak of the trial batch",
        (
            Worked(
                "bytes [1]",
                ("peak", "vocabulary"),
                lambda peak, entries: peak * GIB / 1024 / entries,
            ),
        ),
    ),
    Rules(
        "mixture_of_experts",
        "An MoE layer in µs",
        (
            Worked("in sequence", SEQUENCE, lambda *parts: sum(parts)),
            Worked(
                "two halves",
                ("half works", "half sends"),
                lambda works, sends: 2 * max(works, sends),
            ),
            Worked(
                "in sequence, kernels",
                ("in sequence",),
                lambda parts: parts + FIXED_US,
            ),
            Worked(
                "two halves, kernels",
                ("two halves",),
                lambda halves: halves + 2 * FIXED_US,
            ),
        ),
    ),
    Rules(
        "mixture_of_experts",
        "Memory left on an H800",
        (
            Worked("of 1,200 tokens", ("left by weights",), held(1200)),
            Worked("of 4,096 tokens", ("left by weights",), held(4096)),
            Worked("of 32,768 tokens", ("left by weights",), held(32_768)),
        ),
    ),
    Rules(
        "mixture_of_experts",
        "One layer's experts on 8 H200",
        (
            Worked(
                "times as long",
                ("hot: read", "hot: compute", "equal: read", "equal: compute"),
                lambda a, b, c, d: max(a, b) / max(c, d),
            ),
        ),
    ),
    Rules(
        "sources",
        "Verdicts by source",
        (
            Worked(
                "claims",
                ("=", "≈", "≠", "✗ false", "✗ off", "?"),
                lambda *parts: sum(parts),
            ),
        ),
    ),
    Rules(
        "varlen_batching",
        "Requests of 10, 30 tokens",
        (
            Worked("rows", ("rows wasted",), lambda wasted: 10 + 30 + wasted),
            Worked("pairs useful", (), lambda: new_pairs(10, 10) + new_pairs(30, 30)),
            Worked("pairs", ("pairs useful", "pairs wasted"), lambda a, b: a + b),
        ),
    ),
    Rules(
        "varlen_batching",
        "Where attention overtakes",
        (Worked("whole squares", ("causal pairs",), lambda causal: (causal + 1) / 2),),
    ),
)
