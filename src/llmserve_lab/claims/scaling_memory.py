"""The scaling chapter on memory: blocks, bytes of weights, and how many fit."""

from __future__ import annotations

from functools import cache, partial
from math import floor

from llmserve_lab.catalog import ARTICLE_PARAMS, PRECISIONS
from llmserve_lab.checks import whole
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number
from llmserve_lab.claims.scaling import kv_bytes
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.paged_cache import PagedAllocator
from llmserve_lab.roofline import formulas as f

MAX_CONTEXT, BLOCK = 4096, 16  # tokens, the chapter's example
SHORT, LONG = 100, 3000  # tokens of its two requests
GIB = 2**30
FOR_CACHE, FOR_THE_REST = 60 * GIB, 20 * GIB
ROUNDED = 0.22 * GIB  # the exercise's own rounding of a conversation
EXERCISE = {"n_layers": 28, "n_kv_heads": 4, "d_head": 128, "bytes_kv": 2}

on_blocks = partial(Claim, section="PagedAttention")
on_practice = partial(Claim, section="practice")


@cache
def slots(*prompts: int, block_tokens: int) -> float:
    """Tokens' worth of blocks that the allocator has given when it holds all."""
    paged = PagedAllocator(1000, block_tokens, prefix_caching=False)
    for number, prompt in enumerate(prompts):
        paged.admit(number, [number] * prompt)
    return float((1000 - paged.pool.num_free) * block_tokens)


def paged() -> float:
    """Both requests in blocks."""
    return slots(SHORT, LONG, block_tokens=BLOCK)


def wasted(tokens: int) -> float:
    """Slots of one reservation of the whole context that stay empty, in per cent."""
    whole(of="token", most=MAX_CONTEXT, tokens=tokens)
    return 100 * (1 - tokens / slots(tokens, block_tokens=MAX_CONTEXT))


def weights(precision: str) -> float:
    """Bytes of seven billion weights."""
    bytes_weight = PRECISIONS[precision].bytes_weight
    return float(f.WEIGHT_BYTES(params_read=ARTICLE_PARAMS, bytes_weight=bytes_weight))


def request_bytes() -> float:
    """Bytes of cache of one conversation of the exercise."""
    return kv_bytes(batch=1, context=MAX_CONTEXT, **EXERCISE)


def room(each_bytes: float) -> float:
    """How many conversations of so many bytes the room beside all the rest is worth."""
    hbm = {"hbm_bytes": FOR_CACHE + FOR_THE_REST, "stored_bytes": FOR_THE_REST}
    one = {"kv_bytes_per_token": each_bytes / MAX_CONTEXT, "context": MAX_CONTEXT}
    return float(f.BATCH_FITS(**hbm, **one))


CLAIMS = (
    on_blocks(
        id="003-06",
        says="Slots of cache for requests of 100 and 3,000 tokens, reserved and in "
        "blocks, and what blocks leave empty",
        parts=(
            Number(
                "8192",
                "dimensionless",
                lambda: slots(SHORT, LONG, block_tokens=MAX_CONTEXT),
                label="reserved",
            ),
            Number("3120", "dimensionless", paged, label="in blocks"),
            Number(
                "20", "dimensionless", lambda: paged() - SHORT - LONG, label="empty"
            ),
        ),
        verdict=Ruling.EXACT,
        why="Counted by the allocator, which has given that many blocks.",
    ),
    on_blocks(
        id="003-13",
        says="Per cent of 4,096 reserved slots that 100 tokens leave empty",
        parts=(
            Number(
                "97.5",
                "dimensionless",
                lambda: wasted(SHORT),
                readings={"cut, not rounded": lambda: floor(10 * wasted(SHORT)) / 10},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It is cut after three digits where the row below it is rounded.",
    ),
    on_blocks(
        id="003-14",
        says="The same for 3,000 tokens",
        parts=(Number("26.8", "dimensionless", lambda: wasted(LONG)),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed.",
    ),
    Claim(
        id="003-09",
        section="quantization",
        says="Bytes of seven billion weights in three precisions, and the last of them "
        "against the first",
        parts=(
            Number("14.0 GB", "byte", lambda: weights("fp16"), label="FP16"),
            Number("7.0 GB", "byte", lambda: weights("int8"), label="INT8"),
            Number("3.5 GB", "byte", lambda: weights("int4"), label="INT4"),
            Number(
                "0.25×",
                "dimensionless",
                lambda: weights("int4") / weights("fp16"),
                label="ratio",
            ),
        ),
        verdict=Ruling.EXACT,
        why="Scales of the quantized groups, which add a few per cent, are left out.",
    ),
    on_practice(
        id="003-11",
        says="Bytes of cache of one conversation of 4,096 tokens, in 28 layers of four "
        "KV heads",
        parts=(
            Number("234881024", "byte", request_bytes),
            Number("0.22 GiB", "byte", request_bytes),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="The bytes are exact, and two digits of them are enough to read.",
    ),
    on_practice(
        id="003-10",
        says="The same in GiB, and how many fit in 60 GiB",
        parts=(
            Number("0.21875 GiB", "byte", request_bytes),
            Number("274", "dimensionless", lambda: room(request_bytes()) // 1),
        ),
        verdict=Ruling.EXACT,
        why="What is left is room for a part of one more.",
    ),
    on_practice(
        id="003-12",
        says="How many fit at 0.22 GiB each",
        parts=(Number("≈ 273", "dimensionless", lambda: room(ROUNDED)),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="The text calls it a ballpark; of the last one only a part fits.",
    ),
)
