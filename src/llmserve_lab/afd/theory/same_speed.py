"""The paper's example beside machines without a split, at the same speed.

A machine without a split keeps its rows to itself: it has no wire and waits for no
other. It is given as long for a request and layer as the split takes, and as many
requests as fill that time.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.checks import whole

CYCLE_S = 1e-6  # the paper's cycle, as the book writes it


@dataclass(frozen=True)
class SameSpeed:
    """Cycles of a layer for a request; tokens per cycle and machine, both ways."""

    turn: float
    split: float
    requests: float
    unsplit: float

    @property
    def gain(self) -> float:
        """How much more the split makes, at the same turn."""
        return self.split / self.unsplit - 1


def same_speed(
    n_batches: int,
    *,
    ratio: int = 8,
    equal: bool = True,
    price: float = 1.0,
    ffn_slower: float = 1.0,
) -> SameSpeed:
    """The paper's bundle and a machine without a split that is as slow for a request.

    An Attention machine costs ``price`` FFN machines. The machine without a split costs
    as much, too, and its rows take ``ffn_slower`` times as long. ``equal``: loads are,
    so that no machine is late. Tokens per cycle are per price of one FFN machine.

    Raises:
        ValueError: the split is faster than a machine without requests.
    """
    known = paper_setup.known()
    bundle, slot = paper_setup.made(1, n_batches=n_batches), paper_setup.law().slot()
    if equal:
        period = float(f.PIPELINE_S.at(known, **_of(slot.theta, ratio, n_batches)))
    else:
        period = float(corrected_model.period_s(bundle, slot, ratio))
    turn = n_batches * period
    fixed = bundle.attn.intercept + bundle.ffn.intercept
    if turn <= fixed:
        raise ValueError(f"a turn must take more than {fixed} s, got {turn} s")
    each = bundle.attn.slope * slot.theta + ffn_slower * bundle.ffn.slope
    requests = (turn - fixed) / each
    split = ratio * bundle.batch / (price * ratio + 1) / period
    cycles = turn / CYCLE_S
    return SameSpeed(cycles, split * CYCLE_S, requests, requests / cycles / price)


def wide_group(
    turn: float, n_machines: int, *, price: float = 1.0, ffn_slower: float = 1.0
) -> float:
    """Tokens per cycle of a wide group, for each machine and price of one.

    Each machine attends for its own requests and holds its share of the experts, so
    that it reads this share alone: all of the FFN's fixed cost is taken to be such
    reading, which favours the group. It works on one batch and waits for the wire, or
    on two halves of which one computes while the other travels, whichever is more.
    ``turn``: cycles of a layer for a request. The rest is as in :func:`same_speed`.

    Raises:
        ValueError: the fixed costs alone take as long as the turn.
    """
    whole(n_machines=n_machines)
    bundle, slot = paper_setup.made(1), paper_setup.law().slot()
    fixed = bundle.attn.intercept + bundle.ffn.intercept / n_machines
    each = bundle.attn.slope * slot.theta + ffn_slower * bundle.ffn.slope
    batches = (
        (turn * CYCLE_S - fixed - bundle.wire.intercept) / (each + bundle.wire.slope),
        (turn * CYCLE_S - 2 * fixed) / each,
    )
    if max(batches) <= 0:
        raise ValueError(f"turn must leave time for a request, got {turn} cycles")
    return max(batches) / turn / price


def _of(theta: float, ratio: int, n_batches: int) -> dict[str, float]:
    return {"slot_tokens": theta, "af_ratio": ratio, "n_batches": n_batches}
