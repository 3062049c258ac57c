"""The chapter's figures: predicted over measured, the ladder, the folds."""

from __future__ import annotations

from typing import Any

from llmserve_lab.how_wrong.folds import NAMES, Fold, folds
from llmserve_lab.how_wrong.page import charts
from llmserve_lab.how_wrong.page import controls as c
from llmserve_lab.how_wrong.record import SHEET, mean_error, record
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
WIDEST, GAP = 75.0, 0.8  # per cent: the axis, and a space before words
FIRST = 0  # the frame in which nothing has been predicted yet
SHEET_BAR = "datasheet"


def _order() -> tuple[Fold, ...]:
    """The folds, that of the question first."""
    return folds("model")


def leave_one_group_out() -> StepFigure:
    """The folds as they ran: one model set aside, six constants fitted, then it."""
    names = [NAMES[fold.left_out] for fold in _order()]
    frames = (_asked(), *(_predicted(fold) for fold in _order()), _last())
    tables = {"bars": _bars(), "words": _words(len(frames))}
    off = [fold.mean for fold in _order()]
    sheet = per_cent(mean_error("tpot", SHEET), 0)
    return StepFigure(
        name="leave-one-group-out",
        title=(
            f"Constants fitted to two models miss the third by {100 * min(off):.0f} to "
            f"{100 * max(off):.0f} %, the datasheet by {sheet}"
        ),
        scene=Scene(
            x=SceneAxis((0, WIDEST), "mean error of TPOT (%)"),
            y=SceneAxis((*names, SHEET_BAR)),
            marks=(
                Cells(table="bars", x="start", x2="end", y="model"),
                Labels(table="words", align="left"),
            ),
            height=125,
        ),
        logs={"folds": StepLog(frames, tables)},
        start=len(frames) - 1,
        stills=(("folds", FIRST), ("folds", 1), ("folds", len(frames) - 1)),
        legend={
            "new": "a model that the constants never saw",
            "other": "the datasheet alone, all rows",
        },
        counters=(Counter("mean error of TPOT", "%"),),
    )


def _asked() -> Frame:
    fold, *_ = _order()
    said = (
        f"{NAMES[fold.left_out]} is set aside. The six constants are fitted to the "
        f"{fold.n_fitted} rows of the two smaller models. The datasheet alone, with "
        f"nothing fitted, has a mean error of {per_cent(mean_error('tpot', SHEET))}."
    )
    return Frame(said, (100 * mean_error("tpot", SHEET),))


def _predicted(fold: Fold) -> Frame:
    said = (
        f"The constants fitted to the {fold.n_fitted} rows of the other two models "
        f"predict the {fold.n_predicted} rows of {NAMES[fold.left_out]}: the mean "
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
    """The datasheet's error, and a model's from the frame on that predicts it."""
    errors = [
        (NAMES[fold.left_out], fold.mean, "new", place)
        for place, fold in enumerate(_order(), start=1)
    ]
    errors.append((SHEET_BAR, mean_error("tpot", SHEET), "other", FIRST))
    return [
        {"model": name, "start": 0, "end": round(100 * error, 1), "ink": ink,
         "since": since}
        for name, error, ink, since in errors
    ]  # fmt: skip


def _words(n_frames: int) -> list[dict[str, Any]]:
    """Beside each model what it is for, and its error from its own frame on."""
    found = [_word(SHEET_BAR, mean_error("tpot", SHEET), "", FIRST, n_frames)]
    for place, fold in enumerate(_order(), start=1):
        name, rows = NAMES[fold.left_out], f"{fold.n_predicted} rows"
        if place == 1:
            found.append(_word(name, None, f"{rows}: how far off?", FIRST, place))
        else:
            found.append(_word(name, None, f"{rows}, in the fit", FIRST, place))
        found.append(_word(name, fold.mean, "", place, n_frames))
    return found


def _word(
    name: str, error: float | None, said: str, since: int, until: int
) -> dict[str, Any]:
    """A text in a model's row: to the right of its bar, if it has one."""
    x = GAP + (100 * error if error is not None else 0)
    text = said if error is None else per_cent(error)
    return {"y": name, "x": x, "text": text, "since": since, "until": until}


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
