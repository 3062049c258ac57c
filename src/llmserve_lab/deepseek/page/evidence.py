"""Predicted against measured, and what choosing near experts would buy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    KIMI_DECODE,
    PROFILED_DECODE,
    SGLANG_DECODE,
    SGLANG_DRAFTED,
    SMALL_BATCHES,
)
from llmserve_lab.catalog.evidence.status import Kind
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import blind_runs, caveats, decode_scores
from llmserve_lab.deepseek.evaluation.group_size import WAYS
from llmserve_lab.deepseek.evaluation.predictions import (
    Score,
    by_status,
    points,
)
from llmserve_lab.deepseek.executed.location import favouring, placed
from llmserve_lab.deepseek.model.setup import setup, setup_of
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page.tables import is_worker, per_cent
from llmserve_lab.formula.text import signed
from llmserve_lab.page.palette import BLUE, GREEN, GREY, PURPLE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

STRIP = 0.2  # of the figure: a fifth more, a fifth less
PREFILL, ACROSS, INSIDE = (
    "prefill",
    "decode across nodes (InfiniBand)",
    "decode in one node or rack",
)
BLIND = "decode, predicted blind"
MARKS = {  # in the order in which they are drawn, what is hollow on top
    PREFILL: ("s", GREEN, 3.5),
    INSIDE: ("^", VERMILLION, 3.5),
    ACROSS: ("o", BLUE, 8),
    BLIND: ("D", PURPLE, 4.5),
}


@dataclass(frozen=True)
class Beside:
    """One run: kind, GPUs, and tokens/s of one of them, predicted and measured.

    ``status`` is what the run was when it was first predicted.
    """

    kind: str
    name: str
    n_gpus: int
    predicted: float
    measured: float
    status: Kind

    @property
    def error(self) -> float:
        """How far the prediction is above the measurement, as a share of it."""
        return self.predicted / self.measured - 1

    @property
    def mark(self) -> str:
        """What it is drawn as: a blind run as one, another by its kind."""
        return BLIND if self.status == "blind" else self.kind


def runs() -> tuple[Beside, ...]:
    """Every published run, as tokens per second of a GPU, the blind ones last."""
    assumed, found = book_assumptions(), list[Beside]()
    few = (each.point for each in caveats.few_requests(assumed))
    # A run that the host's time was fitted to stands among the decode workers.
    for point in (*points(assumed), *(one for one in few if one.status == "seen")):
        across = setup_of(point.record).n_nodes > 1
        kind = PREFILL if point.batch is None else ACROSS if across else INSIDE
        rates = (point.predicted, point.measured)
        name, n_gpus = point.name, point.record.n_gpus
        found.append(Beside(kind, name, n_gpus, *rates, point.status))
    found += [_worker(each, each.status) for each in decode_scores.predictions(assumed)]
    found += [_worker(each, "blind") for each in blind_runs.blind()]
    return tuple(found)


def _worker(found: decode_scores.Predicted, status: Kind) -> Beside:
    """A decode worker, its step as the rate of a GPU."""
    run = found.run
    kind = ACROSS if setup(run.accelerator, run.ep).n_nodes > 1 else INSIDE
    made, real = (found.requests / s for s in (found.predicted_s, found.measured_s))
    return Beside(kind, run.name, run.ep, made, real, status)


def n_workers() -> int:
    """How many of the runs are decode workers of InferenceX, seen, fitted or blind."""
    assumed = book_assumptions()
    few = (each.point for each in caveats.few_requests(assumed))
    seen = [one for one in few if one.status == "seen" and is_worker(one)]
    fitted = decode_scores.predictions(assumed)
    return len(seen) + len(fitted) + len(blind_runs.blind())


def by_use() -> dict[Kind, Score]:
    """Scores apart by what the runs were used for."""
    return {
        each.status: each for each in by_status((r.status, r.error) for r in runs())
    }


def within(share: float = STRIP) -> int:
    """How many runs are predicted within a share."""
    return sum(abs(run.error) <= share for run in runs())


def missed() -> tuple[Beside, ...]:
    """Runs that the strip does not hold, the farthest first."""
    far = [run for run in runs() if abs(run.error) > STRIP]
    return tuple(sorted(far, key=lambda run: -abs(run.error)))


NAMED = (  # runs with words beside them, and where the words begin
    (DEEPSEEK_PREFILL, "a day's prefill", (3.7, 41)),
    (DEEPSEEK_DECODE, "DeepSeek's day", (185, -24.5)),
    (PROFILED_DECODE, "DeepSeek's profile", (185, -14)),
    (SGLANG_DECODE, "opening's run", (185, -6)),
    (SGLANG_DRAFTED, "SGLang, drafts", (75, -31)),
    (KIMI_DECODE, "Kimi K2", (185, 2)),
    (SMALL_BATCHES[-1], "2 requests each", (21, 24)),
)
FAST = max(
    (run for run in BLIND_RUNS if run.accelerator == "h100-sxm"),
    key=lambda run: run.requests_per_gpu,
)
FEW = min(BLIND_RUNS, key=lambda run: run.requests_per_gpu)
NAMED_BLIND = (
    (FAST, "16 H100s, blind, up to", (45, 35)),
    (FEW, "2 requests each, blind", (11, -41)),
)
SIZES = (4, 8, 16, 32, 48, 72, 144)  # GPUs, on the axis


def faster() -> tuple[int, int]:
    """Of decode across nodes, how many runs were faster than predicted, and of all."""
    errors = [run.error for run in runs() if run.kind == ACROSS]
    return sum(error < 0 for error in errors), len(errors)


@figure_style()
def predicted_and_measured() -> StaticFigure:
    """The error of each run by the size of its group, and a strip of a fifth."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 3.0))
    axes.axhspan(-100 * STRIP, 100 * STRIP, color=GREY.light, alpha=0.16)
    axes.axhline(0, color=GREY.light, linewidth=1)
    found = runs()
    for mark, (marker, ink, size) in MARKS.items():
        of = [run for run in found if run.mark == mark]
        sizes, errors = [r.n_gpus for r in of], [100 * r.error for r in of]
        look = {"color": ink.light, "markersize": size, "label": mark}
        hollow = {"markerfacecolor": "none"} if mark == BLIND else {}
        axes.semilogx(sizes, errors, marker, **look, **hollow)
    for record, words, place in (*NAMED, *NAMED_BLIND):
        name = record.name
        (run,) = (r for r in found if r.name == name or f"{name}, batch" in r.name)
        axes.annotate(
            f"{words} {signed(run.error)}",
            (run.n_gpus, 100 * run.error),
            xytext=place,
            fontsize=9,
            va="center",
            arrowprops={"arrowstyle": "-", "color": GREY.light, "linewidth": 0.8},
        )
    axes.minorticks_off()
    axes.set_xticks(SIZES, [f"{size}" for size in SIZES])
    axes.set(
        xlim=(3.3, 2600),
        ylim=(-48, 52),
        xlabel="GPUs in the group (log scale)",
        ylabel="error of the rate (%)",
    )
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=2,
        fontsize=9,
        handlelength=1,
        columnspacing=1,
        frameon=False,
    )
    blind = [run for run in found if run.status == "blind"]
    near = sum(abs(run.error) <= STRIP for run in blind)
    return StaticFigure.of(
        figure,
        name="deepseek.predicted_and_measured",
        title=f"{near} of {len(blind)} blind runs are predicted within a fifth",
        sentence=(
            f"{len(found)} published runs of DeepSeek-V3 and Kimi K2; below zero, the "
            f"run was faster than predicted; the grey strip is {per_cent(STRIP)} on "
            f"either side and holds {within()} of all runs. Hollow: the {len(blind)} "
            "that were predicted before they were opened (blind); the others were "
            "known."
        ),
    )


BONUSES = (0.0, 0.05, 0.1, 0.3)
PLACE, REQUESTS, CONTEXT = setup("h100-sxm", 64), 256, 2000


@dataclass(frozen=True)
class Favoured:
    """A bonus for experts of the own node: what leaves it, what changes, the rate."""

    bonus: float
    far: float
    replaced: float
    tokens_per_s: float


def favoured(bonus: float) -> Favoured:
    """Choose with a bonus, count the copies, and let the twin send them."""
    experts = PLACE.experts
    nodes = int(PLACE.n_nodes)
    choose = favouring(bonus, top_k=experts.top_k, n_nodes=nodes)
    size = {"n_experts": experts.n_experts, "top_k": experts.top_k}
    found = placed(choose, n_nodes=nodes, **size)
    rates = []
    for overlap in WAYS:
        assumed = replace(book_assumptions(), overlap=overlap)
        twin = Twin(setup=PLACE, assumptions=assumed)
        known = twin.arguments(batch=REQUESTS, context=CONTEXT)
        rates.append(REQUESTS / float(twin.step_of(known | {"far_share": found.far})))
    return Favoured(bonus, found.far, found.replaced, max(rates))
