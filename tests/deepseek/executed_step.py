"""A tiny DeepSeek takes a step: its weights, products and caches, looked at.

Attention, dense layer, router and LM head run in a transformer of two layers; experts
run in a layer of their own, on ranks that exchange rows. Nothing knows a closed form.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import fmean
from typing import Any

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import Rank, run
from llmserve_lab.moe.layer import ROUTED, SHARED, MoeLayer, batch, layer_of
from llmserve_lab.moe.parallel import exchange
from llmserve_lab.moe.placement import contiguous
from llmserve_lab.transformer import Transformer, cumulative, tiny_shape
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.ffn import expert_weights, route, swiglu_ffn
from tests.traffic import ReadCache, Traffic, part

ATTENTION = ("q_", "kv_", "o_proj")
OTHERS = ("dense.", "router", "lm_head")
EXPERTS = (ROUTED, SHARED)
FLOAT = 8  # bytes of a number in NumPy


def mixture(rng: random.Random, n_experts: int, *, n_dense_layers: int) -> MoeFfn:
    """A few narrow experts, at least one shared."""
    return MoeFfn(
        d_ff=rng.randint(1, 3),
        n_experts=n_experts,
        n_shared=rng.randint(1, 2),
        top_k=rng.randint(1, n_experts),
        n_dense_layers=n_dense_layers,
        d_ff_dense=rng.randint(2, 5),
        router_bias=False,
    )


def tiny(rng: random.Random) -> ModelShape:
    """Latent attention; the first layer is dense, the others have experts."""
    head = rng.randint(1, 3)
    latent = LatentAttention(
        n_heads=rng.randint(1, 3),
        d_head=head,
        d_v=head,
        d_latent=rng.randint(2, 4),
        d_rope=2,
        d_q=rng.randint(1, 4),
    )
    ffn = mixture(rng, rng.randint(2, 4), n_dense_layers=1)
    layers, width = rng.randint(2, 3), rng.randint(3, 6)
    return tiny_shape(
        n_layers=layers, d_model=width, vocab=7, attention=latent, ffn=ffn
    )


class Step:
    """Requests with a cache bring some rows each to a model with absorbed attention."""

    def __init__(
        self, model: Transformer, *, n_requests: int, chunk: int, context: int
    ) -> None:
        self.caches = [
            ReadCache(model.shape, capacity_tokens=context + chunk)
            for _ in range(n_requests)
        ]
        if context:
            for cache in self.caches:
                model.forward([1] * context, cache)
                cache.read_bytes = 0
        self.traffic = Traffic(model.weights.arrays)
        rows = [2] * (n_requests * chunk)
        bounds = cumulative([chunk] * n_requests)
        model.forward_packed(rows, bounds, self.caches, run=self.traffic.on())

    @property
    def cache_bytes(self) -> int:
        """Bytes read of all caches, in all layers."""
        return sum(cache.read_bytes for cache in self.caches)

    @property
    def pair_flops(self) -> int:
        """FLOPs of those pairs that the mask let through."""
        return self.traffic.meter.useful_attn_flops


@dataclass(frozen=True, eq=False)
class WatchedLayer(MoeLayer):
    """A mixture of experts whose products are seen; one for each rank."""

    traffic: Traffic | None = None

    def route(self, rows: Array) -> tuple[Integers, Array]:
        """As the layer does."""
        top_k = self.spec.top_k
        return route(rows, self.weights, top_k=top_k, run=self._seen.on())

    def expert(self, index: int, rows: Array) -> Array:
        """As the layer does."""
        own = expert_weights(self.weights, ROUTED, index)
        return swiglu_ffn(rows, own, run=self._seen.on())

    def shared(self, rows: Array) -> Array:
        """As the layer does."""
        out = 0.0 * rows
        for index in range(self.spec.n_shared):
            own = expert_weights(self.weights, SHARED, index)
            out += swiglu_ffn(rows, own, run=self._seen.on())
        return out

    @property
    def _seen(self) -> Traffic:
        assert self.traffic is not None
        return self.traffic


class Ports:
    """A rank whose all-to-alls are seen: arrays that came, arrays that went."""

    def __init__(self, rank: Rank) -> None:
        self.rank, self.sent = rank, list[tuple[Array, tuple[int, ...]]]()
        self.received = list[tuple[Array, tuple[int, ...]]]()

    def all_to_all(self, rows: Array, counts: Any) -> Any:
        """As the rank does."""
        found, came = self.rank.all_to_all(rows, counts)
        self.sent.append((rows, tuple(counts)))
        self.received.append((found, came))
        return found, came


@dataclass(frozen=True)
class OnRank:
    """What one rank did in the layer."""

    traffic: Traffic
    ports: Ports

    @property
    def copies(self) -> int:
        """Copies of rows that came to its experts."""
        return sum(self.ports.received[1][1])

    def port_bytes(self) -> list[Fraction]:
        """Bytes of copies that came from each rank, and of answers that went there."""
        (came, rows), (went, answers) = self.ports.received[1], self.ports.sent[2]
        return [
            Fraction(came[:1].nbytes * there + went[:1].nbytes * back)
            for there, back in zip(rows, answers, strict=True)
        ]


class Exchanged:
    """A mixture of experts on the ranks of some nodes, each with rows of its own.

    Where they are to be sent evenly, every row goes to every expert.
    """

    def __init__(self, rng: random.Random, *, n_rows: int, even: bool) -> None:
        self.n_nodes, self.node_gpus = rng.randint(1, 3), rng.randint(1, 2)
        self.n_ranks, self.n_rows = self.n_nodes * self.node_gpus, n_rows
        n_experts = self.n_ranks * rng.randint(1, 2)
        spec = mixture(rng, n_experts, n_dense_layers=0)
        self.spec = replace(spec, top_k=n_experts) if even else spec
        self.d_model, self.seed = rng.randint(1, 4), rng.randint(0, 99)

    def played(self, n_rows: int, n_ranks: int) -> tuple[OnRank, ...]:
        """Let every rank route its rows, and look at it."""
        layer = layer_of(self.spec, d_model=self.d_model, seed=self.seed)
        where = contiguous(self.spec.n_experts, n_ranks)

        def program(rank: Rank) -> OnRank:
            seen, ports = Traffic(layer.weights), Ports(rank)
            own = WatchedLayer(layer.weights, layer.spec, traffic=seen)
            rows = batch(n_rows, d_model=self.d_model, seed=self.seed + rank.index)
            watched: Any = ports  # it does all that the exchange asks of a rank
            exchange(watched, rows, own, where, "expert")
            return OnRank(seen, ports)

        return run(program, n_ranks).results

    @cached_property
    def ranks(self) -> tuple[OnRank, ...]:
        """Every rank after the exchange."""
        return self.played(self.n_rows, self.n_ranks)

    @property
    def busiest(self) -> OnRank:
        """The rank to whose experts most copies came."""
        return max(self.ranks, key=lambda each: each.copies)

    @property
    def balancedness(self) -> float:
        """Copies of a mean rank over those of the busiest one."""
        return fmean(each.copies for each in self.ranks) / self.busiest.copies

    @property
    def touched(self) -> float:
        """Experts of the busiest rank whose weights it read."""
        read = part(self.busiest.traffic.weight_bytes, ROUTED)
        return read / (FLOAT * self.expert_numbers)

    @property
    def expert_numbers(self) -> int:
        """Numbers in the three matrices of one expert."""
        return sum(
            array.size
            for array in expert_weights(self.layer_weights, ROUTED, 0).values()
        )

    @property
    def layer_weights(self) -> Any:
        """The weights, which all ranks share here."""
        return self.busiest.traffic.weights

    def apart(self) -> tuple[Fraction, Fraction]:
        """Bytes between the busiest rank and those of other nodes, and of its own."""
        home = self.ranks.index(self.busiest) // self.node_gpus
        far = near = Fraction(0)
        for rank, moved in enumerate(self.busiest.port_bytes()):
            if rank // self.node_gpus == home:
                near += moved
            else:
                far += moved
        return far, near

    def of_a_row(self) -> tuple[float, float]:
        """Bytes of a row in router and shared experts, of a copy between the GEMMs."""
        (alone,) = self.played(1, 1)
        home = part(alone.traffic.row_bytes, "router", SHARED)
        through = part(alone.traffic.row_bytes, ROUTED) - sum(alone.port_bytes())
        return float(home), float(through / alone.copies)
