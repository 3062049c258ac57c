"""Error band of a prediction of the twin: how far off it was on decode runs alike.

Decode workers are predicted with the time on the host that was fitted to the other
GPUs' runs, or were predicted blind; published deployments, which were in view while the
twin was made, as they are. Alike are all runs whose group stands alike, across nodes or
inside one node or rack, and the band holds all their errors: it does not move with the
batch, so that two predictions for one group can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Literal

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS, DecodeRun
from llmserve_lab.checks import key_of, positive, whole
from llmserve_lab.deepseek.calibration.host_time import (
    decoding_requests,
    leave_one_out,
    mean_context,
)
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.deepseek.evaluation.caveats import few_requests
from llmserve_lab.deepseek.evaluation.predictions import Point, points
from llmserve_lab.deepseek.model.setup import Setup, setup
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.formula.text import plain

Predicted = Literal["decode_step", "gpu_tokens_per_s", "user_tokens_per_s"]
FARTHEST = 1.0  # doublings: farther from every run in one number is outside
HOW = (
    "DeepSeek-V3 and Kimi K2; decode workers predicted blind, or with what was fitted "
    "to other GPUs; deployments that were seen"
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
        return _setup(self.accelerator, self.ep).accelerator.name.split()[0]

    @property
    def architecture(self) -> str:
        """Architecture of the GPU, of which the twin has one set of kernels."""
        return _setup(self.accelerator, self.ep).accelerator.architecture

    @property
    def across(self) -> bool:
        """Whether the group stands in several nodes, or several racks."""
        return _setup(self.accelerator, self.ep).n_nodes > 1

    @property
    def logs(self) -> dict[str, float]:
        """Numbers in doublings, by name."""
        return {name: log2(getattr(self, name)) for name in ("ep", "batch", "context")}


@cache
def _setup(accelerator: str, ep: int) -> Setup:
    """Where a step is predicted; every band asks it of all runs that were measured."""
    return setup(accelerator, ep)


@cache
def scored() -> tuple[tuple[DecodeSetting, float], ...]:
    """Every decode run that was measured, and the error of its predicted step."""
    assumed = book_assumptions()
    found = []
    for each in leave_one_out(assumed, "accelerator"):
        runs = [run for run in DECODE_RUNS if run.accelerator == each.group]
        for run, error in zip(runs, each.errors, strict=True):
            found.append((_place(run), error))
    for point in points(assumed):
        if point.batch is not None:
            found.append(_scored(point, float(point.record.context)))
    for few in few_requests(assumed):
        if few.point.status == "seen":  # the others are among the workers
            found.append(_scored(few.point, few.context))
    found += [(_place(each.run), each.error) for each in blind_runs.blind()]
    return tuple(found)


def _place(run: DecodeRun) -> DecodeSetting:
    """Where a decode worker ran, with the requests that decode at a time."""
    return DecodeSetting(
        accelerator=run.accelerator,
        ep=run.ep,
        batch=decoding_requests(run),
        context=mean_context(run),
    )


def _scored(point: Point, context: float) -> tuple[DecodeSetting, float]:
    """A published decode: where it ran, and the error of its step, not of its rate."""
    record = point.record
    place = DecodeSetting(
        accelerator=record.accelerator,
        ep=record.n_gpus,
        batch=float(point.batch or 0),
        context=context,
    )
    return place, 1 / (1 + point.error) - 1


@cache
def band(kind: Predicted, setting: DecodeSetting) -> Band | Unmeasured:
    """The error band of a decode step, or of the rate of a GPU or a user.

    Raises:
        LookupError: there is no such kind of prediction.
    """
    kinds = ("decode_step", "gpu_tokens_per_s", "user_tokens_per_s")
    key_of("kind", kind, kinds)
    if reason := _outside(setting):
        return Unmeasured(reason)
    found = of_runs(alike(setting))
    return found if kind == "decode_step" else found.inverse()


def of_runs(runs: Sequence[tuple[DecodeSetting, float]]) -> Band:
    """The band that holds the errors of some runs."""
    errors, places = [error for _, error in runs], [place for place, _ in runs]
    return Band(min(errors), max(errors), _regime(places), len(runs), HOW, whole=True)


def alike(setting: DecodeSetting) -> list[tuple[DecodeSetting, float]]:
    """The measured runs that a band stands on, with their errors.

    Those whose group stands alike; inside one node or rack only those on GPUs of the
    same architecture. (Across nodes all runs are on one.)
    """
    runs = [run for run in scored() if run[0].across == setting.across]
    same = [run for run in runs if run[0].architecture == setting.architecture]
    return same or runs


def _outside(setting: DecodeSetting) -> str:
    """Why nothing measured is like it; empty if something is."""
    known = sorted({run.architecture for run, _ in scored()})
    if setting.architecture not in known:
        return f"architecture {setting.architecture}; measured: {', '.join(known)}"
    said = {"ep": "a group of {} GPUs", "batch": "{} requests on a GPU"}
    said["context"] = "a context of {} tokens"
    for name, at in setting.logs.items():
        logs = [run.logs[name] for run, _ in alike(setting)]
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
    where = "across nodes" if runs[0].across else "in one node or rack"
    return f"decode on {gpus} {where}, EP {_span([run.ep for run in runs])}"


def _span(values: Sequence[float]) -> str:
    low, high = plain(min(values)), plain(max(values))
    return low if low == high else f"{low}–{high}"
