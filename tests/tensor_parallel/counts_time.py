"""Seconds of ranks and links: a walk through one rank's share, and a ledger."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from llmserve_lab.catalog import ModelShape
from llmserve_lab.collectives import Ledger, run
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.model import forward
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.shard import CACHED, shape_of_share
from tests.counted import Case, counts
from tests.tensor_parallel.counts import dealt
from tests.tensor_parallel.small import FLOAT, block_of, sizes


def in_matrices(shape: ModelShape, copies: int = 1) -> tuple[float, float]:
    """Parameters of the matrices, stored and active; gains of norms are left out.

    Of key and value projections that ``copies`` ranks hold, each counts its part.
    """
    found = [each for each in shape.tensors() if len(each.shape) == 2]
    part = {each.name: 1 / copies if each.name in CACHED else 1.0 for each in found}
    return (
        sum(each.params * part[each.name] for each in found),
        sum(each.params_active * part[each.name] for each in found),
    )


def one_share(shape: ModelShape, tp: int) -> tuple[ModelShape, int]:
    """A rank's share, the vocabulary cut too, and how many ranks have its heads."""
    held = replace(shape_of_share(shape, tp), vocab=shape.vocab // tp)
    heads = dealt(shape.attention.n_kv_heads, tp)  # type: ignore[union-attr]
    return held, heads.count(heads[0])


@dataclass
class Bill:
    """FLOPs of the products and of attention, bytes of weights and of cache."""

    linear: float
    pairs: float
    weights: float
    cache: float


@dataclass
class Setting:
    """A model, a request of some rows on a context, a machine, and ranks."""

    shape: ModelShape
    n_rows: int
    context: int
    tp: int
    machine: dict[str, float]

    def rank_bill(self, tp: int) -> Bill:
        """FLOPs and bytes of one rank: its matrices, and a walk through its cache."""
        held, copies = one_share(self.shape, tp)
        bill = walk(
            held,
            batch=1,
            context=self.context,
            chunk=self.n_rows,
            bytes_weight=FLOAT,
            bytes_kv=FLOAT,
        )
        stored, active = in_matrices(held, copies)
        return Bill(
            linear=2 * active * self.n_rows,
            pairs=bill.attn_flops,
            weights=stored * FLOAT,
            cache=bill.kv_read_bytes,
        )

    def rank_s(self, tp: int) -> float:
        """Products and their weights, half hidden or so; then attention."""
        bill, peak, bw = self.rank_bill(tp), *self.speeds()
        shorter, longer = sorted((bill.linear / peak, bill.weights / bw))
        products = longer + (1 - self.machine["overlap"]) * shorter
        return products + bill.pairs / peak + bill.cache / bw

    def speeds(self) -> tuple[float, float]:
        """FLOPs and bytes per second."""
        return self.machine["peak_flops"], self.machine["hbm_bw"]

    def passed(self, tp: int) -> Ledger:
        """What one forward pass exchanges."""
        model, tokens = Transformer(self.shape), list(range(self.n_rows))
        return run(lambda rank: forward(rank, model, tokens), tp).ledger

    def beside_s(self, tp: int) -> float:
        """What the layers and the request take, and the bytes of the all-reduces."""
        layers = (
            self.machine["launches"] * self.shape.n_layers * self.machine["layer_s"]
        )
        sent = self.passed(tp).sent_bytes(rank=0) / self.machine["link_bw"]
        return layers + self.machine["request_s"] + sent

    def tp_s(self, tp: int) -> float:
        """Both."""
        return self.rank_s(tp) + self.beside_s(tp)

    def link_s(self) -> float:
        """A time for each all-reduce of a forward pass."""
        return self.passed(2).calls("all_reduce", rank=0) * self.machine["fastest_s"]

    def of(self, formula: Formula) -> dict[str, float]:
        """What ``formula`` asks about all this."""
        more: dict[str, float] = {
            "batch": 1,
            "chunk": self.n_rows,
            "context": self.context,
        }
        stored, active = in_matrices(self.shape)
        more |= {"params_total": stored, "params_read": stored}
        more |= {"params_active": active}
        return sizes(
            formula, self.shape, **more, **self.machine, n_ranks=float(self.tp)
        )


def setting(rng: random.Random) -> Setting:
    shape, n_rows = block_of(rng)
    machine = {
        "peak_flops": 10.0 ** rng.randint(9, 12),
        "hbm_bw": 10.0 ** rng.randint(8, 11),
        "link_bw": float(10.0 ** rng.randint(8, 11)),
        "fastest_s": rng.random() * 1e-6,
        "layer_s": rng.random() * 1e-5,
        "request_s": rng.random() * 1e-5,
        "launches": rng.choice((1.0, 4.0)),
        "overlap": rng.choice((0.0, 0.5, 1.0)),
    } | dict.fromkeys(("eff_compute", "eff_mem", "eff_link"), 1.0)
    return Setting(shape, n_rows, rng.randint(0, 50), rng.choice((1, 2, 4)), machine)


@counts(f.CUT_LINEAR_S, by="executed")
def cut_linear_s(rng: random.Random) -> Case:
    here = setting(rng)
    wanted = here.rank_bill(1).linear / here.machine["peak_flops"]
    return Case(here.of(f.CUT_LINEAR_S), wanted)


@counts(f.CUT_PAIRS_S, by="executed")
def cut_pairs_s(rng: random.Random) -> Case:
    here = setting(rng)
    wanted = here.rank_bill(1).pairs / here.machine["peak_flops"]
    return Case(here.of(f.CUT_PAIRS_S), wanted)


@counts(f.RANK_S, by="executed")
def rank_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.RANK_S), here.rank_s(here.tp))


