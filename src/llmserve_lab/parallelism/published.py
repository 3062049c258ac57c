"""Prompts read over up to sixteen servers: predicted, beside what was measured.

Nothing is fitted to these runs. The GPUs of a server cut every matrix; a ring of
servers shares out the tokens, zig-zag, or a group over several servers cuts further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from llmserve_lab import catalog, validation
from llmserve_lab.catalog.evidence.long_context import (
    FEWER_SERVERS,
    LONG_ATTENTION,
    LONG_HBM_BW,
    LONG_PEAK,
    LONG_PREFILLS,
    LONG_TOKENS,
    RING_PORT,
    RING_RANKS,
    RING_RUNS,
    RING_TOKENS,
    LongPrefill,
)
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.formula.text import signed
from llmserve_lab.page.table import Table
from llmserve_lab.parallelism.arguments import over, sizes_of
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.ring_time import METHODS, Passed, border_share
from llmserve_lab.validation.constants import record

MODEL, DEVICE = "llama-3.1-405b", "h100-sxm"
SERVED = "llama-3-70b"  # of the measured servers; its sizes are those of Llama-3.1-70B
BETWEEN = "infiniband-ndr"  # 400 Gb/s for each GPU
IN_SERVER = 8
WAITED = 2.0  # a first token so many times as late as predicted stood in a queue
FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")
RUNS = (*FEWER_SERVERS, *LONG_PREFILLS)


@dataclass(frozen=True)
class LongReading:
    """A published prefill, predicted in parts; ``ring_s`` is what nothing hides."""

    run: LongPrefill
    compute_s: float
    fixed_s: float
    ring_s: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.compute_s + self.fixed_s + self.ring_s

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.seconds / float(self.run.seconds) - 1


Load = tuple[int, int, int]  # tokens of prompt and answer, clients


def _served() -> dict[tuple[int, Load], float]:
    """Times of a token of Llama-70B over what is predicted, measured in vLLM on H100.

    On two to eight GPUs of a server, where no request waited for room: its first token
    came within twice the predicted time.
    """
    errors = record()["errors"]
    every = zip(validation.dense_rows(), errors["tpot"], errors["ttft"], strict=True)
    return {
        (row.tp, (row.prompt_len, row.output_len, row.clients)): 1 / (1 + float(token))
        for row, token, first in every
        if (row.model, row.engine, row.system) == (SERVED, "vllm", DEVICE)
        and 1 / (1 + float(first)) < WAITED
    }


def served_ratios() -> list[float]:
    """Of each load and number of GPUs, a token's time over the predicted one."""
    return [*_served().values()]


def served_pairs() -> list[float]:
    """How far off the ratio of two groups is under one load; 1.0 is as predicted."""
    return [
        max(one / two, two / one)
        for ((tp, load), one), ((other, same), two) in combinations(
            _served().items(), 2
        )
        if load == same and tp != other
    ]


def served_range() -> tuple[float, float]:
    """Least and most of the ratios of a token."""
    return min(served_ratios()), max(served_ratios())


def longer(run: LongPrefill) -> float:
    """How many times as long a published prompt took as is predicted."""
    return float(run.seconds) / predict(run).seconds


def nearest() -> list[float]:
    """The same of the prompts that one server or two read: groups, and a ring."""
    return [longer(run) for run in RUNS if _servers(run) <= 2]


def farther() -> tuple[list[float], list[float]]:
    """The same of four servers or more: of groups, and of rings."""
    far = [run for run in RUNS if _servers(run) > 2]
    groups = [longer(run) for run in far if run.ranks == 1]
    return groups, [longer(run) for run in far if run.ranks > 1]


def ring_range() -> tuple[float, float]:
    """Least and most of the rings, on two servers up to sixteen."""
    ratios = [longer(run) for run in RUNS if run.ranks > 1]
    return min(ratios), max(ratios)


