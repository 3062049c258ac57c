"""Article 04, sections 2 to 6: what is laid out, and what is computed of it."""

from __future__ import annotations

from functools import partial

import numpy as np

from llmserve_lab.claims.article_04.setting import (
    SHAPE,
    A,
    B,
    apart,
    carried_out,
    reduced,
    squares_grow,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import si
from llmserve_lab.varlen.strategies import bounds

in_section_2 = partial(Claim, section="§2")
in_section_3 = partial(Claim, section="§3")

CLAIMS = (
    in_section_2(
        id="04-01",
        says="Eight layers with two all-reduces each make so many in a forward pass",
        parts=(Number("16", "dimensionless", lambda: float(len(reduced()))),),
        verdict=Ruling.EXACT,
        why="Counted on the ledger of two ranks.",
    ),
    in_section_2(
        id="04-02",
        says="Every all-reduce moves a tensor of rows by model width",
        parts=(
            Statement(
                "N × 512",
                lambda: {each.shape for each in reduced()} == {(A + B, SHAPE.d_model)},
                lambda: " and ".join(
                    {f"{r.shape[0]} × {r.shape[1]}" for r in reduced()}
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="All shapes on the ledger are the same.",
    ),
    in_section_3(
        id="04-03",
        says="Padded to request B, request A gets so many padding tokens",
        parts=(
            Number(
                "20", "token", lambda: float(carried_out("padded", A, B).wasted_rows)
            ),
        ),
        verdict=Ruling.EXACT,
        why="Counted as rows of the padded batch that are no token.",
    ),
    in_section_3(
        id="04-04",
        says="Padding makes the matrices of the linear layers larger by a factor",
        parts=(
            Number(
                "2×",
                "dimensionless",
                lambda: carried_out("padded", A, B).n_rows / (A + B),
            ),
        ),
        verdict=Ruling.WRONG,
        why="Sixty rows instead of forty; it is twice the rows of request B alone, but "
        "the batch has request A, too. A third of the padded batch is waste.",
    ),
    in_section_3(
        id="04-05",
        says="Pairs of request A padded, pairs that it needs, and their ratio",
        parts=(
            Number("900", "pair", lambda: carried_out("varlen", B).pairs, "padded"),
            Number("100", "pair", lambda: carried_out("varlen", A).pairs, "needed"),
            Number(
                "9×",
                "dimensionless",
                lambda: carried_out("varlen", B).pairs / carried_out("varlen", A).pairs,
                "ratio",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Whole squares are counted, as a kernel without a causal short cut does.",
    ),
    in_section_3(
        id="04-06",
        says="Flattened, both requests make one tensor of so many rows",
        parts=(Number("40", "token", lambda: carried_out("varlen", A, B).n_rows),),
        verdict=Ruling.EXACT,
        why="Counted as the rows that the pass returned logits for.",
    ),
    Claim(
        id="04-07",
        section="§6.1",
        says="Pairs computed, useful and wasted when the whole square is masked",
        parts=(
            Number("1600", "pair", lambda: carried_out("masked", A, B).pairs, "all"),
            Number("1000", "pair", lambda: carried_out("varlen", A, B).pairs, "useful"),
            Number(
                "600",
                "pair",
                lambda: (
                    carried_out("masked", A, B).pairs
                    - carried_out("varlen", A, B).pairs
                ),
                "wasted",
            ),
        ),
        verdict=Ruling.EXACT,
        why=lambda: (
            "With the causal mask only "
            f"{si(carried_out('varlen', A, B).useful_pairs, 'pair')} are useful, so "
            "that varlen is not without waste either."
        ),
    ),
    Claim(
        id="04-08",
        section="§6.1",
        says="Equal requests cost (RL)² pairs masked, and need R · L²",
        parts=(
            Statement(
                "(RL)² and R·L²", squares_grow, lambda: "counted for two batches"
            ),
        ),
        verdict=Ruling.EXACT,
        why="Two batches were run both ways, their pairs counted.",
    ),
    Claim(
        id="04-09",
        section="§6.2",
        says="Boundaries of requests A and B in the flat stack",
        parts=(
            Statement(
                "0, 10, 40",
                lambda: bounds(np.arange(A + B), (A, B)) == (0, 10, 40),
                lambda: ", ".join(map(str, bounds(np.arange(A + B), (A, B)))),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Made from the lengths, not typed.",
    ),
    Claim(
        id="04-10",
        section="§6.2",
        says="Varlen gives the same answer as masking after computing",
        parts=(
            Statement(
                "same", lambda: apart() < 1e-10, lambda: "within 1e-10 in every logit"
            ),
        ),
        verdict=Ruling.EXACT,
        why="Both were run, on the same model and tokens.",
    ),
)
