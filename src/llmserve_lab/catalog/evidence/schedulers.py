"""What others measured of schedulers: batches that are refilled, prompts in chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from llmserve_lab.catalog.data.hopper import A100_80
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.catalog.records.shape import ModelShape

ANYSCALE = "Daniel et al., continuous batching benchmark, Anyscale blog, 2023"
SARATHI = "Agrawal et al., Sarathi-Serve, OSDI 2024, table 4"
A100_SHEET = "NVIDIA A100 40GB datasheet, 2020"
SARATHI_SETTING = "Yi-34B on two A100, a token budget of 1,024, 128 requests"

OPT_13B = ModelShape(
    name="OPT-13B",
    key="opt-13b",
    source="config.json of facebook/opt-13b",
    n_layers=40,
    d_model=5120,
    vocab=50_272,
    attention=GroupedQueryAttention(n_heads=40, n_kv_heads=40, d_head=128),
    ffn=GeluFfn(d_ff=20_480),
    norm="layer",
    tied=True,
    max_context=2048,
)
A100_40 = replace(
    A100_80,
    name="A100 40GB SXM",
    key="a100-40-sxm",
    hbm_bytes=Cited(40e9, "byte", "datasheet", A100_SHEET),
    hbm_bw=Cited(1.555e12, "byte/s", "datasheet", A100_SHEET),
    hbm_stacks=None,
)


@dataclass(frozen=True, kw_only=True)
class Batching:
    """A server's throughput as a multiple of naive static batching, same requests."""

    name: str
    scheduler: str
    times: Cited


_times = partial(Cited, unit="dimensionless", kind="measured", source=ANYSCALE)
NAIVE_PER_S = Cited(81, "token/s", "measured", ANYSCALE, "naive static batching")
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
ANYSCALE_REQUESTS = Cited(1000, "request", "measured", ANYSCALE, "all at once")
ANYSCALE_PROMPT = Cited(512, "token", "measured", ANYSCALE)
ANYSCALE_ANSWER = Cited(128, "token", "measured", ANYSCALE, "mean, exponential")
ANYSCALE_LONGEST = Cited(1536, "token", "measured", ANYSCALE, "answers are cut there")


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
