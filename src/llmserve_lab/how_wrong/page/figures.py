"""The chapter's figures: predicted over measured, the ladder, the folds."""

from __future__ import annotations

from typing import Any

from llmserve_lab.how_wrong.folds import NAMES, Fold, folds
from llmserve_lab.how_wrong.page import charts
from llmserve_lab.how_wrong.page import controls as c
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.validation.constants import record as validated

ENGINE_LEFT = list(c.LEFT).index("the engine")
TOP_BIAS = 8.0  # per cent: more than the mean error of TPOT with nothing hidden
LIMIT = 10.0  # per cent, of the goal on the ladder
SWITCHES_ALLOWED = 2
WIDEST, STATE, GAP = 18.0, 12.0, 0.3  # per cent: the axis, its right part, a space
STATES = {
    "other": "measured",
    "weights": "fitted to",
    "idle": "aside",
    "new": "predicted",
}


def leave_one_group_out() -> StepFigure:
    """The folds as they ran: one model set aside, six constants fitted, then it."""
    names = {fold.left_out: NAMES[fold.left_out] for fold in folds("model")}
    frames = [_first()]
    shown: list[dict[str, str]] = [dict.fromkeys(names, "other")]
    for fold in folds("model"):
        aside = {name: "idle" if name == fold.left_out else "weights" for name in names}
        frames += [_aside(fold), _predicted(fold)]
        shown += [aside, aside | {fold.left_out: "new"}]
    frames.append(_last())
    shown.append(dict.fromkeys(names, "new"))
    tables = {"states": _states(shown), "bars": _bars(), "scores": _scores()}
    return StepFigure(
        name="leave-one-group-out",
        title="Each model is predicted by constants that never saw it",
        scene=Scene(
            x=SceneAxis((0, WIDEST), "mean error of TPOT (%)"),
            y=SceneAxis(tuple(names.values())),
            marks=(
                Cells(table="bars", x="start", x2="end", y="model"),
                Cells(table="states", x="start", x2="end", y="model", text="text"),
                Labels(table="scores", align="left"),
            ),
            height=190,
        ),
        logs={"folds": StepLog(tuple(frames), tables)},
        start=0,
        stills=(("folds", 0), ("folds", 1), ("folds", 2)),
        legend={
            "other": "measured",
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
        f"{rows} measured rows of three models. Constants that are fitted to all of "
        "them, and scored on the same rows, would prove little."
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
        f"{per_cent(mean)} over all rows."
    )
    return Frame(said, ("–", 100 * mean))


def _bars() -> list[dict[str, Any]]:
    """A model's error as the length of its bar, from the frame on that predicts it."""
    return [
        {
            "model": NAMES[fold.left_out],
            "start": 0,
            "end": round(100 * fold.mean, 1),
            "ink": "new",
            "since": 2 * (place + 1),
        }
        for place, fold in enumerate(folds("model"))
    ]


def _scores() -> list[dict[str, Any]]:
    """How many rows a model has; behind its bar, from then on, the error."""
    found: list[dict[str, Any]] = []
    for place, fold in enumerate(folds("model")):
        own = {"y": NAMES[fold.left_out]}
        rows = f"{fold.n_predicted} rows"
        known = 2 * (place + 1)
        error = {"x": 100 * fold.mean + GAP, "text": per_cent(fold.mean)}
        found.append({**own, "x": GAP, "text": rows, "since": 0, "until": known})
        found.append({**own, **error, "since": known})
    return found


def _states(shown: list[dict[str, str]]) -> list[dict[str, Any]]:
    """A cell for each model and span of frames: what is done with its rows then."""
    found: list[dict[str, Any]] = []
    for fold in folds("model"):
        inks = [frame[fold.left_out] for frame in shown]
        changes = [i for i, ink in enumerate(inks) if not i or ink != inks[i - 1]]
        for since, until in zip(changes, [*changes[1:], len(inks)], strict=True):
            place = {"model": NAMES[fold.left_out], "start": STATE, "end": WIDEST}
            life = {"since": since, "until": until, "ink": inks[since]}
            found.append({**place, "text": STATES[inks[since]], **life})
    return found


def residuals() -> LiveFigure:
    """Predicted over measured, a point a row, and which way each engine leans."""
    return LiveFigure(
        name="residuals",
        title="Whatever the fit has seen, TensorRT-LLM leans long and vLLM short",
        chart=charts.residuals,
        controls=(c.kind(), c.left(), *c.error_tables()),
        readouts=(
            Readout("mean_error", "Mean error"),
            Readout("bias", "Bias"),
            Readout("tensorrt_lean", "Lean (bias) on TensorRT-LLM"),
            Readout("vllm_lean", "Lean (bias) on vLLM"),
        ),
        sentence=(
            "Predicted: {kind}; left out: {left}. The mean absolute percentage error "
            "is {mean_error}, half of the rows are closer than {median_error}, and the "
            "bias is {bias}: {tensorrt_lean} on the rows of TensorRT-LLM, {vllm_lean} "
            "on those of vLLM. The strip is a factor of 1¼ to either side."
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
