"""The roadmap of the series (article 00): what it announces, beside what there is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np

from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.counted import COUNTS
from llmserve_lab.claims.parts import Number, Passages, Statement
from llmserve_lab.claims.sources import SOURCES
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.end_to_end.toy import TEXT, tokenize, toy
from llmserve_lab.formula.text import plain
from llmserve_lab.transformer import PLAIN
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import share

in_roadmap = partial(Claim, section="Articles")
NUM_RANKS = 2
CLOSE = 1e-10  # of logits near 1, in float64


def on_a_rank(rank: Rank) -> Array:
    """Logits from one rank's part of the toy, its partial sums reduced over all."""
    added_up = replace(PLAIN, reduce=rank.all_reduce)
    return share(toy(), rank).forward(tokenize(TEXT), run=added_up)


@cache
def on_two_ranks() -> ClusterRun[Array]:
    """The toy, really cut in two, and the ledger of what was exchanged."""
    return run(on_a_rank, NUM_RANKS)


def same_logits() -> bool:
    """Whether both ranks end with the logits of the uncut model."""
    whole = toy().forward(tokenize(TEXT))
    return all(np.abs(got - whole).max() < CLOSE for got in on_two_ranks().results)


def all_reduces_per_block() -> float:
    """All-reduces that a rank made, over the blocks, if it made nothing else."""
    ledger = on_two_ranks().ledger
    calls = ledger.calls("all_reduce", rank=0)
    others = ledger.calls(rank=0) - calls
    return calls / toy().shape.n_layers if not others else float("nan")


CLAIMS = (
    in_roadmap(
        id="00-01",
        says="Article 07 will be about the engineering of disaggregation",
        parts=(
            Passages(
                "The engineering of disaggregation", SOURCES["07"].title, "article 07"
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="Article 07 became the one on mixtures of experts; the roadmap still lists "
        "those as planned, under another number.",
    ),
    in_roadmap(
        id="00-02",
        says="Article 01 is still to be written",
        parts=(Passages("to be written", "published", SOURCES["01"].title),),
        verdict=Ruling.INCONSISTENT,
        why="The article exists; the roadmap was not brought up to date.",
    ),
    in_roadmap(
        id="00-03",
        says="The roadmap numbers its articles 01 to 16",
        parts=(
            Number(
                "16",
                "dimensionless",
                lambda: float(COUNTS["articles of the roadmap"].found),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Counted in its text; from 07 on these are not the numbers of the articles "
        "that were published.",
    ),
    in_roadmap(
        id="00-04",
        says="Cut in two ways, a block needs two all-reduces",
        parts=(
            Statement(
                "two per block",
                lambda: all_reduces_per_block() == 2 and same_logits(),
                lambda: (
                    f"{plain(all_reduces_per_block())} all-reduces a block on two ranks"
                    ", with the logits of one"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="One follows attention, one the FFN, each before the residual is added.",
    ),
)
