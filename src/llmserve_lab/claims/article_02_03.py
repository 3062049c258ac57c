"""Articles 02 and 03: what is said about cuts, decided by ranks that carry them out."""

from __future__ import annotations

from collections.abc import Callable

from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.cuts_executed import (
    CLOSE,
    N_BLOCKS,
    TP,
    block_gap,
    calls,
    calls_cut_through,
    equals_the_matrix,
    head_cut_through,
    introduces_the_cuts,
    layer,
    reduce_over_gather,
    scores_are_added_up,
    sent,
    softmax_gap,
    step,
    weight,
)
from llmserve_lab.claims.parts import Number, Passages, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, si
from llmserve_lab.tensor_parallel.cuts import by_columns, by_rows


def _shape(
    id: str, section: str, says: str, *sides: tuple[str, str, Callable[[], float]]
) -> Claim:
    """A claim about a shape, side by side, read off the step that was executed."""
    parts = tuple(
        Number(printed, "dimensionless", value, label=label)
        for label, printed, value in sides
    )
    return Claim(
        id=id,
        section=section,
        says=says,
        parts=parts,
        verdict=Ruling.EXACT,
        why="Read off the step as a rank executed it.",
    )


CLAIMS = (
    Claim(
        id="02-01",
        section="§2",
        says="Rows of n tokens times a matrix of d by k give n rows of k",
        parts=(
            Statement(
                "[n×d] @ [d×k] = [n×k]",
                lambda: equals_the_matrix(by_columns),
                lambda: str(layer(by_columns).results[0].shape),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Each of two ranks, with half of the columns, ends with the whole product.",
    ),
    Claim(
        id="02-02",
        section="§5",
        says="Gluing the parts of a column cut together costs next to nothing",
        parts=(
            Statement(
                "basically free",
                lambda: layer(by_columns).ledger.sent_bytes() == 0,
                lambda: (
                    f"{si(layer(by_columns).ledger.sent_bytes(rank=0), 'byte')} leave "
                    "each rank"
                ),
            ),
        ),
        verdict=Ruling.WRONG,
        why=lambda: (
            "The parts lie on different GPUs: whole they are after an all-gather, "
            f"with 1/{plain(reduce_over_gather())} of the bytes of an all-reduce; free "
            "it is only where the next step takes the parts as they are."
        ),
    ),
    Claim(
        id="02-03",
        section="§6",
        says="Cut by rows, the output is the sum of the partial outputs",
        parts=(
            Statement(
                "GPU 1's + GPU 2's",
                lambda: equals_the_matrix(by_rows),
                lambda: (
                    f"{layer(by_rows).ledger.calls('all_reduce', rank=0)} all-reduce"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Each of two ranks, with half of the rows, ends with the whole product.",
    ),
    _shape(
        "03-01",
        "§1",
        "Width of all heads together",
        ("k", "512", lambda: weight("paired", "o_proj", 0, ranks=TP)),
    ),
    _shape(
        "03-02",
        "§1",
        "Width of the FFN, four times that of a row",
        ("4d", "2048", lambda: weight("paired", "up_proj", 1, ranks=TP)),
    ),
    _shape(
        "03-03",
        "§1",
        "Shape of the fused query, key and value projection",
        ("d", "512", lambda: weight("paired", "QKV", 0)),
        ("3k", "1536", lambda: weight("paired", "QKV", 1, ranks=TP)),
    ),
    _shape(
        "03-04",
        "§2",
        "Part of that projection on one of two GPUs, four heads",
        ("d", "512", lambda: weight("gathered", "QKV", 0)),
        ("3k/2", "768", lambda: weight("gathered", "QKV", 1)),
    ),
    _shape(
        "03-05",
        "§2",
        "Queries, keys and values of four heads, each",
        ("rows", "4", lambda: float(step("gathered", "attention").given[0])),
        ("k/2", "256", lambda: float(step("gathered", "attention").given[1])),
    ),
    _shape(
        "03-06",
        "§2",
        "FFN-down cut by columns, on one GPU",
        ("4d", "2048", lambda: weight("gathered", "down_proj", 0)),
        ("d/2", "256", lambda: weight("gathered", "down_proj", 1)),
    ),
    _shape(
        "03-07",
        "§4",
        "FFN-down cut by rows, on one GPU",
        ("4d/2", "1024", lambda: weight("paired", "down_proj", 0)),
        ("d", "512", lambda: weight("paired", "down_proj", 1)),
    ),
    Claim(
        id="03-08",
        section="§2",
        says="Gathers in a block, every matrix cut by columns",
        parts=(Number("4", "dimensionless", lambda: calls("gathered")),),
        verdict=Ruling.EXACT,
        why="Two before a matrix, two before a residual, which want whole rows.",
    ),
    Claim(
        id="03-09",
        section="§3",
        says="Exchanges in a forward pass of 32 such blocks",
        parts=(Number("~130", "dimensionless", lambda: N_BLOCKS * calls("gathered")),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Four gathers in each block, rounded.",
    ),
    Claim(
        id="03-10",
        section="§4",
        says="All-reduces in a block, columns and rows paired",
        parts=(Number("2", "dimensionless", lambda: calls("paired")),),
        verdict=Ruling.EXACT,
        why="One after the output projection, one after FFN-down.",
    ),
    Claim(
        id="03-11",
        section="§5",
        says="Pairing halves the communication",
        parts=(
            Number(
                "0.5",
                "dimensionless",
                lambda: sent("paired") / sent("gathered"),
                label="half, in bytes:",
                readings={
                    "calls, not bytes": lambda: calls("paired") / calls("gathered")
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It halves the calls; an all-reduce sends twice what a gather of the same "
        "tensor sends, so the bytes fall less, and the steps of the ring, each a "
        "latency, stay as many.",
    ),
    Claim(
        id="03-12",
        section="§5",
        says="A gather and an all-reduce move similar amounts of data per GPU",
        parts=(
            Size(
                "similar",
                lambda: 1.0,
                reduce_over_gather,
                label="all-reduce over gather:",
            ),
        ),
        verdict=Ruling.WRONG,
        why="An all-reduce is a reduce-scatter and then an all-gather, as the article "
        "itself says, and each of the two moves as much as a gather.",
    ),
    Claim(
        id="03-13",
        section="§6",
        says="A cut inside a head needs one exchange more, of the scores",
        parts=(
            Number("3", "dimensionless", calls_cut_through, label="all-reduces"),
            Statement(
                "on [n×n] scores",
                scores_are_added_up,
                lambda: (
                    "without it the output is off by "
                    f"{plain(head_cut_through(False)[1], 2)} of its largest element"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="With several heads, all of them cut, it is one such matrix for each.",
    ),
    Claim(
        id="03-14",
        section="§6",
        says="The softmax of a sum is not the sum of the softmaxes",
        parts=(
            Statement(
                "≠",
                lambda: softmax_gap() > CLOSE,
                lambda: f"they differ by up to {plain(softmax_gap(), 2)}",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Two rows of numbers show it.",
    ),
    Claim(
        id="03-15",
        section="§2",
        says="Strategy A comes from article 01",
        parts=(
            Passages("article 01", introduces_the_cuts(), "the article on both cuts"),
        ),
        verdict=Ruling.INCONSISTENT,
        why="A slip of numbering: the two strategies are those of article 02, as this "
        "article says elsewhere.",
    ),
    Claim(
        id="03-16",
        section="§4",
        says="The block on two GPUs gives what the uncut block gives",
        parts=(
            Statement(
                "no change to the model",
                lambda: block_gap() < CLOSE,
                lambda: "equal on every rank, to rounding",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Executed with columns alone and with columns and rows, on both ranks.",
    ),
)
