"""Seconds of ranks and links: a walk through one rank's share, and a ledger."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from llmserve_lab.catalog import LINKS, ModelShape
from llmserve_lab.cluster import run
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.model import forward
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.shard import CACHED, shape_of_share
from tests.counted import Case, counts
from tests.tensor_parallel.counts import dealt
from tests.tensor_parallel.small import FLOAT, block_of, sizes

LINK = LINKS["nvlink4"]


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
class Setting:
    """A model, a request of some rows on a context, a machine, and ranks."""

    shape: ModelShape
    n_rows: int
    context: int
    tp: int
    machine: dict[str, float]

    def rank_bill(self, tp: int) -> tuple[float, float]:
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
        linear_flops = 2 * active * self.n_rows
        return linear_flops + bill.attn_flops, stored * FLOAT + bill.kv_read_bytes

    def rank_s(self, tp: int) -> float:
        """The longer of one rank's two bills."""
        flops, moved = self.rank_bill(tp)
        return max(flops / self.machine["peak_flops"], moved / self.machine["hbm_bw"])

    def link_s(self) -> float:
        """The ledger's time for one forward pass."""
        model, tokens = Transformer(self.shape), range(self.n_rows)
        done = run(lambda rank: forward(rank, model, list(tokens)), self.tp)
        latency_s = self.machine["link_latency"]
        return done.ledger.seconds(LINK, rank=0, latency_s=latency_s)

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
        "link_bw": float(LINK.bandwidth),
        "link_latency": rng.random() * 1e-6,
    } | dict.fromkeys(("eff_compute", "eff_mem", "eff_link"), 1.0)
    return Setting(shape, n_rows, rng.randint(0, 50), rng.choice((1, 2, 4)), machine)


@counts(f.RANK_S, by="executed")
def rank_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.RANK_S), here.rank_s(here.tp))


@counts(f.LINK_S, by="executed")
def link_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.LINK_S), here.link_s())


@counts(f.TP_S, by="executed")
def tp_s(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.TP_S), here.rank_s(here.tp) + here.link_s())


@counts(f.LINK_SHARE, by="executed")
def link_share(rng: random.Random) -> Case:
    here = setting(rng)
    link = here.link_s()
    return Case(here.of(f.LINK_SHARE), link / (here.rank_s(here.tp) + link))


@counts(f.TP_SPEEDUP, by="executed")
def tp_speedup(rng: random.Random) -> Case:
    here = setting(rng)
    together = here.rank_s(here.tp) + here.link_s()
    return Case(here.of(f.TP_SPEEDUP), here.rank_s(1) / together)


@counts(f.RANK_BYTES, by="executed")
def rank_bytes(rng: random.Random) -> Case:
    here = setting(rng)
    return Case(here.of(f.RANK_BYTES), here.rank_bill(here.tp)[1])
