"""Article 07, sections 4 and 5: slices of experts, and experts on ranks, executed."""

from __future__ import annotations

import math
from functools import partial

from llmserve_lab.catalog import PRECISIONS
from llmserve_lab.claims.article_07.setting import (
    CARDS,
    SPEC,
    destinations,
    off,
    slice_columns,
    slice_reaches,
    way_bytes,
    work_share,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, si
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.models import DEEPSEEK, DEFAULT, per_layer
from llmserve_lab.moe.placement import contiguous

in_section_4 = partial(Claim, section="§4")
in_section_5 = partial(Claim, section="§5")


def row_bytes() -> float:
    """Bytes of one row in 16 bits."""
    return DEEPSEEK.d_model * float(PRECISIONS["fp16"].bytes_weight)


def remote_cards() -> float:
    """Other cards that a token is sent to, on average, each of them once."""
    elsewhere = SPEC.n_experts - SPEC.n_experts // CARDS
    missed = math.comb(elsewhere, SPEC.top_k) / math.comb(SPEC.n_experts, SPEC.top_k)
    return (CARDS - 1) * (1 - missed)


def router_share() -> float:
    """Share of the router in what a token touches of an MoE layer."""
    return float(f.ROUTER_PARAMS.at(DEFAULT)) / per_layer(DEEPSEEK)[1]


CLAIMS = (
    in_section_4(
        id="07-16",
        says="Parameters of all experts of one MoE layer",
        parts=(Number("11 G", "parameter", lambda: per_layer(DEEPSEEK)[0]),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed.",
    ),
    in_section_4(
        id="07-17",
        says="A slice of an eighth of an expert's matrix; too skinny for tensor cores",
        parts=(
            Number("256", "element", slice_columns),
            Statement(
                "too skinny",
                lambda: slice_reaches()[0] < slice_reaches()[1],
                lambda: (
                    f"at most {si(slice_reaches()[0], 'FLOP/byte')}, "
                    f"ridge {si(slice_reaches()[1], 'FLOP/byte')}"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Rows read and written counted, in 16 bits on an H100, with no kernels "
        "fused: no batch brings the slice to the ridge.",
    ),
    in_section_5(
        id="07-18",
        says="Routed experts on each of eight cards",
        parts=(
            Number(
                "32",
                "dimensionless",
                lambda: float(len(contiguous(SPEC.n_experts, CARDS).seats[0])),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Dealt out evenly.",
    ),
    in_section_5(
        id="07-19",
        says="Rows of an expert for 32 tokens, if routing is uniform",
        parts=(
            Number(
                "1", "token", lambda: float(f.ROWS_PER_EXPERT.at(DEFAULT, n_rows=32))
            ),
        ),
        verdict=Ruling.EXACT,
        why="It is the mean for any routing; uniform routing makes it that of each.",
    ),
    in_section_5(
        id="07-20",
        says="Bytes of one row in 16 bits",
        parts=(
            Number(
                "≈ 14 KB",
                "byte",
                row_bytes,
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed, as it would with a KB of 1024.",
    ),
    in_section_5(
        id="07-21",
        says="Bytes of a token that go through dispatch, and the same again come back",
        parts=(
            Number(
                "≈ 14 KB",
                "byte",
                lambda: row_bytes() * remote_cards(),
                label="dispatch",
                readings={"a single copy": row_bytes},
            ),
            Statement(
                "the same again",
                lambda: way_bytes()[0] == way_bytes()[1],
                lambda: " and ".join(si(each, "byte") for each in way_bytes()),
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why=lambda: (
            "That is one copy of the row; on eight cards a token goes to "
            f"{plain(remote_cards())} others on average. The way back is as long, "
            "counted on the ledger over all cards."
        ),
    ),
    in_section_5(
        id="07-22",
        says="Cards that a single token may go to",
        parts=(Number("8", "dimensionless", lambda: float(destinations()[0])),),
        verdict=Ruling.EXACT,
        why=lambda: (
            f"The most of many random routings; the mean is {plain(destinations()[1])}."
        ),
    ),
    in_section_5(
        id="07-23",
        says="All FFN work together is that of a dense FFN of 9/257 of the size",
        parts=(
            Statement(
                "matches exactly",
                lambda: abs(work_share()[0] / work_share()[1] - 1) < 1e-12,
                lambda: f"{plain(work_share()[0])} of the FLOPs of all experts",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Counted in a small mixture, without the router; any routing will do.",
    ),
    in_section_5(
        id="07-37",
        says="The router is a tiny matrix product",
        parts=(
            Statement(
                "tiny",
                lambda: router_share() < 0.01,
                lambda: f"{plain(100 * router_share())} % of what a token touches",
                limit="at most 1 %",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It has one column for each expert.",
    ),
    in_section_5(
        id="07-40",
        says="What expert parallelism gives is what the mixture gives",
        parts=(
            Statement(
                "equal",
                lambda: off() < 1e-12,
                lambda: "equal on eight ranks to within 1e-12",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Executed on eight ranks and compared with the dense evaluation.",
    ),
)
