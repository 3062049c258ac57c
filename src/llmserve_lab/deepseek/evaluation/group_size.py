"""Which group size? Tokens per second of a GPU, where every user keeps a target.

For each group the largest batch is taken that fits into memory and keeps the time per
output token (TPOT), in the faster of the two schedules; where even one request does not
fit, or is too slow, there is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from llmserve_lab.checks import positive
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.band import ErrorBand

WAYS: tuple[Overlap, ...] = ("halves", "none")


@dataclass(frozen=True, kw_only=True)
class ServedGroup:
    """A group of ``ep`` GPUs at its best: requests on a GPU, and its tokens per second.

    ``fits`` is how many requests fit into memory; ``halves`` whether it runs two
    batches in flight.
    """

    ep: int
    batch: int
    tokens_per_s: float
    fits: int
    halves: bool
    band: ErrorBand

    @property
    def full(self) -> bool:
        """Whether memory, and not the target, limits the batch."""
        return self.batch == self.fits


@cache
def served(
    accelerator: str, ep: int, *, context: float, tpot_s: float
) -> ServedGroup | None:
    """The best that a group can do within a target; None where nothing keeps it.

    Raises:
        ValueError: ``tpot_s`` is not positive.
    """
    positive("tpot_s", tpot_s)
    place = setup(accelerator, ep)
    found = []
    for overlap in WAYS:
        assumed = replace(book_assumptions(), overlap=overlap)
        twin = Twin(setup=place, assumptions=assumed)
        if twin.resident_bytes() >= twin.room_bytes():
            return None
        batch = twin.batch_at(1 / tpot_s, context=context, in_memory=True)
        if batch:
            rate = float(twin.gpu_tokens_per_s(batch=batch, context=context))
            fits = int(twin.batch_fits(context))
            found.append((rate, batch, fits, overlap == "halves"))
    if not found:
        return None
    rate, batch, fits, halves = max(found)
    at = DecodeSetting(accelerator=accelerator, ep=ep, batch=batch, context=context)
    return ServedGroup(
        ep=ep,
        batch=batch,
        tokens_per_s=rate,
        fits=fits,
        halves=halves,
        band=band("gpu_tokens_per_s", at),
    )
