"""Two-batch overlap played out event by event: which half computes, which is sent.

A half goes through attention, dispatch, experts and combine, layer after layer. The GPU
computes for one half at a time and the network carries one transfer at a time; while
both work, each is slowed down. Nothing here knows a closed form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model.step_model import Twin

ATTENTION, DISPATCH, EXPERTS, COMBINE = "attention", "dispatch", "experts", "combine"
SENT = {ATTENTION: DISPATCH, EXPERTS: COMBINE}
START = "start"
PHASES = (f.ATTN_PHASE_S, f.MOE_PHASE_S, f.FLIGHT_S)


@dataclass(frozen=True, kw_only=True)
class LayerTimes:
    """Seconds of one layer of one batch: its four phases, and the start of a transfer.

    ``slowdown`` is by how much computing and sending at once slow each other.
    """

    attention: float
    dispatch: float
    experts: float
    combine: float
    start: float = 0.0
    slowdown: float = 0.0

    def of(self, phase: str) -> float:
        """Seconds of a phase that has GPU or network for itself."""
        return float(getattr(self, phase))


@dataclass(frozen=True)
class Span:
    """A phase of a half in a layer, from ``start`` to ``end`` in seconds."""

    half: int
    layer: int
    phase: str
    start: float
    end: float

    @property
    def on_network(self) -> bool:
        """Whether it is sent; else it is computed."""
        return self.phase in SENT.values()


def layer_times(twin: Twin, *, batch: float, context: float) -> LayerTimes:
    """What the twin says of one layer with experts, for one batch in flight."""
    known = twin.settled(twin.arguments(batch=batch, context=context))
    layers = twin.setup.model.n_layers
    sparse = layers - twin.setup.experts.n_dense_layers
    attention, experts, flight = (
        float(known.get(part.name, part.reusing(known))) for part in PHASES
    )
    there = float(known["dispatch_share"])
    return LayerTimes(
        attention=attention / layers,
        dispatch=flight * there / sparse,
        experts=experts / sparse,
        combine=flight * (1 - there) / sparse,
        start=float(known["transfer_starts_s"]) / (2 * sparse),
        slowdown=float(known["overlap_slowdown"]),
    )


def in_turn(times: LayerTimes, n_layers: int) -> tuple[Span, ...]:
    """One batch, one phase after another."""
    whole(of="layer", most=MOST_PLAYED, n_layers=n_layers)
    found, now = list[Span](), 0.0
    for layer in range(n_layers):
        for phase in (ATTENTION, DISPATCH, EXPERTS, COMBINE):
            if phase in SENT.values():
                found.append(Span(0, layer, START, now, now + times.start))
                now += times.start
            found.append(Span(0, layer, phase, now, now + times.of(phase)))
            now = found[-1].end
    return tuple(found)


def _order(n_layers: int) -> Iterator[tuple[int, int, str]]:
    """What the GPU computes, in order: half, layer, phase."""
    for layer in range(n_layers):
        for phase in (ATTENTION, EXPERTS):
            for half in (0, 1):
                yield half, layer, phase


def in_halves(times: LayerTimes, n_layers: int) -> tuple[Span, ...]:
    """Two halves: while one computes, what the other has made is sent.

    What a phase has made can be sent when the transfer before it is through; the phase
    after the next one needs it.
    """
    whole(of="layer", most=MOST_PLAYED, n_layers=n_layers)
    order = [*_order(n_layers), None]
    found, now = list[Span](), 0.0
    first, *_ = order
    assert first is not None
    found.append(Span(*first, now, now + times.of(first[2])))
    now = found[-1].end
    for made, next_ in pairwise(order):
        assert made is not None
        found.append(Span(made[0], made[1], START, now, now + times.start))
        now += times.start
        spans = _together(times, made, next_, now)
        found += spans
        now = max(span.end for span in spans)
    return tuple(found)


def _together(
    times: LayerTimes,
    made: tuple[int, int, str],
    next_: tuple[int, int, str] | None,
    now: float,
) -> list[Span]:
    """Send what was made while the next phase computes; the longer one ends alone."""
    half, layer, phase = made
    sent = SENT[phase]
    if next_ is None:
        return [Span(half, layer, sent, now, now + times.of(sent))]
    send, compute = times.of(sent), times.of(next_[2])
    both = (1 + times.slowdown) * min(send, compute)
    ends = {seconds: now + both for seconds in (send, compute)}
    ends[max(send, compute)] += max(send, compute) - min(send, compute)
    return [
        Span(half, layer, sent, now, ends[send]),
        Span(*next_, now, ends[compute]),
    ]
