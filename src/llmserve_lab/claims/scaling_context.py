"""The scaling chapter on context parallelism: what is cut, what goes round."""

from __future__ import annotations

from functools import cache, partial

from llmserve_lab.claims.record import Claim, Number, Statement
from llmserve_lab.claims.scaling import kv_bytes
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.cluster import Ledger
from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.model import PROMPT, SMALL
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.shard import shape_of_share

GIB = 2**30
DEVICES, RANKS = 4, 4
EXAMPLE = {"n_layers": 80, "n_kv_heads": 8, "d_head": 128, "bytes_kv": 2}
FLOAT = 8

on_context = partial(Claim, section="context parallelism")


def prompt_gib() -> float:
    """GiB of cache of a million tokens of the chapter's model."""
    return kv_bytes(batch=1, context=1_000_000, **EXAMPLE) / GIB


def layers_of_a_rank() -> int:
    """Layers that one of two tensor-parallel ranks holds some of."""
    return shape_of_share(SMALL, 2).n_layers


@cache
def ring() -> Ledger:
    """A prompt on a ring of ranks, as it was exchanged."""
    turns = [ContextTurn(PROMPT)]
    return context_parallel(Transformer(SMALL), turns, RANKS).ledger


def keys_and_values_passed() -> float:
    """Share of what was passed on that was blocks of keys and values, whole."""
    held = SMALL.kv_bytes_per_token(FLOAT) * len(PROMPT) * (RANKS - 1)
    return held / ring().sent_bytes()


CLAIMS = (
    on_context(
        id="003-07",
        says="GiB of keys and values of a million tokens, in all and on each of four "
        "devices",
        parts=(
            Number("305.2", "dimensionless", prompt_gib, label="in all"),
            Number(
                "76.3", "dimensionless", lambda: prompt_gib() / DEVICES, label="each"
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Both round to the digits printed.",
    ),
    on_context(
        id="003-20",
        says="Tensor parallelism splits layers",
        parts=(
            Statement(
                "Instead of splitting layers (tensor parallelism)",
                lambda: layers_of_a_rank() < SMALL.n_layers,
                lambda: (
                    f"one of two ranks has {layers_of_a_rank()} of "
                    f"{SMALL.n_layers} layers, a part of each"
                ),
            ),
        ),
        verdict=Ruling.WRONG,
        why="Tensor parallelism cuts the matrices inside every layer; it is pipeline "
        "parallelism that deals layers out.",
    ),
    on_context(
        id="003-21",
        says="In a ring GPUs pass partial attention results to their neighbours",
        parts=(
            Statement(
                "passing partial attention results to their neighbors",
                lambda: keys_and_values_passed() < 1,
                lambda: (
                    f"{keys_and_values_passed():.0%} of the bytes that went round "
                    "were keys and values"
                ),
            ),
        ),
        verdict=Ruling.WRONG,
        why="Blocks of keys and values go round (or the queries); each rank keeps what "
        "it has attended and merges it where it is.",
    ),
)
