"""The chapter's running example: one measured server, and two calculators beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import mean, median

from llmserve_lab.checks import key_of
from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.folds import constants_without
from llmserve_lab.how_wrong.formulas import RELATIVE_ERROR
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.validation import (
    DATASHEET,
    MeasuredRow,
    Predictor,
    ServingConstants,
    dense_rows,
)

MODEL, SYSTEM, TP, LENGTH, CLIENTS = "llama-3-70b", "h100-sxm", 4, 1024, 64


@cache
def rows() -> tuple[MeasuredRow, ...]:
    """Llama-3.1-70B on four H100, prompts and answers of a thousand tokens or so."""
    found = [row for row in dense_rows() if _is_mine(row)]
    return tuple(sorted(found, key=lambda row: row.clients))


def _is_mine(row: MeasuredRow) -> bool:
    asked = (MODEL, SYSTEM, TP, LENGTH, LENGTH)
    has = (row.model, row.system, row.tp, row.prompt_len, row.output_len)
    return has == asked


@cache
def predictor() -> Predictor:
    """The example's rows, counted by the engine."""
    return Predictor(rows())


def tpot_ms(reached: ServingConstants) -> dict[int, float]:
    """Predicted milliseconds per output token, by clients."""
    found = predictor().predict(reached).tpot
    return {
        row.clients: 1e3 * float(each) for row, each in zip(rows(), found, strict=True)
    }


def measured_ms() -> dict[int, float]:
    """Measured milliseconds per output token, by clients."""
    return {row.clients: 1e3 * row.tpot_s for row in rows()}


@dataclass(frozen=True)
class WorkedRow:
    """A row of the example as it is worked by hand: time per output token and error."""

    seconds: float
    share: float
    clients: str

    @property
    def shown(self) -> str:
        """The time per output token."""
        return f"{1e3 * self.seconds:.2f} ms"

    @property
    def error(self) -> str:
        """The relative error, signed."""
        return signed(self.share, 2)


MACHINES = ("measured", "datasheet", "left out")
PRINTED = 2  # digits of a millisecond: errors are those of the times as printed


def unseen() -> ServingConstants:
    """The constants that never saw the example's model: its cross-validated machine."""
    return constants_without("model", MODEL)


@cache
def worked(machine: str) -> tuple[WorkedRow, ...]:
    """Measured rows, or their prediction by a machine, with few clients and with many.

    Times are rounded as they are printed, so that a reader gets the same errors.

    Raises:
        LookupError: there is no such machine.
    """
    key_of("machine", machine, MACHINES)
    true = measured_ms()
    made = true if machine == "measured" else tpot_ms(_reached(machine))
    return tuple(
        _row(round(made[clients], PRINTED), round(true[clients], PRINTED), clients)
        for clients in true
    )


def _reached(machine: str) -> ServingConstants:
    return DATASHEET if machine == "datasheet" else unseen()


def _row(made_ms: float, true_ms: float, clients: int) -> WorkedRow:
    error = RELATIVE_ERROR(predicted_s=made_ms / 1e3, measured_s=true_ms / 1e3)
    return WorkedRow(made_ms / 1e3, float(error), str(clients))


def mean_of(found: tuple[WorkedRow, ...]) -> str:
    """Mean absolute percentage error of some rows."""
    return per_cent(mean(abs(each.share) for each in found), 2)


def bias_of(found: tuple[WorkedRow, ...]) -> str:
    """Mean of the signed errors of some rows."""
    return signed(mean(each.share for each in found), 2)


def median_of(found: tuple[WorkedRow, ...]) -> str:
    """Median size of the errors of some rows."""
    return per_cent(median(abs(each.share) for each in found), 2)


def tokens_per_s() -> tuple[float, float, float]:
    """Output tokens per second: by the datasheet, by constants left out, measured.

    Each client always has one request under way, so that the rate is clients × tokens
    of a mean answer / end-to-end time; the measured one to a hundredth of a second, as
    the page's plan has it.
    """
    place = next(i for i, row in enumerate(rows()) if row.clients == CLIENTS)
    tokens = CLIENTS * predictor().exposures[place].output_len
    times = (predictor().predict(DATASHEET), predictor().predict(unseen()))
    sheet, book = (tokens / float(each.e2e[place]) for each in times)
    measured = round(float(predictor().measured.e2e[place]), PRINTED)
    return sheet, book, tokens / measured


def mean_answer() -> float:
    """Mean tokens of an answer at the largest load of the example."""
    place = next(i for i, row in enumerate(rows()) if row.clients == CLIENTS)
    return float(predictor().exposures[place].output_len)
