"""The scaling chapter on context parallelism: what is cut, what goes round."""

from __future__ import annotations

from functools import cache, partial

from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.scaling import cache_shape, kv_bytes
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.collectives import Ledger
from llmserve_lab.parallelism.context import ContextTurn, MethodName, context_parallel
from llmserve_lab.parallelism.model import PROMPT, SMALL
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.shard import shape_of_share

MILLION, DEVICES, RANKS = 1_000_000, 4, 4
FLOAT = 8

on_context = partial(Claim, section="context parallelism")


def request_bytes() -> float:
    """Cache of one request of a million tokens in the chapter's model."""
    return kv_bytes(batch=1, context=MILLION, **cache_shape())


def layers_of_a_rank() -> int:
    """Layers that one of two tensor-parallel ranks holds some of."""
    return shape_of_share(SMALL, 2).n_layers


def each_layer_is_cut() -> bool:
    """Whether it holds half of the heads of attention in each."""
    return 2 * shape_of_share(SMALL, 2).attention.n_heads == SMALL.attention.n_heads


@cache
def ring(method: MethodName = "pass-KV") -> Ledger:
    """A prompt on a ring of ranks, as it was exchanged."""
    turns = [ContextTurn(PROMPT, method=method)]
    return context_parallel(Transformer(SMALL), turns, RANKS).ledger


def keys_and_values_passed() -> float:
    """Share of what was passed on that was blocks of keys and values, whole."""
    held = SMALL.kv_bytes_per_token(FLOAT) * len(PROMPT) * (RANKS - 1)
    return held / ring().sent_bytes()


def results_travel(method: MethodName) -> bool:
    """Whether what a rank has attended is sent to another rank."""
    return ring(method).calls("all_to_all", rank=0) > 0


CLAIMS = (
    on_context(
        id="003-07",
        says="Cache of one request of a million tokens, and on each of four devices",
        parts=(
            Number("305.2 GiB", "byte", request_bytes, label="in all"),
            Number("76.3 GiB", "byte", lambda: request_bytes() / DEVICES, label="each"),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Both round to the digits printed, GiB kept apart from GB.",
    ),
    on_context(
        id="003-20",
        says="Tensor parallelism splits layers",
        parts=(
            Statement(
                "splitting layers",
                lambda: layers_of_a_rank() < SMALL.n_layers,
                lambda: (
                    f"one of two ranks has {layers_of_a_rank()} of "
                    f"{SMALL.n_layers} layers, a part of each"
                ),
                cases={"each layer is split": each_layer_is_cut},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It cuts the matrices inside every layer, as the chapter says further on; "
        "it is pipeline parallelism that deals layers out.",
    ),
    on_context(
        id="003-21",
        says="In a ring GPUs pass partial attention results to their neighbours",
        parts=(
            Statement(
                "passing partial attention results",
                lambda: results_travel("pass-KV"),
                lambda: (
                    f"{keys_and_values_passed():.0%} of the bytes that went round "
                    "were keys and values"
                ),
                cases={"queries go round": lambda: results_travel("pass-Q")},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="In the paper that it cites blocks of keys and values go round, and each "
        "rank merges what it has attended where it is; partial results are sent in "
        "the variant in which the queries go round.",
    ),
)
