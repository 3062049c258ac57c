"""The chapter's figures: predicted over measured, the ladder, a band, the folds."""

from __future__ import annotations

from typing import Any

from llmserve_lab.how_wrong.folds import NAMES, Fold, folds, groups
from llmserve_lab.how_wrong.page import charts
from llmserve_lab.how_wrong.page import controls as c
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Readout, Verdict
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.validation.constants import record as validated

ENGINE_LEFT = list(c.LEFT).index("the engine")
TOP_BIAS = 8.0  # per cent: more than the mean error of TPOT with nothing hidden
LIMIT = 10.0  # per cent, of the goal on the ladder
SWITCHES_ALLOWED = 2
BESIDE = 1.1  # times the longest bar: behind each stands its error


def leave_one_out() -> StepFigure:
    """The folds as they ran: one model set aside, six constants fitted, then it."""
    names = {fold.left_out: NAMES[fold.left_out] for fold in folds("model")}
    frames = [_first()]
    shown: list[dict[str, str]] = [dict.fromkeys(names, "weights")]
    for fold in folds("model"):
        aside = {name: "idle" if name == fold.left_out else "weights" for name in names}
        frames += [_aside(fold), _predicted(fold)]
        shown += [aside, aside | {fold.left_out: "new"}]
    frames.append(_last())
    shown.append(dict.fromkeys(names, "new"))
    most = max(fold.n_predicted for fold in folds("model"))
    cells = Cells(table="cells", x="start", x2="end", y="model", text="text")
    return StepFigure(
        name="leave-one-out",
        title="Each model is predicted by constants that never saw it",
        scene=Scene(
            x=SceneAxis((0, BESIDE * most), "measured rows"),
            y=SceneAxis(tuple(names.values())),
            marks=(cells, Labels(table="scores", align="left")),
            height=190,
        ),
        logs={"folds": StepLog(tuple(frames), {"cells": _cells(shown), **_scores()})},
        start=2,
        stills=(("folds", 0), ("folds", 1), ("folds", 2)),
        legend={
            "weights": "fitted to",
            "idle": "set aside, not looked at",
            "new": "predicted",
        },
        counters=(
            Counter("time per layer, fitted", "s"),
            Counter("mean error of TPOT", "%"),
        ),
    )


def _first() -> Frame:
    rows = sum(fold.n_predicted for fold in folds("model"))
    said = (
        f"{rows} measured rows of three models, by GPU and engine. Fitting to all of "
        "them, and scoring the same, would be no test."
    )
    return Frame(said, ("–", "–"))


def _aside(fold: Fold) -> Frame:
    said = (
        f"{NAMES[fold.left_out]} is set aside. The six constants are fitted to the "
        f"other {fold.n_fitted} rows."
    )
    return Frame(said, (fold.layer_s, "–"))


def _predicted(fold: Fold) -> Frame:
    said = (
        f"These constants predict the {fold.n_predicted} rows of "
        f"{NAMES[fold.left_out]}: the mean error is {per_cent(fold.mean)}."
    )
    return Frame(said, (fold.layer_s, 100 * fold.mean))


def _last() -> Frame:
    mean = validated()["scores"]["model"]["tpot"]["mean"]
    said = (
        "Every row has been predicted once by constants that never saw its model: "
        f"together {per_cent(mean)}, model left out. In each bar: GPU and engine."
    )
    return Frame(said, ("–", 100 * mean))


def _scores() -> dict[str, list[dict[str, Any]]]:
    """The error behind each bar, from the frame on in which it is known."""
    return {
        "scores": [
            {
                "x": fold.n_predicted + 4,
                "y": NAMES[fold.left_out],
                "text": per_cent(fold.mean),
                "since": 2 * (place + 1),
            }
            for place, fold in enumerate(folds("model"))
        ]
    }


