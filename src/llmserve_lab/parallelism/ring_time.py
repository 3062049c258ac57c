"""Seconds of a ring: what its ranks compute, and what of its hops nothing hides.

Each rank is a server: ``tp`` GPUs, each with its part of the heads and a port of its
own. So a group divides the arithmetic of a block and the bytes of a port alike. What
hides a hop runs at the rate of an attention kernel; the whole prompt takes what it
takes in an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llmserve_lab import catalog
from llmserve_lab.catalog import Given, ModelShape
from llmserve_lab.checks import one_of, positive, whole
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import MODEL, attending, over, sizes_of
from llmserve_lab.parallelism.deployments import SERVER, GpuLayout

BETWEEN = catalog.link("infiniband-ndr")
Passed = Literal["pass-KV", "pass-Q"]
MOST_CHUNKS = 10_000  # each is priced; a second or two
METHODS: tuple[Passed, ...] = ("pass-KV", "pass-Q")  # the first where both are even


@dataclass(frozen=True)
class RingTime:
    """Seconds of computing on each rank, and of sending that computing does not hide.

    ``alone_s`` is what one rank, a server, would take for the whole prompt.
    """

    compute_s: float
    exposed_s: float
    alone_s: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.compute_s + self.exposed_s

    @property
    def speedup(self) -> float:
        """How many times as fast as one rank."""
        return self.alone_s / self.seconds


def port_rate(ports: int = 1) -> float:
    """Bytes per second that so many ports of a server reach together.

    Raises:
        ValueError: there is no port.
    """
    whole(ports=ports)
    link = over(BETWEEN)
    return ports * float(link["link_bw"]) * float(link["eff_link"])


def pair_s(model: ModelShape = MODEL, tp: int = 1) -> float:
    """Seconds of a query and a key in all layers, in a kernel on ``tp`` GPUs.

    Raises:
        ValueError: there is no GPU.
    """
    whole(tp=tp)
    gpu = attending()
    rate = float(gpu["peak_flops"]) * float(gpu["eff_compute"])
    return model.attn_flops_per_pair() / (tp * rate)


def fresh(
    rows: int, ranks: int, model: ModelShape = MODEL, tp: int = SERVER
) -> RingTime:
    """A prompt of which nothing is cached, dealt zig-zag, pass-KV.

    Raises:
        ValueError: there is no row, no rank, or no GPU in a rank.
    """
    whole(rows=rows, ranks=ranks, tp=tp)
    cost, n = GpuLayout(model=model, tp=tp).cost(), rows * ranks
    pairs = n * (n + 1) // 2
    step_s = pair_s(model, tp) * rows * rows / 2
    hop_s = rows * cost.kv_bytes_per_token * cost.kv_copies / port_rate(tp)
    return RingTime(
        cost.seconds(IterationLoad(rows, pairs // ranks, 0, 1, 1)),
        (ranks - 1) * max(0.0, hop_s - step_s),
        cost.seconds(IterationLoad(n, pairs, 0, 1, 1)),
    )


def first_token_s(prompt: int, rows: int, ranks: int, tp: int = SERVER) -> RingTime:
    """A prompt alone on the ring, in chunks of ``rows`` on each rank, pass-KV.

    With every chunk the keys and values of all chunks before it go round again.

    Raises:
        ValueError: the chunks do not divide the prompt or are too many, or there is
            no rank.
    """
    whole(rows=rows, ranks=ranks, tp=tp)
    chunk, cost = rows * ranks, GpuLayout(tp=tp).cost()
    if prompt < chunk or prompt % chunk:
        raise ValueError(f"rows × ranks must divide the prompt, {prompt}, got {chunk}")
    if prompt > MOST_CHUNKS * chunk:
        raise ValueError(
            f"prompt must be at most {MOST_CHUNKS:,} chunks of {chunk}, got {prompt}"
        )
    compute_s = exposed_s = alone_s = 0.0
    for done in range(0, prompt, chunk):
        every = IterationLoad.of(chunk=chunk, context=done)
        share = IterationLoad(rows, every.pairs // ranks, done // ranks, 1, 1)
        compute_s += cost.seconds(share)
        alone_s += cost.seconds(every)
        exposed_s += follow_up_s(done, chunk, ranks, "pass-KV", tp)[2]
    return RingTime(compute_s, exposed_s, alone_s)


def border_rows(share: float, port: Mapping[str, Given] | None = None) -> float:
    """New rows on each rank from which pass-KV exposes less, by the share of new.

    ``port`` joins the ranks, if not those of this page. The border falls from half of
    [ring_rows](#eq-ring_rows), where hardly any token is new, to about a quarter just
    below the share at which both send the same.

    Raises:
        ValueError: the share is negative, or larger than that one.
    """
    known = sizes_of(MODEL), attending(), port or over(BETWEEN)
    return float(f.RING_ROWS.at(*known)) / 2 * _below(share, MODEL)


def hiding_block(model: ModelShape = MODEL) -> float:
    """Tokens on a rank, new and cached, from which queries hide behind attention."""
    known = sizes_of(model)
    ridge = float(f.WIRE_RIDGE.at(attending(), over(BETWEEN)))
    asked = float(known["n_layers"]) * float(known["n_heads"])
    asked *= float(known["d_head"]) * float(known["bytes_act"])
    return asked * ridge / float(known["attn_flops_per_pair"])


def _below(share: float, model: ModelShape) -> float:
    """The border over the rows that suffice with hardly any new token."""
    even = float(f.MISS_SHARE.at(sizes_of(model)))
    if not 0 <= share <= even:
        raise ValueError(f"share must be from 0 to {even:.3f}, got {share}")
    return (1 - share / even / 2) / (1 - share / 2)


def border_share(enough: float, block: float, model: ModelShape) -> float:
    """Share of new tokens at the border, where each rank has ``block`` tokens in all.

    ``enough`` new rows on each rank suffice whatever the share.

    Raises:
        ValueError: a number is not positive.
    """
    positive("enough", enough)
    positive("block", block)
    low, high = 0.0, float(f.MISS_SHARE.at(sizes_of(model)))
    if high * block < enough * _below(high, model):
        return high  # from there on pass-KV sends less
    for _ in range(60):
        share = (low + high) / 2
        above = share * block >= enough * _below(share, model)
        low, high = (low, share) if above else (share, high)
    return high


def follow_up_s(
    old: int, new: int, ranks: int, method: Passed, tp: int = SERVER
) -> tuple[float, float, float]:
    """A question on a cached prompt: seconds of a hop, of its attention, exposed.

    The mask hides half of the pairs among the new tokens. What pass-Q found comes back
    when no computing is left to hide it.

    Raises:
        ValueError: no such method, or nothing to share out.
    """
    one_of("method", method, Passed)
    whole(old=old, first=0)
    whole(new=new, ranks=ranks, tp=tp)
    known, cost = sizes_of(MODEL), GpuLayout(tp=tp).cost()
    rate = port_rate(tp)
    mine, block = new / ranks, (old + new) / ranks
    step_s = pair_s(MODEL, tp) * mine * (old + new / 2) / ranks
    if method == "pass-KV":
        sent = block * cost.kv_bytes_per_token * cost.kv_copies
        hop_s, back_s = sent / rate, 0.0
    else:
        whole_trip = float(f.QUERY_BYTES_PER_TOKEN.at(known))
        out = float(known["n_layers"]) * float(known["n_heads"])
        out *= float(known["d_head"]) * float(known["bytes_act"])
        hop_s = mine * out / rate
        back_s = (ranks - 1) * mine * (whole_trip - out) / rate
    return hop_s, step_s, (ranks - 1) * max(0.0, hop_s - step_s) + back_s


def better(old: int, new: int, ranks: int, tp: int = SERVER) -> Passed:
    """What should go round: the method of which less sending is exposed.

    Raises:
        ValueError: nothing to share out.
    """
    shown = {m: follow_up_s(old, new, ranks, m, tp)[2] for m in METHODS}
    return min(METHODS, key=shown.__getitem__)
