"""One predicted token, term by term: what the simulator counted, times what it costs.

The example's server with all its clients: counts of a mean iteration, a constant and a
number of the datasheet for each, and the milliseconds that they come to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.engine import IterationCost
from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.validation import DATASHEET, ServingConstants, achieved
from llmserve_lab.validation.exposure import Exposure, overlapped
from llmserve_lab.validation.protocol import protocol_of
from llmserve_lab.validation.unit_work import Bill, bill_of, cost_of


@dataclass(frozen=True)
class CostTerm:
    """A term of the time per output token: what it is, how it is computed, seconds."""

    name: str
    how: str
    seconds: float


@dataclass(frozen=True)
class Products:
    """Products of matrices in iterations of one sort: how often, tokens, both bills."""

    share: float
    tokens: float
    computing_s: float
    seconds: float


def counted() -> tuple[Bill[float], Exposure]:
    """What an iteration is billed for, and what a mean token contains."""
    place = [row.clients for row in example.rows()].index(example.CLIENTS)
    row = example.rows()[place]
    bill = bill_of(row, kv_bytes=protocol_of(row).kv_bytes)
    return bill, example.predictor().exposures[place].tpot


def products(cost: IterationCost, found: Exposure) -> tuple[Products, Products]:
    """Iterations of decodes alone, and those that carry a prompt."""
    seconds = overlapped(
        found.rows * cost.row_s, np.full(len(found.rows), cost.weights_s), cost.overlap
    )
    few = found.rows <= example.CLIENTS
    parts = []
    for own in (few, ~few):
        share = float(found.share[own].sum())
        tokens = float(found.share[own] @ found.rows[own]) / share
        mean_s = float(found.share[own] @ seconds[own]) / share
        parts.append(Products(share, tokens, tokens * cost.row_s, mean_s))
    return parts[0], parts[1]


def with_a_prompt() -> Products:
    """Products of the example's iterations that carry a prompt, at its largest load."""
    bill, found = counted()
    return products(cost_of(bill, achieved()), found)[1]


def terms(reached: ServingConstants | None = None) -> tuple[CostTerm, ...]:
    """All terms of the largest load of the example; their sum is the prediction."""
    reached = achieved() if reached is None else reached
    bill, found = counted()
    cost = cost_of(bill, reached)
    calm, busy = products(cost, found)
    rows = float(found.share @ found.rows)
    speed = bill.hbm_bw * reached.memory / 1e12
    flops = bill.peak_16 * reached.compute * bill.speedup**reached.exponent / 1e12
    link = bill.link_bw * reached.link / 1e9
    read = f"{1e3 * cost.weights_s:.3f} ms"
    return (
        CostTerm(
            "products",
            f"{per_cent(calm.share, 2)} of iterations: read "
            f"{bill.weight_bytes / 1e9:.2f} GB at {speed:.3f} TB/s = {read}; "
            f"compute {calm.tokens:.1f} tokens × "
            f"{bill.row_flops / 1e9:.1f} GFLOP at {flops:,.0f} TFLOP/s = "
            f"{1e3 * calm.computing_s:.2f} ms, of which half is hidden",
            calm.share * calm.seconds,
        ),
        CostTerm(
            "products, prompt",
            f"{per_cent(busy.share, 2)} of iterations: compute {busy.tokens:,.0f} "
            "tokens = "
            f"{1e3 * busy.computing_s:.2f} ms; reading as above, half hidden",
            busy.share * busy.seconds,
        ),
        CostTerm(
            "cache",
            f"{found.kv_tokens:,.0f} tokens × {bill.kv_token_bytes / 1e3:.2f} kB at "
            f"{speed:.3f} TB/s",
            found.kv_tokens * cost.kv_token_s,
        ),
        CostTerm(
            "attention",
            f"{found.pairs:,.0f} pairs × {bill.pair_flops / 1e6:.3f} MFLOP at "
            f"{bill.peak_16 * reached.compute / 1e12:,.0f} TFLOP/s",
            found.pairs * cost.pair_s,
        ),
        CostTerm(
            "link",
            f"{rows:.1f} tokens × {bill.row_bytes / 1e6:.3f} MB at {link:.1f} GB/s",
            rows * cost.collective_row_s,
        ),
        CostTerm(
            "layers",
            f"{bill.n_layers:.0f} × {1e6 * reached.layer_s:.2f} µs",
            cost.overhead_s,
        ),
        CostTerm(
            "layers, prompt",
            f"{per_cent(found.prompts, 2)} of iterations: three times more, 3 × "
            f"{1e3 * cost.overhead_s:.3f} ms",
            found.prompts * cost.prompt_s,
        ),
        CostTerm(
            "requests",
            f"{found.requests:.1f} × {1e6 * reached.request_s:.2f} µs",
            found.requests * cost.request_s,
        ),
    )


def sheet_ms() -> float:
    """The same token by the datasheet alone, in ms."""
    return example.tpot_ms(DATASHEET)[example.CLIENTS]
