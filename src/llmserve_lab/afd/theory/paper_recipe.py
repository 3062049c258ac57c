"""The practical recipe: three numbers, the largest wins, and then whole machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmserve_lab.afd import formulas as f
from llmserve_lab.checks import whole_number
from llmserve_lab.notation import quantity
from llmserve_lab.page.table import Table

MOST_FFN = 1_024
REGIMES = {
    "ratio_attn": "Attention",
    "ratio_comm": "communication",
    "ratio_peak": "FFN",
}


@dataclass(frozen=True)
class Advice:
    """What the paper's recipe answers: three ratios, the largest, what it pays.

    ``limits`` names the regime whose ratio won; ``tokens_per_s`` is per instance.
    """

    ratio_attn: float
    ratio_comm: float
    ratio_peak: float
    best: float
    limits: str
    tokens_per_s: float

    def table(self) -> Table:
        """The advice, line by line."""
        rows = [
            ("Attention and FFN balance, r_A", f"{self.ratio_attn:.2f}"),
            ("wire and FFN balance, r_C", f"{self.ratio_comm:.2f}"),
            ("FFN alone, r_peak", f"{self.ratio_peak:.2f}"),
            ("best, r*", f"{self.best:.2f}"),
        ]
        caption = f"The paper's recipe: {self.limits} decides"
        return Table(caption, ("ratio", "value"), rows)


def recipe(known: Mapping[str, float]) -> Advice:
    """Steps 1 to 3 of the paper, from coefficients, batch, mean prompt and answer.

    ``known`` holds ``a_attn`` … ``b_comm``, ``batch``, and ``slot_tokens`` or the means
    that it is made of, by code name.

    Raises:
        TypeError: something is missing.
        ValueError: a coefficient or a mean is out of its range.
    """
    for name, value in known.items():
        quantity(name).checked(value)
    known = with_slot_tokens(known)
    found = {
        formula.name: float(formula.at(known))
        for formula in (f.RATIO_ATTN, f.RATIO_COMM, f.RATIO_PEAK)
    }
    return Advice(
        **found,
        best=float(f.RATIO_BEST.at(known)),
        limits=REGIMES[max(found, key=lambda name: found[name])],
        tokens_per_s=float(f.BEST_TOKENS_PER_S.at(known)),
    )


def with_slot_tokens(known: Mapping[str, float]) -> dict[str, float]:
    """``known`` with θ by ``slot_tokens-geometric``, if it is not there."""
    if "slot_tokens" in known:
        return dict(known)
    return {**known, "slot_tokens": float(f.SLOT_TOKENS_GEOMETRIC.at(known))}


@dataclass(frozen=True)
class Pair:
    """x Attention and y FFN instances, and the share of the best throughput lost."""

    n_attn: int
    n_ffn: int
    loss: float

    def __str__(self) -> str:
        return f"{self.n_attn}A–{self.n_ffn}F"


def pairs(known: Mapping[str, float], *, most_ffn: int = 8) -> list[Pair]:
    """The best bundle for each number of FFN instances that improves on fewer.

    Raises:
        ValueError: ``most_ffn`` is below 1.
    """
    whole_number("most_ffn", most_ffn, of="instance", most=MOST_FFN)
    known, kept = with_slot_tokens(known), list[Pair]()
    advice = recipe(known)
    for n_ffn in range(1, most_ffn + 1):
        whole = {max(1, int(advice.best * n_ffn) + up) for up in (0, 1)}
        made = [_pair(known, x, n_ffn, advice.tokens_per_s) for x in whole]
        best = min(made, key=lambda pair: pair.loss)
        if not kept or best.loss < kept[-1].loss:
            kept.append(best)
    return kept


def _pair(known: Mapping[str, float], x: int, y: int, most_per_s: float) -> Pair:
    reached = float(f.INSTANCE_TOKENS_PER_S.at(known, af_ratio=x / y))
    return Pair(x, y, 1 - reached / most_per_s)