def plain_cost(tp: int) -> IterationCost:
    """An iteration on ``tp`` of the book's GPUs, all weights in 16 bits."""
    return GpuLayout(
        model=catalog.model(MODEL),
        tp=tp,
        servers=max(1, tp // IN_SERVER),
        nics=IN_SERVER,
        between=catalog.link(BETWEEN),
    ).cost()


@cache
def cost(tp: int) -> IterationCost:
    """An iteration on ``tp`` GPUs, with the GPU and the bits that the paper names.

    The weights of the feed-forward network are stored and multiplied in 8 bits.
    """
    shape, device = catalog.model(MODEL), catalog.accelerator(DEVICE)
    plain = plain_cost(tp)
    active = {each.name: each.params_active for each in shape.tensors()}
    light = sum(active[name] for name in FEED_FORWARD) / sum(active.values())
    slower = float(device.peak("bf16")) / float(LONG_PEAK)
    read = float(device.hbm_bw) / float(LONG_HBM_BW)
    faster = 2 ** validation.achieved().exponent  # half the bits
    return replace(
        plain,
        row_s=plain.row_s * slower * (1 - light + light / faster),
        pair_s=plain.pair_s * slower,
        weights_s=plain.weights_s * read * (1 - light / 2),
        kv_token_s=plain.kv_token_s * read,
    )


def flops(tokens: int) -> float:
    """FLOPs of a prompt: what one row costs, and each pair that the mask allows."""
    shape = catalog.model(MODEL)
    pairs = tokens * (tokens + 1) / 2
    return 2 * shape.params_active * tokens + shape.attn_flops_per_pair() * pairs


def predict(run: LongPrefill) -> LongReading:
    """One prompt, dealt zig-zag to the ranks of its ring."""
    work = cost(run.tp)
    rows = run.tokens // run.ranks
    pairs = run.tokens * (run.tokens + 1) // 2 // run.ranks
    load = IterationLoad(rows, pairs, 0, 1, 1)
    compute_s = work.compute_s(load)
    fixed_s = work.seconds(load) - compute_s
    return LongReading(run, compute_s, fixed_s, exposed_s(rows, run.ranks, work))


def exposed_s(rows: int, ranks: int, work: IterationCost) -> float:
    """What of the ring's hops is longer than the attention that runs meanwhile."""
    n_layers = catalog.model(MODEL).n_layers
    link = over(catalog.link(BETWEEN))
    block = rows * work.kv_bytes_per_token * work.kv_copies / n_layers / work.n_gpus
    rate = float(link["link_bw"]) * float(link["eff_link"])
    hop_s = float(link["link_latency"]) + block / rate
    pairs = rows * rows // 2  # of two zig-zag shares
    over_s = max(0.0, hop_s - pairs * work.pair_s / n_layers)
    return n_layers * (ranks - 1) * over_s


def token_s(tp: int) -> float:
    """Predicted from token to token: one request, with the cache that was measured."""
    return cost(tp).seconds(IterationLoad.of(chunk=1, context=RING_TOKENS))


def token_changes() -> dict[int, tuple[float, float]]:
    """Token's time on more servers over that on one: predicted, measured."""
    return {
        tp: (token_s(tp) / token_s(IN_SERVER), float(took) / float(LONG_TOKENS[8]))
        for tp, took in LONG_TOKENS.items()
        if tp > IN_SERVER
    }


def border() -> float:
    """Share of new tokens from which pass-KV should be sooner in the measured ring."""
    known = sizes_of(catalog.model(MODEL))
    enough = float(known["kv_bytes_per_token"]) * float(LONG_ATTENTION)
    enough /= float(RING_PORT) * float(known["attn_flops_per_pair"])
    return border_share(enough, RING_TOKENS / RING_RANKS, catalog.model(MODEL))


def sooner(new: int) -> Passed:
    """The method that was measured sooner with so many new tokens."""
    times = dict(zip(METHODS, map(float, RING_RUNS[new]), strict=True))
    return min(METHODS, key=times.__getitem__)


def farthest() -> LongReading:
    """The published prompt whose prediction is off the most."""
    return max(map(predict, RUNS), key=lambda read: abs(read.error))


def turned() -> tuple[float, float]:
    """Largest share new with which pass-Q was sooner, smallest with pass-KV."""
    shares: dict[Passed, list[float]] = {method: [] for method in METHODS}
    for new in RING_RUNS:
        shares[sooner(new)].append(new / RING_TOKENS)
    return max(shares["pass-Q"]), min(shares["pass-KV"])


def dearest_choice() -> float:
    """By how much the border's choice was slower than the other, at worst."""
    lost = [0.0]
    for new, (kv, q) in RING_RUNS.items():
        ratio = float(kv) / float(q)
        lost.append((ratio if new / RING_TOKENS >= border() else 1 / ratio) - 1)
    return max(lost)


def table() -> Table:
    """Seconds measured and predicted, a column for each number of servers."""
    counts = sorted({_servers(run) for run in RUNS})
    lines = [
        (what, *(_beside(ring, printed, count) for count in counts))
        for what, ring, printed in (
            ("128K, ring (CP)", True, "128K"),
            ("128K, group (TP)", False, "128K"),
            ("1M, ring", True, "1M"),
        )
    ]
    columns = ("servers:", *map(str, counts))
    notes = [
        "Seconds until a prompt of 128K or 1M tokens is read: measured / predicted."
    ]
    return Table("Llama-3.1-405B, as Yang et al. measured it", columns, lines, notes)


def _servers(run: LongPrefill) -> int:
    return run.ranks * run.tp // IN_SERVER


def _beside(ring: bool, printed: str, servers: int) -> str:
    """Both times of a prompt; one server is a ring of one, and a group."""
    for run in RUNS:
        cut = (run.ranks if ring else run.tp // IN_SERVER) == servers
        if run.printed == printed and cut and _servers(run) == servers:
            return f"{float(run.seconds):.2f} / {predict(run).seconds:.2f}"
    return "\u2013"


def each_prompt() -> Table:
    """Every prompt on GPUs as the paper describes them, beside what was measured."""
    lines = [
        (run.name, run.printed, f"{float(run.seconds):.2f} s", *_told(run))
        for run in RUNS
    ]
    columns = ("layout", "prompt", "measured", "predicted", "error")
    notes = [
        "Llama-3.1-405B, servers of eight H100 limited to 500 W (800 TFLOP/s, "
        "2.4 TB/s), weights of the feed-forward network in eight bits; Yang et al. "
        "2024. In all predictions attention hides the ring's hops, so that these runs "
        "do not test the sending.",
    ]
    return Table("Long prompts over one to sixteen servers", columns, lines, notes)


def _told(run: LongPrefill) -> tuple[str, str]:
    told = predict(run)
    return f"{told.seconds:.2f} s", signed(told.error)
