"""Article 06, section 1: the ridge, and the memory hierarchy under it."""

from __future__ import annotations

from functools import partial
from math import log10

from llmserve_lab.claims.article_06.setting import H100, at
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.counted import COUNTS
from llmserve_lab.claims.parts import Number, Size
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as f

LEVELS = {level.name: level for level in H100.memory_levels}
SMS = H100.compute_array.num_sms if H100.compute_array else None

in_section_1 = partial(Claim, section="§1")


def orders(of: str, top: str = "registers") -> float:
    """Orders of magnitude between a level of the whole chip and HBM."""
    ends = (float(getattr(LEVELS[name], of)) for name in (top, "HBM"))
    return abs(log10(next(ends)) - log10(next(ends)))


def _hierarchy_reason() -> str:
    registers, shared = LEVELS["registers"].bandwidth, LEVELS["shared memory"].bandwidth
    ratio = [
        plain(10 ** orders("bandwidth", top), 2)
        for top in ("registers", "shared memory")
    ]
    return (
        "The capacities are that far apart, all SMs of the chip taken together; the "
        "bandwidths are not: registers, at an estimated "
        f"{si(registers.value, 'byte/s', 2)}, are {ratio[0]}× as fast as HBM, and "
        f"shared memory, at {si(shared.value, 'byte/s', 2)}, {ratio[1]}×."
    )


CLAIMS = (
    in_section_1(
        id="06-02",
        says="Ridge point of the H100, defined as peak compute over peak bandwidth",
        parts=(
            Number(
                "≈ 150 FLOPs/byte",
                "FLOP/byte",
                lambda: at(f.RIDGE, eff_compute=1),
                readings={
                    "sustained compute over peak bandwidth": lambda: at(f.RIDGE),
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why=lambda: (
            "The definition asks for the peak of both; the number divides a sustained "
            f"compute rate by the peak bandwidth ({si(at(f.RIDGE), 'FLOP/byte')}), and "
            "halves the ridge."
        ),
    ),
    in_section_1(
        id="06-49",
        says="Orders of magnitude between the ends of the memory hierarchy",
        parts=(
            Number(
                "3–4 orders",
                "dimensionless",
                lambda: orders("bytes"),
                label="capacity:",
            ),
            Number(
                "3–4 orders",
                "dimensionless",
                lambda: orders("bandwidth"),
                label="speed:",
            ),
        ),
        verdict=Ruling.WRONG,
        why=_hierarchy_reason,
    ),
    in_section_1(
        id="06-50",
        says="Bandwidth of the shared memories of all SMs together",
        parts=(
            Number(
                "~30 TB/s",
                "byte/s",
                lambda: float(LEVELS["shared memory"].bandwidth),
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            f"Summed over the chip at its tensor-core clock: "
            f"{LEVELS['shared memory'].bandwidth.note}."
        ),
    ),
    in_section_1(
        id="06-51",
        says="Number of the last SM in the drawing, counted from zero",
        parts=(Number("131", "dimensionless", lambda: float(SMS or 0) - 1),),
        verdict=Ruling.EXACT,
        why="An H100 SXM has as many SMs as the whitepaper counts; a full die has "
        "more.",
    ),
    Claim(
        id="06-52",
        section="all",
        says="Two editions in circulation are one and the same article",
        parts=(
            Size(
                "one and the same",
                lambda: float(COUNTS["words of article 06"].found),
                lambda: float(COUNTS["words in both editions"].found),
                label="words of one that are in the other:",
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="Counted in both texts, words of four letters or more; the others are "
        "words that a conversion glued together, and the words inside the figures "
        "are in one edition only.",
    ),
)
