"""Split against group at the same speed, overlap and stragglers charged alike."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.evidence.deployments import DEPLOYMENTS, Deployment
from llmserve_lab.catalog.selection import in_servers, stacks_known
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.deepseek.evaluation.kernels import transfers
from llmserve_lab.deepseek.evaluation.published_runs import batch_of, decodes, run_as
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page.controls import known
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.page.table import Table

# Servers, no racks.
DEVICES = tuple(each.key for each in in_servers("fp8", known, stacks_known))
GPUS, TIGHT_S, LOOSE_S = 96, 0.05, 0.1
# As in the measured groups: DeepEP's kernels for decode send one for each expert.
COPIES: coupled.Copies = "expert"
PART = Unmeasured("one layer. Only whole groups were measured, no such split", True)
SHOWN_MS, CONTEXTS = (30, 40, 45, 50, 60, 70), (4096.0, 8192.0)
OVERLAPS: tuple[coupled.Overlap, ...] = ("free", "charged")
WAYS = ("one batch", "two halves", "split")
SPREAD = 0.5  # standard deviation of contexts over their mean, where they differ
HALVES_ON = ("h100-sxm", "h800-sxm")  # measured groups in halves, of this model
NAMES = {
    "DeepSeek, EP144": "DeepSeek",
    "DeepSeek's profile, EP128": "DeepSeek's profile",
    "SGLang, EP72": "SGLang",
    "SGLang, EP72, drafts simulated": "SGLang, drafts simulated",
}
HOW = "deployments of DeepSeek-V3, in view while the model was made"


@cache
def best(gpu: str, tpot_s: float, **options: Any) -> deployment.Split:
    """The best split of 96 GPUs at a target, with a copy of a row for each expert."""
    return deployment.best_split(gpu, GPUS, tpot_s, **_sent(options))


@cache
def whole(gpu: str, tpot_s: float, **options: Any) -> coupled.Together:
    """The same GPUs as one group: the better of one batch and two halves."""
    return coupled.together(gpu, GPUS, tpot_s, **_sent(options))


def _sent(options: dict[str, Any]) -> dict[str, Any]:
    """A copy for each expert, unless the options say otherwise."""
    return {"copies": COPIES} | options


@cache
def beside(gpu: str, tpot_s: float, **options: Any) -> dict[str, float]:
    """Tokens/s of a GPU: one batch, two halves, and the best split."""
    rates = [
        coupled.arranged(
            gpu, GPUS, tpot_s, halves=halves, **_sent(options)
        ).gpu_tokens_per_s
        for halves in (False, True)
    ]
    split = best(gpu, tpot_s, **options).gpu_tokens_per_s(tpot_s)
    return dict(zip(WAYS, (*rates, split), strict=True))


def lead(gpu: str, tpot_s: float, **options: Any) -> float:
    """How much more the best split makes than the better group; negative: less."""
    *groups, split = beside(gpu, tpot_s, **options).values()
    return split / max(groups) - 1


@dataclass(frozen=True)
class Error:
    """How far the model is off on a measured group: predicted over measured, less 1.

    ``at_batch``: with as many requests as were measured. ``at_speed``: with as many as
    the model takes for the measured time per token.
    """

    run: str
    tpot_s: float
    at_batch: float
    at_speed: float


@cache
def errors(overlap: coupled.Overlap) -> tuple[Error, ...]:
    """Errors of tokens/s of a GPU, overlap read so, on groups run in two halves.

    Of DeepSeek-V3 on H100 and H800. A charged group runs one batch where that is
    faster, as in the comparison.
    """
    found = []
    for record in DEPLOYMENTS:
        if record.accelerator in HALVES_ON and decodes(record):
            batch, rate = batch_of(record), float(record.gpu_tokens_per_s)
            twins = _twins(record, overlap)
            same = _rate(twins[0], record, batch)
            most = max(_most_at(twin, record, batch / rate) for twin in twins)
            found.append(
                Error(record.name, batch / rate, same / rate - 1, most / batch - 1)
            )
    return tuple(found)


def _twins(record: Deployment, overlap: coupled.Overlap) -> tuple[Twin, ...]:
    """The group in two halves, and in one batch, as it was run otherwise."""
    ways: tuple[Any, ...] = (coupled.HALVES[overlap], "none")
    return tuple(
        run_as(record, replace(book_assumptions(), overlap=how)) for how in ways
    )


def _rate(twin: Twin, record: Deployment, batch: float) -> float:
    """Tokens/s of a GPU with ``batch`` requests on it."""
    known = twin.arguments(batch=batch, context=float(record.context))
    return batch * twin.assumptions.accepted / float(coupled.step_s(twin, known))


def _most_at(twin: Twin, record: Deployment, tpot_s: float) -> float:
    """Requests of a GPU at which a token takes ``tpot_s``, and that fit."""
    context = float(record.context)
    batches = np.arange(1.0, float(twin.batch_fits(context)) + 1)
    known = twin.arguments(batch=batches, context=context)
    each_s = coupled.step_s(twin, known) / twin.assumptions.accepted
    return float(np.interp(tpot_s, each_s, batches))


@cache
def halves_band(overlap: coupled.Overlap) -> Band:
    """Errors of the model at the measured time per token, overlap read so."""
    found = [each.at_speed for each in errors(overlap)]
    runs = "groups in two halves on H100 and H800, at the same time per token"
    ends = min(found), max(found)
    return Band(*ends, runs, len(found), HOW, whole=True, known=True)


def band_words(overlap: coupled.Overlap, *, at: str = "at_speed") -> str:
    """``within 5%``, or ``9 to 19% too low``: how the model did on published runs."""
    found = [getattr(each, at) for each in errors(overlap)]
    near, far = sorted((abs(min(found)), abs(max(found))))
    if min(found) < 0 < max(found):
        return f"within {math.ceil(100 * far)}%"
    side = "low" if max(found) < 0 else "high"
    return f"{100 * near:.0f} to {far:.0%} too {side}"


def transfers_words() -> str:
    """``within 8%``: how the wire follows the library's transfers, starts included."""
    far = max(abs(each.error) for each in transfers(book_assumptions()))
    return f"within {math.ceil(100 * far)}%"