def _cells(shown: list[dict[str, str]]) -> list[dict[str, Any]]:
    """A cell for each server and span of frames in which its ink stays."""
    found: list[dict[str, Any]] = []
    for fold in folds("model"):
        inks = [frame[fold.left_out] for frame in shown]
        changes = [i for i, ink in enumerate(inks) if not i or ink != inks[i - 1]]
        start = 0
        for text, count in groups(fold.left_out):
            place = {
                "model": NAMES[fold.left_out],
                "start": start,
                "end": start + count,
            }
            for since, until in zip(changes, [*changes[1:], len(inks)], strict=True):
                life = {"since": since, "until": until, "ink": inks[since]}
                found.append({**place, "text": text, **life})
            start += count
    return found


def residuals() -> LiveFigure:
    """Predicted over measured, a point a row, and which way each engine leans."""
    return LiveFigure(
        name="residuals",
        title="Predicted over measured: on the line, a prediction is right",
        chart=charts.residuals,
        controls=(c.kind(), c.left(), *c.error_tables()),
        readouts=(
            Readout("mean_error", "Mean error"),
            Readout("median_error", "Median"),
            Readout("bias", "Bias"),
            Readout("tensorrt_lean", "Lean on TensorRT-LLM"),
            Readout("vllm_lean", "Lean on vLLM"),
        ),
        sentence=(
            "Predicted: {kind}; left out: {left}. The mean absolute percentage error "
            "is {mean_error}, half of the rows are closer than {median_error}, and the "
            "bias is {bias}. It leans by {tensorrt_lean} on TensorRT-LLM, by "
            "{vllm_lean} on vLLM. The strip is a factor of 1¼ to either side."
        ),
        goal=Goal(
            "find what to leave out so that TPOT has a mean error above eight per "
            "cent, although something was fitted.",
            lambda kind, left, mean_error, bias: (
                (kind < 1) & (mean_error > TOP_BIAS) & (left < ENGINE_LEFT + 1)
            ),
            {"left": "the engine"},
        ),
    )


def ladder() -> LiveFigure:
    """Terms from the datasheet to the full model, each switched on by itself."""
    found = [(name, tpot, ttft) for name, tpot, ttft in validated()["ladder"]]
    return LiveFigure(
        name="ladder",
        title="From the datasheet to the measured server, one term at a time",
        chart=lambda: charts.ladder(found),
        controls=(*c.switches(), *c.switch_tables()),
        readouts=(
            Readout("tpot_error", "Mean error of TPOT"),
            Readout("ttft_error", "Mean error of TTFT"),
        ),
        sentence=(
            "With these switches the mean error of TPOT is {tpot_error}, that of TTFT "
            "{ttft_error}."
        ),
        goal=Goal(
            "bring the error of TPOT below ten per cent with only two of the five "
            "terms as fitted.",
            lambda tpot_error, shares, link, layers, requests, client: (
                (tpot_error < LIMIT)
                & (shares + link + layers + requests + client <= SWITCHES_ALLOWED)
            ),
            {"shares": c.ON, "layers": c.ON},
        ),
    )


def band() -> LiveFigure:
    """The error band of a setting, or none where nothing like it was measured."""
    return LiveFigure(
        name="band",
        title="A prediction has a band where something like it was measured",
        chart=charts.band,
        controls=(c.kind(), *c.setting_choices(), *c.band_tables()),
        readouts=(
            Verdict(
                "where",
                "This setting is",
                "outside",
                "half",
                ("inside what was measured", "outside everything measured"),
            ),
        ),
        sentence=(
            "The {kind} of {model} on four {gpu}, {clients} clients, prompts of "
            "{prompt} tokens and answers of a thousand: {where}."
        ),
        goal=Goal(
            "go outside everything measured by changing only the prompt.",
            lambda model, gpu, clients, outside: (
                (outside > 0)
                & (model > 0)
                & (model < 2)
                & (gpu > 0)
                & (gpu < 2)
                & (clients > 2)
                & (clients < 4)
            ),
            {"prompt": "65,536"},
        ),
    )
