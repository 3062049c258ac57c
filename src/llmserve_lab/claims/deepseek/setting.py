"""What the paper speaks of: DeepSeek-V3, one byte a parameter, on three setups."""

from __future__ import annotations

from collections.abc import Callable

from llmserve_lab.catalog import MODELS
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Recompute, Size, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.deepseek.model.setup import ATTENTION, SETUPS, Setup

EXACT, ROUNDED = Ruling.EXACT, Ruling.WITHIN_ROUNDING
MIXED, WRONG = Ruling.INCONSISTENT, Ruling.WRONG
V3, KIMI = MODELS["deepseek-v3"], MODELS["kimi-k2"]
SMALL, PLACE, RACK = (
    SETUPS[name] for name in ("4 × 8 H100", "9 × 8 H100", "12 × 4 GB200")
)
PLAIN = "The shapes of the public configuration give it."


def number(
    id: str,
    section: str,
    says: str,
    printed: str,
    unit: str,
    value: Recompute,
    verdict: Ruling = ROUNDED,
    why: str | Callable[[], str] = PLAIN,
    elsewhere: str = "",
    **readings: Recompute,
) -> Claim:
    """A claim of one number; a reading is named with underscores for spaces."""
    named = {name.replace("_", " "): found for name, found in readings.items()}
    part = Number(printed, unit, value, readings=named, elsewhere=elsewhere)
    return Claim(id, section, says, (part,), verdict, why)


def size(
    id: str,
    section: str,
    says: str,
    part: Size,
    verdict: Ruling,
    why: str | Callable[[], str],
) -> Claim:
    """A claim of one size."""
    return Claim(id, section, says, (part,), verdict, why)


def statement(
    id: str,
    section: str,
    says: str,
    printed: str,
    holds: Callable[[], bool],
    shown: Callable[[], str],
    verdict: Ruling,
    why: str | Callable[[], str],
    *,
    limit: str = "",
    by_definition: bool = False,
) -> Claim:
    """A claim in words."""
    part = Statement(printed, holds, shown, limit=limit)
    return Claim(id, section, says, (part,), verdict, why, by_definition)


def untold(id: str, section: str, says: str, why: str) -> Claim:
    """A claim with nothing to compute."""
    return Claim(id, section, says, (), Ruling.CANNOT_BE_CHECKED, why)


def place(key: str = "9 × 8 H100") -> Setup:
    """One of the paper's setups."""
    return SETUPS[key]


def attention_bytes() -> float:
    """Weights of attention in all layers, norms left out, one byte each."""
    found = V3.tensors()
    matrices = [each for each in found if len(each.shape) == 2]
    return float(sum(e.params for e in matrices if e.name.startswith(ATTENTION)))


def expert_bytes() -> float:
    """One expert of one layer."""
    return PLACE.params("experts.") / PLACE.experts.n_experts / moe_layers()


def all_expert_bytes() -> float:
    """All experts of all layers, shared ones too."""
    return float(PLACE.params("experts.", "shared_experts."))


def moe_layers() -> int:
    """Layers that have experts."""
    return V3.n_layers - PLACE.experts.n_dense_layers
