"""Coefficients of a machine and a model, byte by byte and row by row."""

from __future__ import annotations

import random

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.collectives import Rank, run
from llmserve_lab.transformer import Meter, Transformer, tiny_shape
from llmserve_lab.transformer.ffn import swiglu_ffn
from tests.counted import Case, counts


def shape(rng: random.Random) -> dict[str, float]:
    """A small model on a slow machine."""
    names = ("n_layers", "d_model", "d_expert", "top_k", "n_draft", "experts_per_card")
    found = {name: float(rng.randint(1, 6)) for name in names}
    found |= {"n_experts": float(rng.randint(6, 12)), "kv_bytes_per_token": 96.0}
    rates = {"hbm_bw": 640.0, "peak_flops": 960.0, "link_bw": 320.0}
    shares = {"eff_mem": 0.5, "eff_compute": 0.25, "eff_link": 0.8}
    widths = {"bytes_sent": 1.0, "bytes_returned": 2.0}
    return found | rates | shares | widths


@counts(f.A_ATTN, by="executed")
def a_attn(rng: random.Random) -> Case:
    """Run a token, and weigh what attention reads of it in one layer of the cache."""
    v = shape(rng)
    head = 2 * rng.randint(1, 6)
    model = Transformer(tiny_shape(n_layers=int(v["n_layers"]), d_head=head))
    cache = model.new_cache(1)
    model.forward([1], cache)
    read = sum(entries.nbytes for entries in cache.read(0).values())
    v["kv_bytes_per_token"] = model.shape.kv_bytes_per_token(8)
    return Case(f.A_ATTN.given(v), read / (v["hbm_bw"] * v["eff_mem"]))


def expert_flops(v: dict[str, float]) -> int:
    """FLOPs of one row through one gated expert, read off a meter."""
    inner, outer = int(v["d_expert"]), int(v["d_model"])
    shapes = {"gate": (outer, inner), "up": (outer, inner), "down": (inner, outer)}
    weights = {f"{name}_proj": np.ones(shape) for name, shape in shapes.items()}
    meter = Meter()
    swiglu_ffn(np.ones((1, outer)), weights, run=meter.on())
    return meter.linear_flops


@counts(f.EXPERT_FLOPS, by="executed")
def flops_of_a_row(rng: random.Random) -> Case:
    v = shape(rng)
    return Case(f.EXPERT_FLOPS.given(v), expert_flops(v))


def dealt(v: dict[str, float]) -> list[int]:
    """Deal the rows of as many requests as there are experts, in turn."""
    experts = [0] * int(v["n_experts"])
    place = 0
    for _request in experts:
        for _row in range(1 + int(v["n_draft"])):
            for _choice in range(int(v["top_k"])):
                experts[place % len(experts)] += 1
                place += 1
    return experts


@counts(f.EXPERT_ROWS, by="enumerated")
def expert_rows(rng: random.Random) -> Case:
    v = shape(rng)
    return Case(f.EXPERT_ROWS.given(v), dealt(v)[0] / v["n_experts"])


def card_rows(v: dict[str, float]) -> float:
    """Rows of all experts on one card, per request."""
    experts = dealt(v)
    return sum(experts[: int(v["experts_per_card"])]) / len(experts)


@counts(f.A_FFN, by="executed")
def a_ffn(rng: random.Random) -> Case:
    v = shape(rng)
    rate = v["peak_flops"] * v["eff_compute"]
    return Case(f.A_FFN.given(v), card_rows(v) * expert_flops(v) / rate)


def wire_bytes(v: dict[str, float]) -> float:
    """Two ranks: a row goes out in FP8's width and comes back in BF16's; the ledger."""
    width = int(v["d_model"])

    def there_and_back(rank: Rank) -> None:
        if rank.index == 0:
            rank.send(np.zeros(width, np.uint8), dst=1)
            rank.recv(src=1)
        else:
            row = rank.recv(src=0)
            rank.send(row.astype(np.float16), dst=0)

    return float(run(there_and_back, 2).ledger.sent_bytes())


@counts(f.ROW_WIRE_BYTES, by="executed")
def row_wire_bytes(rng: random.Random) -> Case:
    v = shape(rng)
    return Case(f.ROW_WIRE_BYTES.given(v), wire_bytes(v))


@counts(f.A_COMM, by="executed")
def a_comm(rng: random.Random) -> Case:
    v = shape(rng)
    rate = v["link_bw"] * v["eff_link"]
    return Case(f.A_COMM.given(v), card_rows(v) * wire_bytes(v) / rate)
