"""What the extra launches of a small step decide: by how much two pools lead.

One engine with a small budget reads a prompt in several steps. If each of them pays the
extra launches of a step with a prompt, the small budget serves less than a large one;
if they are replayed from a record, it serves more, and two pools lead by little.
"""

from __future__ import annotations

from itertools import pairwise

from llmserve_lab.disaggregation.goodput import (
    CHUNKS,
    EXTRAS,
    HANDS,
    LOADS,
    POOLS,
    SMALLS,
    WHOLE,
    Demand,
    served_best,
)
from llmserve_lab.running_example import cost

SURE = 0.1  # a difference from which on the page draws a conclusion


def one_engine(limit_s: float, small: str = CHUNKS, load: Demand = LOADS[0]) -> float:
    """Goodput of one engine on each GPU with the better of large and small budget."""
    ways = (WHOLE, small)
    return max(_printed(way, limit_s, HANDS[0], load) for way in ways)


def _printed(way: str, limit_s: float, hand: str, load: Demand) -> float:
    """A goodput as the table prints it, so that a lead follows from the table."""
    return float(f"{served_best(way, limit_s, hand, load).per_s:.1f}")


def leads(
    limit_s: float, small: str = CHUNKS, load: Demand = LOADS[0]
) -> tuple[float, float]:
    """How much more two pools serve: with the worse hand-over, and with the better."""
    one = one_engine(limit_s, small, load)
    two = (_printed(POOLS, limit_s, hand, load) for hand in HANDS)
    low, high = sorted(each / one - 1 for each in two)
    return low, high


def turns_at_s(limit_s: float, lead: float) -> float:
    """Extra launches of a small step at which two pools lead by so much, in seconds.

    On straight lines between the shares that were simulated.

    Raises:
        ValueError: they lead by more with none, or by less with all of them.
    """
    paid = zip(SMALLS, EXTRAS, strict=True)
    found = [(leads(limit_s, small)[0], share) for small, share in paid]
    for (below, low), (above, high) in pairwise(found):
        if below <= lead < above:
            share = low + (high - low) * (lead - below) / (above - below)
            return share * cost().prompt_s
    raise ValueError(f"lead must be reached between none and all launches, got {lead}")
