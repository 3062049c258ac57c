"""The coupled baseline: the same GPUs as one expert-parallel group, and what is shared.

A group and a split both run batches that compute while others travel. What that costs
is read in the same way on both sides: ``free`` hides a transfer behind the other
batches' work, as far as that reaches, and slows nothing down; ``charged`` keeps GPUs
busy while a transfer starts, and slows computing and sending at once. Where contexts
differ, both wait for their slowest GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from llmserve_lab.checks import at_least, one_of, positive, whole
from llmserve_lab.deepseek import formulas as df
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.setup import Numbers, machine_arguments, setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.moe.grouped_router import chosen
from llmserve_lab.moe.serving import SPEC

Copies = Literal["expert", "node"]
Overlap = Literal["free", "charged"]
HALVES = {"free": "ideal halves", "charged": "halves"}  # of the twin
CONTEXT = 4096.0  # tokens in each request's cache
ROWS = 5_000  # whose choices are drawn, to count nodes
MOST = 512  # requests in a batch, searched
BATCHES = np.arange(1, MOST + 1)
SETTING = {"n_redundant": 0}  # no copies of experts, in either arrangement
Off = tuple[float, float]  # by what times of kernels and network are multiplied
AS_IS: Off = (1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Stretched(Twin):
    """A twin whose kernels and network take ``off`` times as long.

    It asks what an error would change that both sides share.

    Raises:
        ValueError: a factor is not positive and finite.
    """

    off: Off

    def __post_init__(self) -> None:
        super().__post_init__()
        for factor in self.off:
            positive("off", factor)

    @cached_property
    def machine(self) -> Numbers:
        """Rates over the factors, and starts of kernels times theirs."""
        known, (kernels, network) = (
            machine_arguments(self.setup, self.assumptions),
            self.off,
        )
        rates = ("read_rate", "cache_rate", "attn_rate", "gemm_rate")
        found = {name: known[name] / kernels for name in rates}
        found |= {name: known[name] / network for name in ("far_rate", "near_rate")}
        return known | found | {"launch_s": known["launch_s"] * kernels}

    @cached_property
    def traffic(self) -> Numbers:
        """As much is sent; its starts take as much longer as the network."""
        known = Twin(setup=self.setup, assumptions=self.assumptions).traffic
        starts = known["transfer_starts_s"] * self.off[1]
        return known | {"transfer_starts_s": starts}


@cache
def group(gpu: str, n_gpus: int, overlap: str = "none", *, off: Off = AS_IS) -> Twin:
    """The twin of ``n_gpus`` as one expert-parallel group, its times stretched."""
    own: dict[str, Any] = {**SETTING, "overlap": overlap}
    assumed = replace(book_assumptions(), **own)
    made = setup(gpu, n_gpus)
    if off == AS_IS:
        return Twin(setup=made, assumptions=assumed)
    return Stretched(setup=made, assumptions=assumed, off=off)


def copies_of_row(twin: Twin, copies: Copies) -> float:
    """Copies of a row that are sent: one for each expert, or for each node asked."""
    if copies == "expert":
        return float(twin.setup.experts.top_k)
    return nodes_asked(round(twin.setup.n_nodes))


@cache
def nodes_asked(nodes: int) -> float:
    """Nodes on which a row has experts, on average; its router chooses by groups.

    The experts lie on the nodes in their order, as evenly as whole experts can.
    """
    whole(of="node", most=SPEC.n_experts, nodes=nodes)
    asked = np.sort(chosen(ROWS) * nodes // SPEC.n_experts, axis=1)
    return float(1 + (np.diff(asked, axis=1) > 0).sum(axis=1).mean())


@cache
def slowest_of(n: int) -> float:
    """Mean of the largest of n standard normal numbers, in standard deviations.

    >>> round(slowest_of(2), 3)  # one over the square root of pi
    0.564
    """
    shares = (np.arange(4000) + 0.5) / 4000
    return float(np.mean([NormalDist().inv_cdf(u ** (1 / n)) for u in shares]))


def slowest_context(context: float, spread: float, n_gpus: int, drawn: Any) -> Any:
    """Mean context on the slowest of ``n_gpus``, each with ``drawn`` requests."""
    whole(of="GPU", n_gpus=n_gpus)
    above = spread * slowest_of(n_gpus) / np.sqrt(np.maximum(drawn, 1))
    return context * (1 + above)


@dataclass(frozen=True)
class Together:
    """One group at a target: its overlap, requests of a GPU, and tokens/s of a GPU."""

    overlap: str
    batch: int
    gpu_tokens_per_s: float


@cache
def together(gpu: str, n_gpus: int, tpot_s: float, **options: Any) -> Together:
    """The coupled baseline: attention and experts on every GPU of one group.

    The better of one batch at a time and of two halves that overlap. Options are those
    of :func:`arranged`.
    """
    found = [
        arranged(gpu, n_gpus, tpot_s, halves=halves, **options)
        for halves in (False, True)
    ]
    return max(found, key=lambda one: one.gpu_tokens_per_s)


@cache
def arranged(
    gpu: str,
    n_gpus: int,
    tpot_s: float,
    *,
    halves: bool,
    copies: Copies = "expert",
    context: float = CONTEXT,
    overlap: Overlap = "free",
    spread: float = 0.0,
    off: Off = AS_IS,
) -> Together:
    """One group that runs one batch at a time, or two ``halves`` that overlap.

    Raises:
        ValueError: the target, the context or a factor of ``off`` is not positive and
            finite, ``spread`` is negative, or ``copies`` or ``overlap`` is unknown.
    """
    positive("tpot_s", tpot_s)
    positive("context", context)
    at_least("spread", spread, 0)
    one_of("copies", copies, Copies)
    one_of("overlap", overlap, Overlap)
    how = HALVES[overlap] if halves else "none"
    step_s = _every_step_s(gpu, n_gpus, how, copies, context, spread, off)
    last = int(np.argmin(np.append(step_s <= tpot_s, False)))
    return Together(how, last, float(last / step_s[last - 1]) if last else 0.0)


@cache
def _every_step_s(
    gpu: str,
    n_gpus: int,
    how: str,
    copies: Copies,
    context: float,
    spread: float,
    off: Off,
) -> Any:
    """Seconds of a group's step at every batch that fits."""
    twin = group(gpu, n_gpus, how, off=off)
    batches = BATCHES[: int(twin.batch_fits(context))]
    # halves that wait for each other wait for the slowest of each
    drawn = batches / 2 if how == "halves" else batches
    each = slowest_context(context, spread, n_gpus, drawn)
    known = twin.arguments(batch=batches, context=each)
    known["dispatched_copies"] = copies_of_row(twin, copies)
    return step_s(twin, known)


def step_s(twin: Twin, known: Numbers) -> Any:
    """Seconds of a step of the twin; halves that overlap for free await transfers.

    A transfer of one half is hidden behind one phase of the other; where it takes
    longer than that phase, the rest of it is waited for. (Halves that used every slack
    would be up to two per cent faster where transfers are long, which is left out.)
    """
    if twin.overlap != HALVES["free"]:
        return twin.step_of(known)
    there, back = transfers_s(twin, known)
    known = twin.settled(known)
    both = known | {"flight_s": there + back, "dispatch_share": there / (there + back)}
    rest = df.OTHER_S.reusing(known)
    return df.STAGES_S.reusing(both) + twin.n_batches * rest + known["host_s"]


def transfers_s(twin: Twin, known: Numbers) -> tuple[Any, Any]:
    """Seconds of all dispatches and of all combines of a batch, starts included."""
    known = twin.settled(known)
    flight, starts = df.FLIGHT_S.reusing(known), known["transfer_starts_s"]
    share = known["dispatch_share"]
    return flight * share + starts / 2, flight * (1 - share) + starts / 2
