"""Microseconds of dispatch and combine: datasheet links and one fitted constant.

The published times are those of DeepEP's low-latency kernels on H800. Links are taken
at their datasheets; the only number that is fitted is one constant per transfer. It is
no pure start: the combine leaves more over on 128 and 256 GPUs than on fewer. Each
group size is predicted with the constant that the others give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL, AllToAll
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.formula.text import plain
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.serving import GPUS, ROWS, copy_bytes, setting
from llmserve_lab.page.table import Table

WAYS = ("dispatch", "combine")


@dataclass(frozen=True)
class TimedTransfer:
    """One published transfer beside its prediction, in seconds."""

    way: str
    ep: int
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_s / self.measured_s - 1


def seconds(
    way: str,
    ep: float,
    *,
    gpu_rows: float = ROWS,
    start_s: float,
    gpu: str = GPUS[0],
) -> float:
    """A dispatch or a combine of one layer, by the chapter's formula."""
    known = {"ep": ep, "gpu_rows": gpu_rows, "copy_start_s": start_s}
    known["one_copy_bytes"] = copy_bytes()[way]
    return float(f.COPIES_S.at(setting(gpu), known))


def measured_s(run: AllToAll, way: str) -> float:
    """What was published."""
    return float(run.dispatch_s if way == "dispatch" else run.combine_s)


@cache
def start_s(runs: Sequence[AllToAll] = ALL_TO_ALL) -> float:
    """The start that makes the relative errors smallest, by least squares."""
    found = [
        (measured_s(r, w), seconds(w, r.ep, start_s=0.0)) for r in runs for w in WAYS
    ]
    took, bare = np.array(found).T
    return float(((took - bare) / took**2).sum() / (1 / took**2).sum())


@cache
def two_numbers() -> tuple[float, float]:
    """Share of the links' bandwidth and a remainder in seconds, fitted to the same.

    One constant hides that links stay below their datasheets. Both numbers are found
    by least squares of the relative errors, as the constant is.
    """
    both = [(r, w) for r in ALL_TO_ALL for w in WAYS]
    took = np.array([measured_s(r, w) for r, w in both])
    bare = np.array([seconds(w, r.ep, start_s=0.0) for r, w in both])
    terms = np.column_stack((bare / took, 1 / took))
    (slower, remainder), *_ = np.linalg.lstsq(terms, np.ones(len(took)), rcond=None)
    return float(1 / slower), float(remainder)


@cache
def compared() -> tuple[TimedTransfer, ...]:
    """All published transfers, each predicted from the other group sizes."""
    found = []
    for left_out in ALL_TO_ALL:
        others = tuple(run for run in ALL_TO_ALL if run is not left_out)
        for way in WAYS:
            said = seconds(way, left_out.ep, start_s=start_s(others))
            took = measured_s(left_out, way)
            found.append(TimedTransfer(way, left_out.ep, took, said))
    return tuple(found)


def band(way: str, *, gpu_rows: float) -> Band | Unmeasured:
    """Errors of the published transfers, where as many tokens are on each GPU."""
    if gpu_rows != ROWS:
        return Unmeasured(f"published are times with {ROWS:.0f} tokens on each GPU")
    errors = [each.error for each in compared() if each.way == way]
    regime = f"{way} of DeepEP on H800, {ROWS:.0f} tokens on each GPU"
    how = "one constant, the predicted group size left out"
    return Band(min(errors), max(errors), regime, len(errors), how, whole=True)


def mean_error() -> float:
    """Mean absolute relative error of the predictions."""
    return float(np.mean([abs(each.error) for each in compared()]))


def worst_error() -> float:
    """Relative error of the worst prediction, with its sign."""
    return max((each.error for each in compared()), key=abs)


def left_s(run: TimedTransfer) -> float:
    """What a measured transfer takes beyond its bytes over the links' datasheets."""
    return run.measured_s - seconds(run.way, run.ep, start_s=0.0)


def exchange_s(ep: float, gpu_rows: float = ROWS, gpu: str = GPUS[0]) -> float:
    """Dispatch and combine of one layer, one after the other."""
    start = start_s()
    return sum(seconds(w, ep, gpu_rows=gpu_rows, start_s=start, gpu=gpu) for w in WAYS)


def hot_exchange_s(ep: float, times: float, gpu_rows: float = ROWS) -> float:
    """As :func:`exchange_s`, if one GPU has so many times the mean of copies.

    All wait for the bytes on its links; the constant does not grow.
    """
    return sum(
        start_s() + times * seconds(way, ep, gpu_rows=gpu_rows, start_s=0.0)
        for way in WAYS
    )


def joined_s(ep: float, gpu_rows: float = ROWS, gpu: str = GPUS[0]) -> float:
    """As :func:`exchange_s`, if one node held the whole group and nothing left it."""
    known = setting(gpu) | {"node_gpus": ep}
    at = {"ep": ep, "gpu_rows": gpu_rows, "copy_start_s": start_s()}
    return sum(
        float(f.COPIES_S.at(known, at, one_copy_bytes=width))
        for width in copy_bytes().values()
    )


def table() -> Table:
    """Table of published and predicted times by group size."""
    rows = []
    for ep in sorted({each.ep for each in compared()}):
        both = [each for each in compared() if each.ep == ep]
        cells = [
            text
            for each in both
            for text in (
                plain(1e6 * each.measured_s),
                f"{1e6 * left_s(each):.0f}",
                plain(1e6 * each.predicted_s),
                f"{100 * each.error:+.1f} %",
            )
        ]
        rows.append((str(ep), *cells))
    columns = (
        "GPUs",
        *(
            c
            for w in WAYS
            for c in (w, f"{w[0]}. less wire", f"{w[0]}. model", f"{w[0]}. off")
        ),
    )
    title = (
        "Dispatch and combine of one layer in µs: DeepEP on H800, and the model fitted "
        "to the other sizes"
    )
    return Table(title, columns, rows)
