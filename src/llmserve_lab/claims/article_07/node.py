"""Article 07, section 6: one node of eight cards, three parallelisms."""

from __future__ import annotations

from functools import partial

from llmserve_lab.claims.article_07.setting import (
    TP,
    block,
    duplicates,
    exchanges,
    halves,
    held,
    model_bytes,
    node_bytes,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import si
from llmserve_lab.moe import hybrid_parallel_block
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.transformer.shard import shape_of_share

in_section_6 = partial(Claim, section="§6")


def room_tokens() -> float:
    """Tokens of 16-bit cache that fit beside FP8 weights, latents held once a card."""
    free = node_bytes("h200-sxm") - model_bytes("fp8")
    return free / (TP * DEEPSEEK.kv_bytes_per_token())


def cache_cut() -> float:
    """Bytes that a token leaves in all, over those on one card of a group."""
    share = shape_of_share(DEEPSEEK, TP)
    return DEEPSEEK.kv_bytes_per_token() / share.kv_bytes_per_token()


def heads_cut() -> float:
    """Heads of attention over those on one card of a group."""
    share = shape_of_share(DEEPSEEK, TP)
    return DEEPSEEK.attention.n_heads / share.attention.n_heads


CLAIMS = (
    in_section_6(
        id="07-24",
        says="Memory of a node of eight H200",
        parts=(Number("1.1 TB", "byte", lambda: node_bytes("h200-sxm")),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed.",
    ),
    in_section_6(
        id="07-25",
        says="Memory that DeepSeek-V3 takes in 16 bits",
        parts=(Number("~1.3 TB", "byte", lambda: model_bytes("fp16")),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed.",
    ),
    in_section_6(
        id="07-26",
        says="Memory of the same node, which 16-bit weights do not fit",
        parts=(
            Number(
                "640 GB",
                "byte",
                lambda: node_bytes("h200-sxm"),
                readings={"a node of H100": lambda: node_bytes("h100-sxm")},
            ),
            Statement(
                "does not fit",
                lambda: model_bytes("fp16") > node_bytes("h200-sxm"),
                lambda: f"{si(model_bytes('fp16'), 'byte')} in 16 bits",
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="That is a node of H100; the one introduced before has H200. It does not "
        "fit either.",
    ),
    in_section_6(
        id="07-27",
        says="A reduce-scatter sends so much of what an all-reduce sends",
        parts=(
            Number("0.5", "dimensionless", lambda: halves()[0] / halves()[2], "half:"),
        ),
        verdict=Ruling.EXACT,
        why="On a ring it is half to the byte, counted on the ledger.",
    ),
    in_section_6(
        id="07-28",
        says="Reduce-scatter and all-gather together send what an all-reduce sends",
        parts=(
            Statement(
                "the same bytes",
                lambda: halves()[0] + halves()[1] == halves()[2],
                lambda: " + ".join(si(each, "byte") for each in halves()[:2]),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Counted on the ledger of a group of four.",
    ),
    in_section_6(
        id="07-29",
        says="Collectives in a block",
        parts=(Number("4", "dimensionless", exchanges),),
        verdict=Ruling.EXACT,
        why="Those that move rows; which experts a row is for is sent beside them.",
    ),
    in_section_6(
        id="07-30",
        says="After the all-gather a card has all tokens and a slice of the features",
        parts=(
            Statement(
                "a slice of features",
                lambda: held("all-gather")[1] < hybrid_parallel_block.SMALL.d_model,
                lambda: (
                    f"{held('all-gather')} of rows "
                    f"{hybrid_parallel_block.SMALL.d_model} wide"
                ),
            ),
        ),
        verdict=Ruling.WRONG,
        why="It has all features of all tokens; columns of its own it has only between "
        "the projections of attention, those of its heads.",
    ),
    in_section_6(
        id="07-31",
        says="Copies if every card of a group dispatches all its rows, over one each",
        parts=(Number("4×", "dimensionless", duplicates),),
        verdict=Ruling.EXACT,
        why="Copies packed by the four cards, over those of four that share the rows.",
    ),
    in_section_6(
        id="07-32",
        by_definition=True,
        says="Groups that the eight cards form, and cards in each",
        parts=(
            Number("2", "dimensionless", lambda: float(len(block().outputs)), "groups"),
            Number(
                "4",
                "dimensionless",
                lambda: len(block().steps) / len(block().outputs),
                "cards",
            ),
        ),
        verdict=Ruling.EXACT,
        why="As executed; eight over four leaves nothing else.",
    ),
    in_section_6(
        id="07-35",
        says="Attention of DeepSeek-V3 is cut over so many cards",
        parts=(
            Number(
                "4",
                "dimensionless",
                cache_cut,
                label="cut of the cache:",
                readings={"heads, not the cache": heads_cut},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="Its heads can be dealt out; its latent cannot, so every card of a group "
        "holds a copy of the whole cache. The report on DeepSeek-V3 has attention "
        "data-parallel.",
    ),
    in_section_6(
        id="07-39",
        says="The node holds the weights in FP8 and a cache beside them",
        parts=(
            Statement(
                "enough",
                lambda: room_tokens() > 0,
                lambda: (
                    f"{si(model_bytes('fp8'), 'byte')} of "
                    f"{si(node_bytes('h200-sxm'), 'byte')}"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why=lambda: (
            f"There is room for {si(room_tokens(), 'token')}, each held by the four "
            "cards of its group; copies of attention and shared expert take some of it."
        ),
    ),
)
