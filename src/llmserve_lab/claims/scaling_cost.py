"""The scaling chapter on disaggregation and on cost: a floor, and dollars per token."""

from __future__ import annotations

from functools import partial

from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.scaling import CONTEXT, batch_of
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.formula.text import plain

PER_HOUR = 3.0  # dollars, the chapter's example
BATCHED, STARVED = 2500.0, 250.0  # tokens per second, the chapter's example
LINK_BW = 200e9  # byte/s, the chapter's interconnect
HOUR_S = 3600
MILLION = 1e6

on_cost = partial(Claim, section="cost")


def per_million(tokens_per_s: float, *, per_hour: float = PER_HOUR) -> float:
    """Dollars for a million tokens."""
    price = per_hour / HOUR_S
    return MILLION * float(f.TOKEN_COST(gpu_price=price, tokens_per_s=tokens_per_s))


def floor_s() -> float:
    """Time to send the cache of one request of 8 k over the chapter's interconnect."""
    wire = {"link_bw": LINK_BW, "eff_link": 1.0}
    return float(f.TRANSFER_S(handoff_bytes=batch_of(1), **wire))


def cheap_loses(share: float) -> bool:
    """Whether a GPU at a fifth of the price is dearer per token at ``share`` speed."""
    cheap = per_million(share * BATCHED, per_hour=PER_HOUR / 5)
    return cheap > per_million(BATCHED)


CLAIMS = (
    on_cost(
        id="003-03",
        says="Dollars per million tokens, well batched and starved, and their ratio",
        parts=(
            Number("0.33", "dimensionless", lambda: per_million(BATCHED), label="$"),
            Number("3.33", "dimensionless", lambda: per_million(STARVED), label="$"),
            Number(
                "10×",
                "dimensionless",
                lambda: per_million(STARVED) / per_million(BATCHED),
                label="ratio",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Both are thirds, cut after two digits.",
    ),
    Claim(
        id="003-05",
        section="disaggregation",
        says="Least time to send the cache of one request of 8 k tokens",
        parts=(Number("13.4 ms", "s", floor_s),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            f"It rounds to the digits printed, for {CONTEXT} tokens and GiB kept apart "
            "from GB; sent layer by layer, most of it need not be seen."
        ),
    ),
    on_cost(
        id="003-15",
        says="A tenth of the tokens costs ten times as much for each",
        parts=(
            Number("≈ 3.33", "dimensionless", lambda: per_million(STARVED), label="$"),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="The GPU is paid for whether it works or waits.",
    ),
    Claim(
        id="003-23",
        section="FAQ",
        says="A GPU at a fifth of the price loses where it delivers less than a fifth",
        parts=(
            Statement(
                "less than one-fifth",
                lambda: cheap_loses(0.19) and not cheap_loses(0.21),
                lambda: (
                    f"${plain(per_million(0.19 * BATCHED, per_hour=PER_HOUR / 5))} "
                    f"against ${plain(per_million(BATCHED))} at 19 %"
                ),
            ),
        ),
        verdict=Ruling.EXACT,
        why="Only the ratio of price to speed counts, for a buyer of tokens alone.",
    ),
)
