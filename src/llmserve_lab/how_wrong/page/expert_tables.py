"""Table of the blind test of mixtures of experts, and what was learned of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.expert_form import ExpertConstants
from llmserve_lab.validation.experts import GOAL, OPENED, SHAPES, stored_runs
from llmserve_lab.validation.prediction import Kind

__all__ = ["GOAL", "SHAPES", "bias_of", "blind", "experts", "extra", "mended", "score"]
EACH = "all"


def score(sort: str, kind: Kind, model: str = EACH) -> Mapping[str, Any]:
    """A score of the record: ``"blind"`` or ``"model left out"``, of one model or all.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()["experts"][sort][model][kind]
    return found


def extra(left_out: str = EACH) -> ExpertConstants:
    """The two constants fitted to all runs, or with one model left out."""
    return ExpertConstants(**record()["experts"]["constants"][left_out])


def bias_of(model: str, system: str, engine: str, precision: str) -> float:
    """Bias of TPOT of one group of runs, their model left out of the two constants."""
    group = f"{model}, {system}, {engine}, {precision}"
    return float(record()["experts"]["groups"][group][1])


def mended() -> tuple[str, str]:
    """The mended predictor's mean error of TPOT, and its bias, as they are printed."""
    return _printed(score("model left out", "tpot"))


def blind() -> tuple[str, str]:
    """The same of the machine fitted to dense models."""
    return _printed(score("blind", "tpot"))


def _printed(found: Mapping[str, Any]) -> tuple[str, str]:
    """A mean error with the ends of its interval, and a bias."""
    ends = found["low"], found["high"]
    return with_ends(found["mean"], ends), signed(found["bias"], 1)


def experts() -> Table:
    """Blind errors by model, and those of the mended predictor beside them."""
    rows = [
        (
            shape.name,
            _count(name),
            *(_said(score("blind", kind, name)) for kind in ("tpot", "ttft", "e2e")),
            _said(score("model left out", "tpot", name)),
        )
        for name, shape in SHAPES.items()
    ]
    everything = (
        "all",
        _count(EACH),
        *(_said(score("blind", kind)) for kind in ("tpot", "ttft", "e2e")),
        _said(score("model left out", "tpot")),
    )
    return Table(
        "Mean error (and bias) of servers of mixtures of experts",
        ("model", "runs", "TPOT, blind", "TTFT, blind", "answer, blind",
         "TPOT, mended"),
        [*rows, everything],
        notes=(
            f"Blind until {OPENED.date}: constants of dense models; form, and which "
            f"runs are taken, fixed before. From aiconfigurator; what the clients sent "
            "is not published, so TTFT says little.",
            "Mended: cross-validated, each model in its turn kept out of the fit of "
            "two new constants.",
        ),
    )  # fmt: skip


def _count(model: str) -> str:
    return str(sum(model in (EACH, row.model) for row in stored_runs()))


def _said(found: Mapping[str, Any]) -> str:
    return f"{per_cent(found['mean'])} ({signed(found['bias'], 0)})"
