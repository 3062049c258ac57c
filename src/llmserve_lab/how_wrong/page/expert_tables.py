"""Table of both blind trials of mixtures of experts, and what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llmserve_lab.catalog import ModelShape
from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.expert_form import ExpertConstants
from llmserve_lab.validation.experts import GOAL, OPENED, SHAPES
from llmserve_lab.validation.latent_rows import LATENT_SHAPES
from llmserve_lab.validation.prediction import Kind

__all__ = [
    "GOAL", "SHAPES", "bias_of", "blind", "experts", "extra", "mended", "score",
    "second", "tried",
]  # fmt: skip
EACH = "all"


def score(sort: str, kind: Kind, model: str = EACH) -> Mapping[str, Any]:
    """A score of the record: ``"blind"`` or ``"model left out"``, of one model or all.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()["experts"][sort][model][kind]
    return found


def tried(sort: str, kind: Kind, model: str = EACH) -> Mapping[str, Any]:
    """A score of the second trial: of the ``"mended"`` or the ``"dense"`` predictor.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()["second trial"][sort][model][kind]
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


def second() -> tuple[str, str]:
    """The mended predictor's, of the second trial, in which it was blind."""
    return _printed(tried("mended", "tpot"))


def _printed(found: Mapping[str, Any]) -> tuple[str, str]:
    """A mean error with the ends of its interval, and a bias."""
    ends = found["low"], found["high"]
    return with_ends(found["mean"], ends), signed(found["bias"], 1)


def experts() -> Table:
    """Errors by model of both trials, and those of the mended predictor beside them."""
    return Table(
        "Mean error (and bias), mixtures of experts",
        ("model", "runs", "TPOT", "TTFT", "TPOT, mended"),
        [
            *_rows(SHAPES, score, ("blind", "model left out")),
            *_rows(LATENT_SHAPES, tried, ("dense", "mended")),
        ],
        notes=(
            f"Constants of dense models; “mended” has two more. Blind until "
            f"{OPENED.date}; but “mended” of the first three is cross-validated.",
            "From aiconfigurator; DeepSeek-R1 from InferenceX. What clients of the "
            "first sent is unpublished: TTFT says little.",
        ),
    )


def _rows(
    shapes: Mapping[str, ModelShape],
    of: Callable[[str, Kind, str], Mapping[str, Any]],
    sorts: tuple[str, str],
) -> Iterator[tuple[str, ...]]:
    """Lines of one trial, by model and of all: the first predictor, and the mended."""
    first, other = sorts
    for name in (*shapes, EACH):
        kinds: tuple[Kind, ...] = ("tpot", "ttft")
        yield (
            "all three" if name == EACH else shapes[name].name,
            f"{of(first, 'tpot', name)['n']}",
            *(_said(of(first, kind, name)) for kind in kinds),
            _said(of(other, "tpot", name)),
        )


def _said(found: Mapping[str, Any]) -> str:
    return f"{per_cent(found['mean'])} ({signed(found['bias'], 0)})"
