"""The table to choose from: layouts of eight and of sixteen GPUs, options of vLLM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from llmserve_lab import catalog
from llmserve_lab.page.table import Table
from llmserve_lab.parallelism.arguments import MODEL
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.leads import crosses
from llmserve_lab.parallelism.page import stills
from llmserve_lab.parallelism.page.stills import BETWEEN, CHUNK, CONTEXT, PROMPT
from llmserve_lab.parallelism.ring_time import first_token_s

FEW, SERVERS = 8, 2
BOTH = " [1]"  # the note on one service over both servers
SIXTEEN: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "TP 8 × DP 2": (8, 1, 2),
        "TP 4 × DP 4": (4, 1, 4),
        "TP 2 × DP 8": (2, 1, 8),
        "TP 8 × PP 2": (8, 2, 1),
        "TP 16": (16, 1, 1),
    }
)
Values = tuple[float, ...]
USERS_PORT, MASTER_PORT = 8000, 29501  # defaults of vLLM
LONGEST = 16_384  # tokens of the longest request, its answer included


def sixteen(name: str) -> GpuLayout:
    """Sixteen GPUs in two servers of eight, a 400 Gb/s port for each GPU."""
    tp, stages, replicas = SIXTEEN[name]
    return GpuLayout(
        tp=tp,
        stages=stages,
        replicas=replicas,
        between=catalog.link(BETWEEN),
        servers=max(1, tp // 8),
        nics=8,
        level=False,
    )


def values(made: GpuLayout) -> Values:
    """Token times of few and of many requests, prefill, first token, room."""
    return (
        *(made.decode(n, CONTEXT).token_s for n in (FEW, stills.REQUESTS)),
        made.prefill_rate(CHUNK),
        made.first_token_s(PROMPT, CHUNK),
        float(made.held_tokens()),
    )


def options(made: GpuLayout) -> str:
    """What vLLM is started with; a note where one service spans both servers."""
    across = crosses(made)
    copies = made.replicas if across else made.replicas // SERVERS
    sizes = {"-tp": made.tp, "-pp": made.stages, "-dp": copies}
    said = [f"{flag} {size}" for flag, size in sizes.items() if size > 1]
    return " ".join(said) + (BOTH if across else "")


def commands() -> str:
    """What is typed on two servers of four; MODEL and ADDRESS are to be replaced."""
    return f"""\
# replace MODEL (name or folder, the same in both servers) and
# ADDRESS (the first server's, as the second one reaches it)
LOAD="--max-num-seqs {stills.REQUESTS} --max-num-batched-tokens {CHUNK}"
LONGEST="--max-model-len {LONGEST}"  # of prompt and answer; replace it, too
# replicas: the same line in each server, behind a load balancer of your own
vllm serve MODEL $LOAD $LONGEST -tp 4
# a stage in each server: requests go to the first
FIRST="--nnodes 2 --master-addr ADDRESS --node-rank 0"
SECOND="--nnodes 2 --master-addr ADDRESS --node-rank 1 --headless"
vllm serve MODEL $LOAD $LONGEST -tp 4 -pp 2 $FIRST   # in the first server
vllm serve MODEL $LOAD $LONGEST -tp 4 -pp 2 $SECOND  # in the second
# DeepSeek-V3 on eight H200: data-parallel attention for many requests ($LOAD
# is for each of the eight ranks), its cache in eight bits
vllm serve MODEL $LOAD $LONGEST -dp 8 --enable-expert-parallel --kv-cache-dtype fp8
# DCP for few long requests (no $LONGEST), its cache in sixteen bits
vllm serve MODEL $LOAD -tp 8 -dcp 8 --enable-expert-parallel"""


def groups() -> tuple[dict[str, GpuLayout], dict[str, GpuLayout]]:
    """Layouts of eight GPUs, and of sixteen."""
    return (
        {name: stills.layout(name) for name in stills.SHOWN},
        {name: sixteen(name) for name in SIXTEEN},
    )


FORMS: tuple[Callable[[float], str], ...] = (
    lambda v: f"{1e3 * v:.1f}",
    lambda v: f"{1e3 * v:.1f}",
    lambda v: f"{v / 1e3:.1f}",
    lambda v: f"{1e3 * v:,.0f}",
    lambda v: f"{v / 1e3:,.0f}",
)


def rows(made: Mapping[str, GpuLayout]) -> list[tuple[str, ...]]:
    """One line a layout."""
    return [
        (
            name.replace(" ", "\u00a0"),
            options(each),
            few,
            many + one_batch(each),
            *rest,
        )
        for name, each in made.items()
        for few, many, *rest in (
            [form(value) for form, value in zip(FORMS, values(each), strict=True)],
        )
    ]


def one_batch(made: GpuLayout) -> str:
    """Of a pipeline, ms from token to token with all requests in one batch; or none."""
    if made.stages == 1:
        return ""
    return f"\u2013{1e3 * made.decode(stills.REQUESTS, CONTEXT, 1).token_s:.1f}"


def ring_line(server: int) -> tuple[str, ...]:
    """A ring of two servers of so many GPUs, priced for one prompt alone."""
    name = f"CP 2 × TP {server}".replace(" ", "\u00a0")
    first_s = first_token_s(PROMPT, CHUNK, SERVERS, server).seconds
    rest = ("\u2013", f"{1e3 * first_s:,.0f}", "\u2013")
    return (name, "no ring", "\u2013", "\u2013", *rest)


def table() -> Table:
    """Eight GPUs in two servers of four, then sixteen in two of eight."""
    columns = (
        "layout", "vLLM", f"{FEW} requests, ms", f"{stills.REQUESTS}, ms [3]",
        "prefill, k/s", "first, ms", "room, k",
    )  # fmt: skip
    notes = [
        "One service over both servers, with $FIRST and $SECOND (above); else the same "
        "in each.",
        "Twice as many with --decode-context-parallel-size 2.",
        "A range: equal batches, and all requests in one. The ring runs one prompt "
        "alone, in no engine named here.",
        "The model's own numbers. In decode no pipeline was measured.",
    ]
    eight, sixteen_gpus = map(rows, groups())
    *before, room = sixteen_gpus.pop()
    group = (*before, f"{room} [2]")
    lines = [*eight, ring_line(4), *sixteen_gpus, group, ring_line(8)]
    caption = (
        f"{MODEL.name}: eight GPUs in two servers of four, sixteen in two of eight [4]"
    )
    return Table(caption, columns, lines, notes, options=True)
