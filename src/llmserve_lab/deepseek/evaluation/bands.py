"""Error band of a prediction of the twin: how far off it was on decode runs alike.

Decode workers are predicted with the time on the host that was fitted to the other
GPUs' runs; published deployments, which were in view while the twin was made, as they
are. The nearest of both make the band, the widest error each way, as they are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Literal

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.checks import positive, whole
from llmserve_lab.deepseek.calibration.host_time import (
    decoding_requests,
    leave_one_out,
    mean_context,
)
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.formula.text import plain

Predicted = Literal["decode_step", "gpu_tokens_per_s", "user_tokens_per_s"]
NEAREST = 10  # runs; with few runs the whole range of their errors is the band
FARTHEST = 1.0  # doublings: farther from every run in one number is outside
OTHER_ARCHITECTURE = 1.0  # doublings that another architecture counts for
HOW = (
    "DeepSeek-V3 and Kimi K2; decode workers predicted with what was fitted to other "
    "GPUs, deployments that were seen"
)


@dataclass(frozen=True, kw_only=True)
class DecodeSetting:
    """Where a decode step is predicted: GPU, group, requests on a GPU, and context.

    Raises:
        ValueError: a number is not positive.
        LookupError: the catalog has no such accelerator.
    """

    accelerator: str
    ep: int
    batch: float
    context: float

    def __post_init__(self) -> None:
        whole(ep=self.ep)
        positive("batch", self.batch)
        positive("context", self.context)

    @property
    def name(self) -> str:
        """Name of the GPU, without the system that it stands in."""
        return setup(self.accelerator, self.ep).accelerator.name.split()[0]

    @property
    def architecture(self) -> str:
        """Architecture of the GPU, of which the twin has one set of kernels."""
        return setup(self.accelerator, self.ep).accelerator.architecture

    @property
    def logs(self) -> dict[str, float]:
        """Numbers in doublings, by name."""
        return {name: log2(getattr(self, name)) for name in ("ep", "batch", "context")}


@cache
def scored() -> tuple[tuple[DecodeSetting, float], ...]:
    """Every decode run that was measured, and the error of its predicted step."""
    assumed = book_assumptions()
    found = []
    for each in leave_one_out(assumed, "accelerator"):
        runs = [run for run in DECODE_RUNS if run.accelerator == each.group]
        for run, error in zip(runs, each.errors, strict=True):
            place = DecodeSetting(
                accelerator=run.accelerator,
                ep=run.ep,
                batch=decoding_requests(run),
                context=mean_context(run),
            )
            found.append((place, error))
    for point in points(assumed):
        if point.batch is not None:
            record = point.record
            place = DecodeSetting(
                accelerator=record.accelerator,
                ep=record.n_gpus,
                batch=point.batch,
                context=float(record.context),
            )
            found.append((place, 1 / (1 + point.error) - 1))  # of the step
    return tuple(found)


@cache
def band(kind: Predicted, setting: DecodeSetting) -> Band | Unmeasured:
    """The error band of a decode step, or of the rate of a GPU or a user.

    Raises:
        LookupError: there is no such kind of prediction.
    """
    kinds = ("decode_step", "gpu_tokens_per_s", "user_tokens_per_s")
    if kind not in kinds:
        raise LookupError(f"kind must be one of {', '.join(kinds)}, got {kind!r}")
    if reason := _outside(setting):
        return Unmeasured(reason)
    near = nearest(setting)
    errors = [error for _, error in near]
    runs = [place for place, _ in near]
    found = Band(min(errors), max(errors), _regime(runs), len(near), HOW, whole=True)
    return found if kind == "decode_step" else found.inverse()


def nearest(setting: DecodeSetting) -> list[tuple[DecodeSetting, float]]:
    """The measured runs that a band stands on, the nearest first, with their errors."""
    return sorted(scored(), key=lambda run: _distance(run[0], setting))[:NEAREST]


def _distance(run: DecodeSetting, setting: DecodeSetting) -> float:
    apart = sum((run.logs[name] - at) ** 2 for name, at in setting.logs.items())
    other = run.architecture != setting.architecture
    return float(apart + OTHER_ARCHITECTURE * other)


def _outside(setting: DecodeSetting) -> str:
    """Why nothing measured is like it; empty if something is."""
    known = sorted({run.architecture for run, _ in scored()})
    if setting.architecture not in known:
        return f"architecture {setting.architecture}; measured: {', '.join(known)}"
    said = {"ep": "a group of {} GPUs", "batch": "{} requests on a GPU"}
    said["context"] = "a context of {} tokens"
    for name, at in setting.logs.items():
        logs = [run.logs[name] for run, _ in scored()]
        for side, last, far in (
            ("below", min(logs), min(logs) - at),
            ("above", max(logs), at - max(logs)),
        ):
            if far > FARTHEST:
                asked = said[name].format(plain(2**at))
                return f"{asked}, far {side} {plain(2**last)}"
    return ""


def _regime(runs: list[DecodeSetting]) -> str:
    """What some runs have in common, in a line."""
    gpus = "/".join(sorted({run.name for run in runs}))
    return f"decode on {gpus}, EP {_span([run.ep for run in runs])}"


def _span(values: Sequence[float]) -> str:
    low, high = plain(min(values), 2), plain(max(values), 2)
    return low if low == high else f"{low}–{high}"
