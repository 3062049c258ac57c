"""Work done from event to event: kernels in a queue, transfers, halves of a batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction


def ticks(*loads: tuple[float | Fraction, float]) -> Fraction:
    """Time to work off (amount, rate) loads in turn, a slice at a time."""
    time = Fraction(0)
    for amount, rate in loads:
        left, share = Fraction(amount), Fraction(rate) / 8
        while left > 0:
            step = min(left, share)
            left, time = left - step, time + step / Fraction(rate)
    return time


def rounded(read: Fraction, compute: Fraction) -> Fraction:
    """Time at which the squares of both uses, of memory and of compute, add up to one.

    Halve the interval between the longer of the two and their sum until it is narrow.
    """
    low, high = sorted([read, compute])[-1], read + compute
    for _ in range(60):
        middle = Fraction(float((low + high) / 2))
        used = (read / middle) ** 2 + (compute / middle) ** 2
        low, high = (middle, high) if used > 1 else (low, middle)
    return high


def stream(*kernels: Mapping[str, Fraction]) -> Fraction:
    """A queue of kernels, each of which keeps some units busy, from event to event.

    Units of a kernel work at the same time; the next kernel begins when the last of
    them has ended.
    """
    clock, queue = Fraction(0), deque(kernels)
    while queue:
        running = {unit: left for unit, left in queue.popleft().items() if left > 0}
        while running:
            took = min(running.values())
            clock += took
            running = {u: left - took for u, left in running.items() if left > took}
    return clock


LAYERS = 6  # of which the first ones are not yet in a steady state


def two_halves(
    attention: Fraction,
    experts: Fraction,
    there: Fraction,
    back: Fraction,
    slowdown: Fraction,
) -> Fraction:
    """Two half batches on one GPU and its ports, from event to event; time of a layer.

    Kernels run in the order in which they are queued, each when what it needs has
    arrived; what it makes is sent when the ports are free. While both the GPU and the
    ports are busy, each does 1 / (1 + slowdown) of its work in a second.
    """
    layer = [("A", "attention"), ("B", "experts"), ("A", "experts"), ("B", "attention")]
    queue = layer * LAYERS
    work = {"attention": attention, "experts": experts}
    size = {"attention": there, "experts": back}  # what each makes, to be sent
    arrived = {"A": True, "B": True}
    ports: list[tuple[str, Fraction]] = []
    running: tuple[str, str, Fraction] | None = None
    clock, ends = Fraction(0), list[Fraction]()
    while queue or running:
        if running is None and arrived[queue[0][0]]:
            half, kind = queue.pop(0)
            arrived[half], running = False, (half, kind, work[kind])
        busy = [running[2]] if running else []
        busy += [ports[0][1]] if ports else []
        rate = 1 / (1 + slowdown) if len(busy) > 1 else Fraction(1)
        took = min(busy) / rate
        clock += took
        if ports:
            half, left = ports[0]
            ports[0] = (half, left - took * rate)
        if running:
            half, kind, left = running
            running = (half, kind, left - took * rate)
            if running[2] <= 0:
                ports.append((half, size[kind]))
                running = None
                ends.append(clock)
        while ports and ports[0][1] <= 0:
            arrived[ports.pop(0)[0]] = True
    return ends[-1] - ends[-1 - len(layer)]
