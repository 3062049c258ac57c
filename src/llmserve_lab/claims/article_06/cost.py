"""Article 06, section 2: the cost of an iteration, the crossover, and both limits."""

from __future__ import annotations

import math
from functools import partial

from llmserve_lab.claims.article_06.setting import (
    BATCH,
    CHUNK,
    LLAMA,
    K,
    at,
    decode,
    kib_as_kb,
    prefill,
    setting,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as f

FAR = 64  # thousands of tokens, past the crossover

in_section_2 = partial(Claim, section="§2")


def smallest_batch(**machine: float) -> float:
    """First whole batch, one row a request, that reaches the ridge."""
    return float(math.ceil(at(f.RIDGE_ROWS, **machine)))


def crossover_of_512_000_bytes() -> float:
    """Crossover context if a token's KiB were KB, in tokens per request."""
    kappa = kib_as_kb(setting()["kv_bytes_per_token"])
    return at(f.CROSSOVER_CONTEXT, batch=BATCH, kv_bytes_per_token=kappa)


def batch_cancels() -> bool:
    """Whether the long-context limit is FLOPs over KV bytes of one lone token."""
    far = 64 * K
    alone = at(f.LINEAR_FLOPS, batch=1, chunk=1) / at(
        f.KV_READ_BYTES, batch=1, context=far
    )
    names = {item.name for item in f.LONG_INTENSITY.arguments}
    same = math.isclose(at(f.LONG_INTENSITY, chunk=1, context=far), alone)
    return same and "batch" not in names


def rows_do_not_meet() -> bool:
    """Whether the linear layers cost a chunk what they cost its rows one by one."""
    one_by_one = CHUNK * at(f.LINEAR_FLOPS, batch=1, chunk=1)
    return math.isclose(prefill(f.LINEAR_FLOPS), one_by_one)


def attention_share(thousands: float) -> float:
    """FLOPs of attention over those of the linear layers, for one chunk."""
    return prefill(f.ATTN_FLOPS, thousands) / prefill(f.LINEAR_FLOPS)


CLAIMS = (
    in_section_2(
        id="06-01",
        says="Bytes of Llama-2-7B's weights, two for each of seven billion parameters",
        parts=(Number("14 GB", "byte", lambda: at(f.WEIGHT_BYTES)),),
        verdict=Ruling.EXACT,
        why=lambda: (
            "For the round parameter count; the model's shapes hold "
            f"{plain(LLAMA.params_total / 1e9)} billion, "
            f"{si(at(f.WEIGHT_BYTES, params_read=LLAMA.params_total), 'byte')}."
        ),
    ),
    in_section_2(
        id="06-04",
        says="Cached tokens in the whole batch whose KV bytes equal the weight bytes",
        parts=(Number("≈ 27 k", "token", lambda: at(f.CROSSOVER_TOKENS)),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Two digits are printed.",
    ),
    in_section_2(
        id="06-05",
        says="Context at which a decode batch of 32 reads as many KV as weight bytes",
        parts=(
            Number(
                "≈ 850",
                "token/request",
                lambda: at(f.CROSSOVER_CONTEXT, batch=BATCH),
                readings={"a KB of 1000 bytes": crossover_of_512_000_bytes},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why=lambda: (
            f"It takes a KB of 1000 bytes to get there "
            f"({plain(crossover_of_512_000_bytes())}); the KB of the article's own "
            "product has 1024."
        ),
    ),
    in_section_2(
        id="06-06",
        says="Intensity of a prefill chunk of 2 k rows with nothing in the cache",
        parts=(Number("≈ 2000", "FLOP/byte", lambda: prefill(f.SHORT_INTENSITY)),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="One digit is printed; at two bytes a parameter it is the number of rows.",
    ),
    in_section_2(
        id="06-07",
        says="Smallest decode batch that reaches the ridge with nothing in the cache",
        parts=(Number("150", "request", smallest_batch),),
        verdict=Ruling.EXACT,
        why=lambda: (
            "For the article's ridge; at the datasheet's peak compute it takes "
            f"{plain(smallest_batch(eff_compute=1))}."
        ),
    ),
    in_section_2(
        id="06-37",
        says="Decode intensity far past the crossover, where the batch cancels",
        parts=(
            Statement("without B", batch_cancels, lambda: "a limit without B"),
            Size(
                "≈ 2Π/(K_tok·L)",
                lambda: decode(f.LONG_INTENSITY, FAR),
                lambda: decode(f.LINEAR_INTENSITY, FAR),
                unit="FLOP/byte",
                label=f"at {FAR} k:",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "It is the leading term of the article's own formula; with the FLOPs of "
            "attention counted, decode does not go on falling but levels off at "
            f"{si(at(f.ATTN_INTENSITY, chunk=1), 'FLOP/byte')} "
            f"({si(decode(f.INTENSITY, 64), 'FLOP/byte')} at 64 k)."
        ),
    ),
    in_section_2(
        id="06-53",
        says="An iteration of T tokens costs 2Π·T FLOPs; rows do not meet in linear "
        "layers",
        parts=(
            Statement(
                "rows do not meet",
                rows_do_not_meet,
                lambda: "a chunk costs what its rows cost one by one",
            ),
            Size(
                "2Π·T",
                lambda: prefill(f.LINEAR_FLOPS, FAR),
                lambda: prefill(f.ITERATION_FLOPS, FAR),
                unit="FLOP",
                label=f"a chunk at a prefix of {FAR} k:",
                readings={"linear layers only": lambda: prefill(f.LINEAR_FLOPS, FAR)},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why=lambda: (
            "True of the linear layers; attention, which the article leaves out of the "
            f"FLOPs of an iteration, adds {plain(100 * attention_share(0), 2)} % to a "
            "chunk on an empty cache; at a prefix of 64 k it is "
            f"{plain(attention_share(64), 2)} times the linear layers."
        ),
    ),
)
