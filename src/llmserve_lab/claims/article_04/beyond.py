"""Article 04, sections 7 and 8, and what it says about blocks and other articles."""

from __future__ import annotations

from functools import partial

from llmserve_lab.claims.article_04.setting import (
    H100,
    MANY,
    ONE,
    SHAPE,
    WORK,
    A,
    B,
    about_chunks,
    carried_out,
    decode_intensity,
    half_of_qkv,
    pointwise,
    reduced,
    share,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Passages, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as roofline
from llmserve_lab.varlen import formulas as f

in_section_8 = partial(Claim, section="§8")

CLAIMS = (
    Claim(
        id="04-11",
        section="§7",
        says="All-reduces in one block",
        parts=(
            Number(
                "16",
                "dimensionless",
                lambda: len(reduced()) / SHAPE.n_layers,
                readings={"in the whole pass": lambda: float(len(reduced()))},
            ),
        ),
        verdict=Ruling.WRONG,
        why="That many are in the whole pass, as §2 says; a block has two, an eighth.",
    ),
    in_section_8(
        id="04-12",
        says="Pairs of one request of a thousand tokens, of ten of a hundred; ratio",
        parts=(
            Number("1,000,000", "pair", lambda: f.VARLEN_PAIRS.at(ONE), "one"),
            Number("100,000", "pair", lambda: f.VARLEN_PAIRS.at(MANY), "ten"),
            Number(
                "10×",
                "dimensionless",
                lambda: f.VARLEN_PAIRS.at(ONE) / f.VARLEN_PAIRS.at(MANY),
                "ratio",
            ),
        ),
        verdict=Ruling.EXACT,
        why=(
            "[varlen_pairs](#eq-varlen_pairs) gives both, and a run that counts "
            "confirms [varlen_pairs](#eq-varlen_pairs)."
        ),
    ),
    in_section_8(
        id="04-13",
        says="In a pass over one request of a thousand tokens attention dominates",
        parts=(
            Statement(
                "dominates",
                lambda: share(ONE) > 0.5,
                lambda: (
                    f"{plain(100 * share(ONE), 2)} % of the FLOPs in whole squares, "
                    f"{plain(100 * f.ATTN_SHARE.at(ONE, WORK), 2)} % in causal pairs"
                ),
            ),
        ),
        verdict=Ruling.WRONG,
        why=lambda: (
            "Even with whole squares attention overtakes only at "
            f"{si(f.OVERTAKE_SQUARE.at(WORK), 'token')}, with the causal half "
            f"at {si(f.OVERTAKE_PROMPT.at(WORK), 'token')}."
        ),
    ),
    in_section_8(
        id="04-14",
        says="Many short requests are bound by bandwidth in the linear layers",
        parts=(
            Statement(
                "bandwidth-bound",
                lambda: f.PACKED_INTENSITY.at(MANY, WORK) < roofline.RIDGE.at(H100),
                lambda: si(f.PACKED_INTENSITY.at(MANY, WORK), "FLOP/byte"),
            ),
        ),
        verdict=Ruling.WRONG,
        why=lambda: (
            "Ten of a hundred tokens are on the other side of an H100's ridge, "
            f"{si(roofline.RIDGE.at(H100), 'FLOP/byte')}: rows are packed, and "
            "packing leads to the compute peak, as the same section says."
        ),
    ),
    in_section_8(
        id="04-15",
        says="Intensity of attention when a request decodes one token at a time",
        parts=(Number("~1", "FLOP/byte", decode_intensity),),
        verdict=Ruling.EXACT,
        why="So it is for multi-head attention in 16 bits; grouped queries multiply it "
        "by the size of the group.",
    ),
    Claim(
        id="04-16",
        section="§4",
        says="Half the steps of a block work on one row and one element at a time",
        parts=(
            Statement(
                "half",
                lambda: 2 * pointwise()[0] == pointwise()[1],
                lambda: f"{pointwise()[0]} of {pointwise()[1]}",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Each row was sent through alone and came out with the same bits.",
    ),
    Claim(
        id="04-17",
        section="§5",
        says="Rows and columns of the QKV projection on one of two GPUs",
        parts=(
            Number("40", "token", lambda: carried_out("varlen", A, B).n_rows, "rows"),
            Number("768", "element", half_of_qkv, "columns"),
        ),
        verdict=Ruling.EXACT,
        why="Queries, keys and values of four heads.",
    ),
    Claim(
        id="04-18",
        section="§1, §9",
        says="Chunked prefill is the subject of article 06",
        parts=(
            Passages(
                "article 06", about_chunks(), "the article with chunks in its title"
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="Article 05 has it, article 06 is about two pools of GPUs.",
    ),
)