@dataclass(frozen=True)
class MeasuredGroup:
    """A group in two halves: tokens/s of a GPU, measured, and by the model."""

    record: Deployment
    error: Error

    @property
    def measured(self) -> float:
        """As it was published."""
        return float(self.record.gpu_tokens_per_s)

    @property
    def predicted(self) -> float:
        """By the model, at the measured time per token."""
        return self.measured * (1 + self.error.at_speed)


def measured_groups() -> tuple[MeasuredGroup, ...]:
    """The measured groups beside the model, transfers free."""
    known = {record.name: record for record in DEPLOYMENTS}
    return tuple(MeasuredGroup(known[each.run], each) for each in errors("free"))


def unseen() -> float:
    """Largest error, of a rate, on decodes across nodes that were predicted blind."""
    runs = (
        each
        for each in blind_runs.blind()
        if setup(each.run.accelerator, each.run.ep).n_nodes > 1
    )
    return max(abs(1 / (1 + each.error) - 1) for each in runs)


@cache
def if_off(gpu: str, tpot_s: float) -> tuple[float, float]:
    """The split's least and greatest lead if the model errs alike on both sides.

    Kernels, network, or both take as much longer or shorter as it was off.
    """
    far = unseen()
    factors = (1 - far, 1.0, 1 + far)
    found = [lead(gpu, tpot_s, off=off) for off in product(factors, factors)]
    return min(found), max(found)


@cache
def wire_to_lead(gpu: str, tpot_s: float) -> int:
    """Per cent less time of the split's own wire at which it draws level.

    The group's network stays as it is.
    """
    group = whole(gpu, tpot_s).gpu_tokens_per_s

    def level(less: int) -> bool:
        split = best(gpu, tpot_s, off=(1.0, 1 - less / 100))
        return split.gpu_tokens_per_s(tpot_s) >= group

    return bisect_left(range(100), True, key=level)


def measured_table() -> Table:
    """Table of the measured groups: tokens/s of a GPU, measured and by the model."""
    rows = []
    for each in measured_groups():
        device = accelerator(each.record.accelerator).name.split()[0]
        # of the rates as printed, which a reader divides
        off = round(each.predicted) / round(each.measured) - 1
        where = f"{NAMES[each.error.run]}, {each.record.n_gpus} {device}, "
        rows.append(
            (
                f"{where}{1e3 * each.error.tpot_s:.0f} ms",
                f"{batch_of(each.record):.0f} × {float(each.record.context):,.0f}",
                f"{each.measured:,.0f}",
                f"{each.predicted:,.0f}",
                f"{100 * off:+.1f}%".replace("-", "−"),
            )
        )
    columns = ("group and TPOT", "requests × context", "measured", "model", "off")
    return Table("Groups in two halves, at their own time per token", columns, rows)


@cache
def every_lead() -> dict[tuple[str, int, str, float], float]:
    """The split's lead wherever the figure of all splits can be turned to."""
    return {
        (gpu, ms, overlap, context): lead(
            gpu, ms / 1e3, overlap=overlap, context=context
        )
        for gpu, ms, overlap, context in product(DEVICES, SHOWN_MS, OVERLAPS, CONTEXTS)
    }
