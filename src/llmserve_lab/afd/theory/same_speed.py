"""The paper's example beside machines without a split, at the same speed.

A machine without a split keeps its rows to itself: it has no wire and waits for no
other. It is given as long for a request and layer as the split takes, and as many
requests as fill that time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.coupled import slowest_of
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import whole
from llmserve_lab.deepseek.model.setup import DEEPSEEK
from llmserve_lab.moe.formulas import ROW_COPIES

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
    one_port: bool = False,
) -> SameSpeed:
    """The paper's bundle and a machine without a split that is as slow for a request.

    An Attention machine costs ``price`` FFN machines. The machine without a split costs
    as much, too, and its rows take ``ffn_slower`` times as long. ``equal``: loads are,
    so that no machine is late. Tokens per cycle are per price of one FFN machine. The
    FFN machine has ports for all its Attention machines, or ``one_port`` that the rows
    of all of them pass; unequal loads have the former.

    Raises:
        ValueError: the split is faster than a machine without requests.
    """
    known = paper_setup.known()
    bundle, slot = paper_setup.made(1, n_batches=n_batches), paper_setup.law().slot()
    if equal:
        if one_port:
            known |= {"a_comm": ratio * known["a_comm"]}
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


@dataclass(frozen=True)
class WideGroup:
    """A wide group in two halves, in cycles, and its tokens per cycle and machine.

    ``copies``: of each row, that leave its machine. ``way``: of a half's rows on the
    wire, one way; ``ffn``: of the other half's FFN; ``fixed``: of a half's two phases.
    """

    copies: float
    way: float
    ffn: float
    fixed: float
    requests: float
    rate: float


def wide_group(
    turn: float,
    n_machines: int,
    *,
    price: float = 1.0,
    ffn_slower: float = 1.0,
) -> WideGroup:
    """Tokens per cycle of a wide group, for each machine and price of one.

    Each machine attends for its own requests and holds its share of the experts, so
    that it reads this share alone: all of the FFN's fixed cost is taken to be such
    reading, which favours the group. A row's experts lie on several machines, and each
    of them, other than the row's own, is sent a copy. Two halves take turns on each
    machine: a half's way is hidden behind the attention, or the FFN, of the other, and
    what is longer is waited for. ``turn``: cycles of a layer for a request.
    The rest is as in :func:`same_speed`.

    Raises:
        ValueError: the fixed costs alone take as long as the turn.
    """
    whole(n_machines=n_machines)
    bundle, slot = paper_setup.made(1), paper_setup.law().slot()
    copies = copies_away(n_machines)
    # cycles: fixed, then for each request
    attn = np.array([bundle.attn.intercept, bundle.attn.slope * slot.theta]) / CYCLE_S
    reading = bundle.ffn.intercept / n_machines
    ffn = np.array([reading, ffn_slower * bundle.ffn.slope]) / CYCLE_S
    way = np.array([bundle.wire.intercept, bundle.wire.slope * copies]) / CYCLE_S / 2
    way *= n_machines > 1
    loads = (attn + ffn + a + f for a in (attn, way) for f in (ffn, way))
    half = min(float((turn - fixed) / each) for fixed, each in loads)
    if half <= 0:
        raise ValueError(f"turn must leave time for a request, got {turn} cycles")
    there, behind = (float(each @ [1, half]) for each in (way, ffn))
    rate = 2 * half / turn / price
    return WideGroup(copies, there, behind, float(attn[0] + ffn[0]), 2 * half, rate)


def late_group(turn: float, n_machines: int) -> WideGroup:
    """A wide group whose machines are late, too.

    One that is late with a half computes the other half meanwhile, so what counts is
    the mean over both halves on the slowest machine: the pace, as with the bundle's.
    The wire is taken to be hidden, and loads to be normal. The rest is as in
    :func:`wide_group`.

    Raises:
        ValueError: the fixed costs alone take as long as the turn.
    """
    group = wide_group(turn, n_machines)
    bundle, slot = paper_setup.made(1), paper_setup.law().slot()
    each = (bundle.attn.slope * slot.theta + bundle.ffn.slope) / CYCLE_S
    late = bundle.attn.slope * slot.variance**0.5 / CYCLE_S * slowest_of(n_machines)
    # turn = 2 fixed + each B + late √B
    left = turn - 2 * group.fixed
    root = (-late + (late**2 + 4 * each * left) ** 0.5) / (2 * each)
    return replace(group, requests=float(root**2), rate=float(root**2 / turn))


def copies_away(n_machines: int) -> float:
    """Copies of a row that leave its machine, if experts and rows are spread evenly."""
    experts = DEEPSEEK.ffn
    assert isinstance(experts, MoeFfn)
    met = ROW_COPIES(ep=n_machines, n_experts=experts.n_experts, top_k=experts.top_k)
    return float(met) * (1 - 1 / n_machines)


def _of(theta: float, ratio: int, n_batches: int) -> dict[str, float]:
    return {"slot_tokens": theta, "af_ratio": ratio, "n_batches": n_batches}
