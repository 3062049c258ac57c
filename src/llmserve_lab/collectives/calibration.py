"""All-reduces as they are done: constants of four ways to add up, fitted.

Each kind is a straight line in its steps and its bytes. The lines are fitted by least
squares of relative errors to single all-reduces that were measured on H100s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.catalog import Cited, link
from llmserve_lab.catalog.evidence.collectives import (
    ENGINE_RUNS,
    NCCL_RUNS,
    SWITCH_RUNS,
    AllReduceRun,
)
from llmserve_lab.checks import positive, whole
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.formula.text import si

ONE_SHOT_BYTES = 2**20  # that arrive at a GPU: up to here an engine takes one shot
TWO_SHOT = (2**19, 2**23)  # tensors for which it takes two, on four GPUs: from, below
LARGEST = 2**26  # tensors up to here: an engine leaves larger ones to NCCL
LINK = "nvlink4"
DIGITS = 9  # of a fitted constant
Line = Callable[[AllReduceRun], tuple[float, ...]]


@dataclass(frozen=True)
class FittedReduce:
    """One kind of all-reduce: seconds to start and of a step, share of the bandwidth.

    ``errors`` are predicted / measured − 1 on the ``runs`` that it was fitted to.
    """

    start_s: float
    hop_s: float
    share: float
    errors: tuple[float, ...]
    source: str
    runs: tuple[AllReduceRun, ...]

    @property
    def mean_error(self) -> float:
        """Mean absolute relative error on the runs fitted."""
        return float(np.abs(self.errors).mean())

    def band(self, n_gpus: int, nbytes: float) -> Band | Unmeasured:
        """Errors on the runs fitted, for an all-reduce no larger or smaller than they.

        Raises:
            ValueError: there are no GPUs, or no bytes.
        """
        whole(n_gpus=n_gpus)
        positive("nbytes", nbytes)
        groups = sorted({run.n_gpus for run in self.runs})
        if n_gpus not in groups:
            known = " and ".join(map(str, groups))
            return Unmeasured(f"{n_gpus} GPUs: measured were {known}")
        sizes = [run.nbytes for run in self.runs if run.n_gpus == n_gpus]
        if not min(sizes) <= nbytes <= max(sizes):
            least, most = (si(size, "byte") for size in (min(sizes), max(sizes)))
            return Unmeasured(f"{si(nbytes, 'byte')}: measured were {least} to {most}")
        return Band(
            min(self.errors), max(self.errors), f"all-reduces on H100s: {self.source}",
            len(self.errors), "the runs that the line was fitted to", whole=True,
        )  # fmt: skip

    def known(self) -> dict[str, Cited]:
        """The constants as arguments of the formulas of its kind."""
        said = f"fitted to {len(self.errors)} all-reduces: {self.source}"
        found = {
            "start_s": Cited(self.start_s, "s", "estimate", said),
            "eff_link": Cited(self.share, "dimensionless", "estimate", said),
            "link_bw": link(LINK).bandwidth,
        }
        if self.hop_s:
            found["link_latency"] = Cited(self.hop_s, "s", "estimate", said)
        return found


def _fitted(runs: Sequence[AllReduceRun], line: Line, *, steps: bool) -> FittedReduce:
    """Least squares of relative errors; the last term of a line is bytes."""
    measured = np.array([float(run.seconds) for run in runs])
    terms = np.array([line(run) for run in runs])
    solved, *_ = np.linalg.lstsq(terms / measured[:, None], np.ones(len(runs)))
    # The last digits are the machine's: two installations differ in the eleventh.
    found = np.array([float(f"{each:.{DIGITS}g}") for each in solved])
    hop_s = float(found[1]) if steps else 0.0
    share = 1 / float(found[-1]) / float(link(LINK).bandwidth)
    errors = tuple(float(each) for each in terms @ found / measured - 1)
    source = runs[0].seconds.source
    return FittedReduce(float(found[0]), hop_s, share, errors, source, tuple(runs))


@cache
def nccl() -> FittedReduce:
    """NCCL without the switch: a start, 2(g − 1) steps, and 2(g − 1)/g of the tensor.

    The form is that of a ring; NCCL chose its algorithm itself, size by size.
    """

    def line(run: AllReduceRun) -> tuple[float, ...]:
        steps = 2 * (run.n_gpus - 1)
        return 1.0, float(steps), steps / run.n_gpus * run.nbytes

    runs = [run for run in NCCL_RUNS if run.nbytes <= LARGEST]
    return _fitted(runs, line, steps=True)


@cache
def one_shot() -> FittedReduce:
    """An engine's own kernel: each GPU reads the g − 1 tensors of the others at once.

    It is fitted where few bytes arrive; beyond, engines go another way.
    """
    runs = [run for run in ENGINE_RUNS if _arriving(run) <= ONE_SHOT_BYTES]
    return _fitted(runs, lambda run: (1.0, _arriving(run)), steps=False)


@cache
def two_shot() -> FittedReduce:
    """An engine's own kernel in two steps: every GPU adds one piece, then reads all.

    It is fitted where an engine takes it, on four GPUs.
    """
    least, most = TWO_SHOT
    runs = [r for r in ENGINE_RUNS if r.n_gpus == 4 and least <= r.nbytes < most]

    def line(run: AllReduceRun) -> tuple[float, ...]:
        return 1.0, 2 * (run.n_gpus - 1) / run.n_gpus * run.nbytes

    return _fitted(runs, line, steps=False)


@cache
def in_switch() -> FittedReduce:
    """NVLink SHARP: the switch adds, and each GPU sends its tensor once."""
    return _fitted(SWITCH_RUNS, lambda run: (1.0, run.nbytes), steps=False)


def _arriving(run: AllReduceRun) -> float:
    return (run.n_gpus - 1) * run.nbytes