@counts(f.LINK_S, by="executed")
def link_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.LINK_S), here.link_s())


@counts(f.BESIDE_S, by="executed")
def beside_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.BESIDE_S), here.beside_s(here.tp))


@counts(f.TP_S, by="executed")
def tp_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.TP_S), here.tp_s(here.tp))


@counts(f.RING_TP_S, by="executed")
def ring_tp_s(rng: random.Random) -> Case:
    """Each all-reduce that was made takes a ring's time instead of the fastest."""
    here, later_s = setting(rng), rng.random() * 1e-6
    here.machine["all_reduce_s"] = here.machine["fastest_s"] + later_s
    values = here.of(f.RING_TP_S)
    made = here.passed(2).calls("all_reduce", rank=0)
    return Case(values, here.tp_s(here.tp) + made * later_s)


@counts(f.RING_MORE_S, by="executed")
def ring_more_s(rng: random.Random) -> Case:
    here, later_s = setting(rng), rng.random() * 1e-6
    here.machine["all_reduce_s"] = here.machine["fastest_s"] + later_s
    made = here.passed(2).calls("all_reduce", rank=0)
    return Case(here.of(f.RING_MORE_S), made * later_s)


@counts(f.REST_S, by="executed")
def rest_s(rng: random.Random) -> Case:
    """Two all-reduces a layer take less than what a layer is given beside its work."""
    here = setting(rng)
    here.machine["layer_s"] += 2 * here.machine["fastest_s"]
    return Case(here.of(f.REST_S), here.beside_s(here.tp) - here.link_s())


@counts(f.LINK_SHARE, by="executed")
def link_share(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.LINK_SHARE), here.link_s() / here.tp_s(here.tp))


@counts(f.TP_SPEEDUP, by="executed")
def tp_speedup(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.TP_SPEEDUP), here.tp_s(1) / here.tp_s(here.tp))


@counts(f.RANK_BYTES, by="executed")
def rank_bytes(rng: random.Random) -> Case:
    here = setting(rng)
    bill = here.rank_bill(here.tp)
    return Case(here.of(f.RANK_BYTES), bill.weights + bill.cache)
