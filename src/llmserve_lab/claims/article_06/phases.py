"""Article 06, section 3: what the article concludes from its two tables."""

from __future__ import annotations

from functools import partial

from llmserve_lab.claims.article_06.setting import (
    CHUNK,
    K,
    at,
    decode,
    prefill,
    setting,
)
from llmserve_lab.claims.article_06.tables import Row
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as f

FIRST, LAST = Row("decode", decode, 1), Row("decode", decode, 64)

in_section_3 = partial(Claim, section="§3")


def fall() -> float:
    """Decode intensity at 1 k over that at 64 k."""
    return FIRST.intensity() / LAST.intensity()


def cache_does_not_fit() -> bool:
    """Whether the cache of the last decode row alone is larger than the memory."""
    return LAST.kv_bytes() > setting()["hbm_bytes"]


def ends_below_the_ridge() -> bool:
    """Whether a chunk at a prefix of 1 M does too few FLOPs per byte, all counted."""
    return prefill(f.INTENSITY, K) < at(f.RIDGE)


def _last_prefix() -> str:
    full, ridge = prefill(f.INTENSITY, K), at(f.RIDGE)
    return f"{si(full, 'FLOP/byte', 4)}, {plain(full / ridge)}× the ridge"


def _why_memory() -> str:
    fits, total = LAST.of(f.BATCH_FITS), decode(f.ITERATION_BYTES, 4)
    return (
        f"Beside the weights, memory holds {plain(fits)} such requests; with decimal "
        f"units throughout, the row at 4 k is too large already ({si(total, 'byte')} "
        f"against {si(setting()['hbm_bytes'], 'byte')})."
    )


def _why_the_ridge() -> str:
    end = si(at(f.ATTN_INTENSITY, chunk=CHUNK), "FLOP/byte", 4)
    return (
        "The bytes of the cache are counted, the FLOPs of attention on them are not; a "
        "chunk does as many FLOPs with a cached byte as it has rows, so its intensity "
        f"tends to {end} and never comes down to the ridge."
    )


CLAIMS = (
    in_section_3(
        id="06-20",
        says="FLOPs of a decode step of 32 requests, the numerator of every row",
        parts=(Number("448 GFLOPs", "FLOP", lambda: decode(f.LINEAR_FLOPS)),),
        verdict=Ruling.EXACT,
        why=lambda: (
            "It stays put only while attention is left out, which at 64 k adds "
            f"{si(LAST.of(f.ATTN_FLOPS), 'FLOP')}."
        ),
    ),
    in_section_3(
        id="06-21",
        says="At 64 k the cache of the batch is larger than the memory of one H100",
        parts=(
            Statement(
                "does not fit",
                cache_does_not_fit,
                lambda: (
                    f"{si(LAST.kv_bytes(), 'byte')} against "
                    f"{si(setting()['hbm_bytes'], 'byte')}"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why=_why_memory,
    ),
    in_section_3(
        id="06-22",
        says="Decode intensity at 64 k, deep in the memory-bound regime",
        parts=(Number("≈ 0.4", "FLOP/byte", LAST.intensity),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "It rounds to the digit printed; with the FLOPs of attention counted it is "
            f"{si(LAST.of(f.INTENSITY), 'FLOP/byte')}, still far below the ridge."
        ),
    ),
    in_section_3(
        id="06-23",
        says="Decode intensity falls more than an order of magnitude, 1 k to 64 k",
        parts=(
            Number(
                "~15",
                "FLOP/byte",
                FIRST.intensity,
                label="from",
                readings={"GB plus GiB": FIRST.mixed_intensity},
            ),
            Number(
                "~0.4",
                "FLOP/byte",
                LAST.intensity,
                label="to",
            ),
            Number("> 10×", "dimensionless", fall, label="factor"),
        ),
        verdict=Ruling.INCONSISTENT,
        why="The fall is as said; its start mixes GB of weights and GiB of cache.",
    ),
    in_section_3(
        id="06-35",
        says="At a prefix of 1 M a prefill chunk drops below the ridge at last",
        parts=(Statement("below the ridge", ends_below_the_ridge, _last_prefix),),
        verdict=Ruling.WRONG,
        why=_why_the_ridge,
    ),
    in_section_3(
        id="06-36",
        says="A byte from memory serves a chunk of rows in prefill, one per request in "
        "decode",
        parts=(
            Number(
                "≈ 2000",
                "FLOP/byte",
                lambda: at(f.ATTN_INTENSITY, chunk=CHUNK),
                label="prefill",
            ),
            Number(
                "1",
                "FLOP/byte",
                lambda: at(f.ATTN_INTENSITY, chunk=1),
                label="decode",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="One digit is printed; a row does one FLOP with each byte of a multi-head "
        "cache in 16 bits, and a byte of weights serves the whole decode batch.",
    ),
)
