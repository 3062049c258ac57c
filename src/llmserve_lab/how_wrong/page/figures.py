"""The chapter's figures: predicted over measured, the ladder, the folds."""

from __future__ import annotations

from typing import Any

from llmserve_lab.how_wrong.folds import NAMES, Fold, folds
from llmserve_lab.how_wrong.page import charts
from llmserve_lab.how_wrong.page import controls as c
from llmserve_lab.how_wrong.record import record
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.validation.constants import record as validated

SHEET_LEFT = len(c.LEFT) - 1
SMALLEST = 7.3  # per cent: only the fit to all rows has a smaller mean error of TPOT
LIMIT = 10.0  # per cent, of the goal on the ladder
SWITCHES_ALLOWED = 2
WIDEST, GAP = 13.0, 0.3  # per cent: the axis, and a space before words
OPENS = 0  # one model has been predicted; a question asks for another
STATES = {"weights": "in the fit", "new": "predicted"}


def _order() -> tuple[Fold, ...]:
    """The folds, the model with the fewest kinds of GPU first, the asked-for last."""
    return folds("model")[::-1]


def leave_one_group_out() -> StepFigure:
    """The folds as they ran: one model set aside, six constants fitted, then it."""
    names = {fold.left_out: NAMES[fold.left_out] for fold in _order()}
    frames = [_predicted(fold) for fold in _order()] + [_last()]
    fitted = dict.fromkeys(names, "weights")
    shown = [fitted | {fold.left_out: "new"} for fold in _order()]
    shown.append(dict.fromkeys(names, "new"))
    tables = {"bars": _bars(), "words": _words(shown)}
    return StepFigure(
        name="leave-one-group-out",
        title="Constants fitted to two models predict the third",
        scene=Scene(
            x=SceneAxis((0, WIDEST), "mean error of TPOT (%)"),
            y=SceneAxis(tuple(names.values())),
            marks=(
                Cells(table="bars", x="start", x2="end", y="model"),
                Labels(table="words", align="left"),
            ),
            height=120,
        ),
        logs={"folds": StepLog(tuple(frames), tables)},
        start=OPENS,
        stills=(("folds", OPENS), ("folds", 2), ("folds", len(frames) - 1)),
        legend={"new": "mean error of a model that the constants never saw"},
        counters=(Counter("mean error of TPOT", "%"),),
    )


def _predicted(fold: Fold) -> Frame:
    said = (
        f"{NAMES[fold.left_out]} is set aside. The six constants are fitted to the "
        f"other {fold.n_fitted} rows and predict its {fold.n_predicted} rows: the mean "
        f"error is {per_cent(fold.mean)}."
    )
    return Frame(said, (100 * fold.mean,))


def _last() -> Frame:
    mean = validated()["scores"]["model"]["tpot"]["mean"]
    said = (
        "Every row has been predicted once by constants that never saw its model: "
        f"{per_cent(mean)} over all rows."
    )
    return Frame(said, (100 * mean,))


def _bars() -> list[dict[str, Any]]:
    """A model's error as the length of its bar, from the frame on that predicts it."""
    return [
        {
            "model": NAMES[fold.left_out],
            "start": 0,
            "end": round(100 * fold.mean, 1),
            "ink": "new",
            "since": place,
        }
        for place, fold in enumerate(_order())
    ]


def _words(shown: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Beside each model, by frames: its error once known, until then what it is for."""
    found: list[dict[str, Any]] = []
    for place, fold in enumerate(_order()):
        known = place
        said = [
            _word(fold, frame[fold.left_out], known=i >= known)
            for i, frame in enumerate(shown)
        ]
        told = [
            (word, frame[fold.left_out])
            for word, frame in zip(said, shown, strict=True)
        ]
        changes = [i for i, each in enumerate(told) if not i or each != told[i - 1]]
        for since, until in zip(changes, [*changes[1:], len(said)], strict=True):
            x = GAP + (100 * fold.mean if since >= known else 0)
            own = {"y": NAMES[fold.left_out], "x": x, "text": said[since]}
            state = shown[since][fold.left_out]
            found.append({**own, "state": state, "since": since, "until": until})
    return found


def _word(fold: Fold, state: str, *, known: bool) -> str:
    if not known:
        return f"{fold.n_predicted} rows, {STATES[state]}"
    return per_cent(fold.mean)


def residuals() -> LiveFigure:
    """Predicted over measured, a point a row, and which way each engine leans."""
    return LiveFigure(
        name="residuals",
        title="Fitted times: too short for vLLM, too long for TensorRT-LLM",
        chart=charts.residuals,
        controls=(c.kind(), c.left(), *c.error_tables()),
        readouts=(
            Readout("mean_error", "Mean error"),
            Readout("all_bias", "Bias, all rows"),
            Readout("tensorrt_bias", "Bias on TensorRT-LLM"),
            Readout("vllm_bias", "Bias on vLLM"),
        ),
        sentence=(
            "Predicted: {kind}; left out: {left}. The mean absolute percentage error "
            "is {mean_error} (95 % interval {mean_low} to {mean_high}), half of the "
            "rows are closer than {median_error}, and the bias is {all_bias}: "
            "{tensorrt_bias} on the rows of TensorRT-LLM, {vllm_bias} on those of "
            "vLLM. The strip is a factor of 1¼ to either side."
        ),
        goal=Goal(
            "which choice makes the mean error of TPOT smallest? It is the score that "
            "should not be quoted alone.",
            lambda kind, left, mean_error: (
                (kind < 1) & (mean_error < SMALLEST) & (left < SHEET_LEFT)
            ),
            {"left": "nothing (in-sample)"},
        ),
    )


def steps() -> list[tuple[str, float, float]]:
    """Mean errors of TPOT and TTFT with the switches turned on one after the other."""
    names = (charts.SHEET_ROW, *(f"+ {name}" for name in c.TERMS.values()))
    found = record()["switches"]
    return [
        (name, *found["1" * place + "0" * (len(c.TERMS) - place)][:2])
        for place, name in enumerate(names)
    ]


def ladder() -> LiveFigure:
    """Terms from the datasheet to the full model, each switched on by itself."""
    return LiveFigure(
        name="ladder",
        title="The time per layer takes away most of the error of TPOT",
        chart=lambda: charts.ladder(steps()),
        controls=(*c.switches(), *c.switch_tables()),
        readouts=(
            Readout("tpot_error", "Mean error of TPOT"),
            Readout("ttft_error", "Mean error of TTFT"),
        ),
        sentence=(
            "With these switches the mean error of TPOT is {tpot_error} (95 % interval "
            "{tpot_low} to {tpot_high}), that of TTFT {ttft_error} ({ttft_low} to "
            "{ttft_high})."
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
