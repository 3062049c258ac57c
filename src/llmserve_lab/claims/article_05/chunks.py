"""Article 05, sections 4 to 6: what chunks change, cost and promise."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from llmserve_lab.claims.article_05.setting import (
    BUDGET_S,
    CHUNK,
    LONG,
    at,
    chunk_s,
    decode_s,
    prompt_pairs,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.chunks import Prefill, pieces, prefill
from llmserve_lab.continuous_batching.piggyback import Part, packing
from llmserve_lab.formula.text import plain, si
from llmserve_lab.transformer import ORDERED, Transformer, tile_reads, tiny_shape

in_section_4 = partial(Claim, section="§4")
in_section_5 = partial(Claim, section="§5")
in_section_6 = partial(Claim, section="§6")
WHOLE = 49 * CHUNK  # a prompt of whole chunks, near the article's 100 k
TILE = 128  # rows of queries that a kernel works off together
RIDING = (
    Part(name="E", rows=1024, context=7 * 1024),
    Part(name="A", context=1499),
    Part(name="B", context=1699),
    Part(name="C", context=1099),
)


@cache
def executed(chunk: int) -> Prefill:
    """A short prompt through a small transformer, in chunks."""
    tokens = np.arange(12)
    return prefill(Transformer(tiny_shape()), tokens, chunk=chunk, run=ORDERED)


def same_work() -> bool:
    """Whether chunks do the FLOPs of one pass, and see the same pairs."""
    whole, parts = executed(12), executed(5)
    return (
        whole.meter.linear_flops == parts.meter.linear_flops
        and whole.useful_pairs == parts.useful_pairs
    )


def as_many_as_said() -> bool:
    """Whether a prompt falls into so many chunks, over a range of both."""
    return all(
        len(pieces(np.arange(s), c)) == f.NUM_CHUNKS(prompt_len=s, chunk=c)
        for s in (1, 7, 64, 100)
        for c in (1, 3, 64, 200)
    )


def reread() -> float:
    """Cached tokens read again for the long prompt."""
    return at(f.REREAD_TOKENS, prompt_len=LONG, chunk=CHUNK)


def longest_iteration_s() -> float:
    """The last full chunk of the long prompt, with the decodes."""
    last = at(f.LAST_PREFIX, prompt_len=LONG, chunk=CHUNK)
    return chunk_s(CHUNK, last - CHUNK)


def needed() -> float:
    """Iterations that the long prompt needs if each keeps the target."""
    return float(np.ceil(at(f.NUM_ITERATIONS, prompt_len=LONG, tbt_target=BUDGET_S)))


def _lands() -> str:
    first, last = chunk_s(CHUNK, 0), longest_iteration_s()
    return f"{si(first, 's')} at the first chunk, {si(last, 's')} at the last full one"


def _keys() -> str:
    whole = tile_reads(prompt_len=LONG, chunk=LONG, tile=TILE)
    return f"each key {plain(whole / LONG)} times, in tiles of {TILE} queries"


CLAIMS = (
    in_section_4(
        id="05-40",
        says="A prompt becomes as many iterations as chunks, rounded up",
        parts=(Statement("⌈N/C⌉", as_many_as_said, lambda: "counted for 16 pairs"),),
        verdict=Ruling.EXACT,
        why="Counted by cutting prompts.",
    ),
    in_section_4(
        id="05-50",
        says="Decode is a prefill in chunks of one row",
        parts=(
            Statement(
                "C = 1",
                lambda: np.array_equal(executed(1).logits, executed(12).logits),
                lambda: "same logits, bit for bit, one row a pass",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Run on a transformer with the order of its sums fixed.",
    ),
    in_section_5(
        id="05-41",
        says="Keys that chunk 7 of a prompt sees, in chunks of 1024",
        parts=(
            Number(
                "8192",
                "token",
                lambda: float(pieces(np.arange(50 * 1024), 1024)[7][-1] + 1),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Counted from chunk 0, as section 4 does; the seventh chunk sees fewer.",
    ),
    in_section_5(
        id="05-42",
        says="Rows of an iteration of one chunk and three decodes",
        parts=(Number("1027", "token", lambda: float(packing(RIDING).n_rows)),),
        verdict=Ruling.EXACT,
        why="Counted on the stack that the transformer is given.",
    ),
    in_section_5(
        id="05-43",
        says="Within 50 ms and 2048 rows, a prompt of 100 k takes so many iterations",
        parts=(
            Number(
                "≈ 49",
                "dimensionless",
                lambda: at(f.NUM_CHUNKS, prompt_len=LONG, chunk=CHUNK),
                label="of 2048 rows",
            ),
            Statement("≤ 50 ms", lambda: chunk_s(CHUNK, 0) <= BUDGET_S, _lands),
        ),
        verdict=Ruling.WRONG,
        why=lambda: (
            "The rows keep to their budget and the time does not; a chunk that does "
            f"shrinks as the prompt goes on, and it takes {plain(needed())} iterations."
        ),
    ),
    in_section_5(
        id="05-44",
        says="Longest over shortest iteration once prompts are cut",
        parts=(
            Number("2–3×", "dimensionless", lambda: longest_iteration_s() / decode_s()),
        ),
        verdict=Ruling.WRONG,
        why=lambda: (
            "An iteration without a chunk is short, and the last full chunk of a long "
            "prompt is "
            f"{plain(longest_iteration_s() / chunk_s(CHUNK, 0))} times as long as the "
            "first."
        ),
    ),
    in_section_6(
        id="05-45",
        says="The pairs C · (k+1)C of all chunks add up to half the square of N",
        parts=(
            Size(
                "N²/2",
                lambda: WHOLE**2 / 2,
                lambda: at(f.PROMPT_BLOCK_PAIRS, prompt_len=WHOLE, chunk=CHUNK),
                unit="pair",
                exactly=True,
                readings={"causal pairs only": lambda: prompt_pairs(WHOLE)},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="The sum counts whole blocks, N(N + C)/2; what the causal mask leaves of "
        "them is N(N + 1)/2 for any chunk.",
    ),
    in_section_6(
        id="05-46",
        says="Rows of cache that the chunks of a prompt read in all",
        parts=(
            Size(
                "≈ N²/(2C)",
                lambda: LONG**2 / (2 * CHUNK),
                reread,
                unit="token",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="The leading term; exactly it is C n(n − 1)/2 with n chunks.",
    ),
    in_section_6(
        id="05-47",
        says="Cache read in chunks over the prompt read once, for 100 k and 2048",
        parts=(Number("~25×", "dimensionless", lambda: (reread() + LONG) / LONG),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "If a chunk's own keys are counted too; reading it all takes "
            f"{si(at(f.PROMPT_KV_S, prompt_len=LONG, chunk=CHUNK), 's')}, hidden "
            "behind the arithmetic."
        ),
    ),
    in_section_6(
        id="05-48",
        says="A prefill in one pass streams the cache through tiles exactly once",
        parts=(
            Statement(
                "once",
                lambda: tile_reads(prompt_len=LONG, chunk=LONG, tile=TILE) == LONG,
                _keys,
            ),
        ),
        verdict=Ruling.WRONG,
        why="Every tile of queries fetches all keys before it; a prompt cut between "
        "tiles fetches not one more.",
    ),
    in_section_6(
        id="05-49",
        says="Chunks change when the work is done, not how much there is",
        parts=(
            Statement(
                "preserved", same_work, lambda: "FLOPs and pairs counted in a run"
            ),
        ),
        verdict=Ruling.EXACT,
        why="FLOPs are; bytes are not, the weights are read for every chunk.",
    ),
)
