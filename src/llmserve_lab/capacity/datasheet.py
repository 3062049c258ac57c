"""The three times of a request in parts, and another GPU's times from its datasheet.

A part is due to arithmetic, to the memory or to the CPU (launches, bookkeeping). The
first shrinks as TFLOP/s grow, the second as TB/s grow, the third is the same on every
GPU. This holds as long as a step of answers reads its weights for longer than it
computes, and a step with a prompt computes for longer than it reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity import pools
from llmserve_lab.capacity.by_hand import RequestTimes, priced
from llmserve_lab.engine import IterationCost
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.page.table import Table

STEP = 2**-10  # of a constant, to see what depends on it; far from any kink
ROWS = ("fixed, each step", "prompt", "answer")
APART = Unmeasured("these parts apart (fitted to whole runs)")


@dataclass(frozen=True)
class Parts:
    """Seconds of one GPU by what they are due to."""

    arithmetic_s: float
    memory_s: float
    cpu_s: float

    @property
    def total_s(self) -> float:
        """All three."""
        return self.arithmetic_s + self.memory_s + self.cpu_s

    def scaled(self, factors: tuple[float, float]) -> float:
        """Seconds on a GPU whose arithmetic and memory take so many times as long."""
        return factors[0] * self.arithmetic_s + factors[1] * self.memory_s + self.cpu_s


def factors(device: str, of: str = pools.H100) -> tuple[float, float]:
    """Time of arithmetic and of memory on a GPU, over that on another: datasheets."""
    one, other = (catalog.accelerator(each) for each in (of, device))
    arithmetic = float(one.peak("bf16")) / float(other.peak("bf16"))
    return arithmetic, float(one.hbm_bw) / float(other.hbm_bw)


def parts(device: str = pools.H100) -> tuple[Parts, Parts, Parts]:
    """Fixed time, prompt and answer, in the order of ``RequestTimes``.

    A step's time is a sum of multiples of the constants, so each part is its slope in
    the constants of its kind, times them (Euler).
    """
    cost = pools.cost_of(device)
    groups = (("row_s", "pair_s"), ("weights_s", "kv_token_s"))
    found = [_slopes(device, cost, names) for names in groups]
    total = _three(priced(device, cost))
    return tuple(  # type: ignore[return-value]
        Parts(flops, reads, all_s - flops - reads)
        for flops, reads, all_s in zip(*found, total, strict=True)
    )


def read_bytes() -> float:
    """Bytes of the weights that a step reads: of the embedding table a few rows."""
    model, cost = running_example.model(), running_example.cost()
    return float(cost.weight_bytes * model.params_read / model.params_total)


def on(device: str) -> RequestTimes:
    """Times on another GPU, from the H100's parts and the two datasheets."""
    by = factors(device)
    return RequestTimes(device, *(each.scaled(by) for each in parts()))


def table() -> Table:
    """Table of the H100's parts in milliseconds."""
    rows = [
        (
            name,
            *(
                f"{1e3 * s:.2f}".replace("-", "−") if abs(s) > 1e-9 else "–"
                for s in (each.arithmetic_s, each.memory_s, each.cpu_s, each.total_s)
            ),
        )
        for name, each in zip(ROWS, parts(), strict=True)
    ]
    columns = ("H100, ms", "arithmetic", "memory", "CPU", "together")
    caption = "What the times are due to on the H100 (CPU: bookkeeping and launches)"
    return Table(caption, columns, rows, band=APART)


def _slopes(
    device: str, cost: IterationCost, names: tuple[str, ...]
) -> tuple[float, float, float]:
    more = {name: getattr(cost, name) * (1 + STEP) for name in names}
    pairs = zip(
        _three(priced(device, replace(cost, **more))),
        _three(priced(device, cost)),
        strict=True,
    )
    first, second, third = ((after - before) / STEP for after, before in pairs)
    return first, second, third


def _three(times: RequestTimes) -> tuple[float, float, float]:
    return times.fixed_s, times.prompt_s, times.answer_s
