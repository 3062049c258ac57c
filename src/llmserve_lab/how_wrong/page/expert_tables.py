"""Table of the blind trials of mixtures of experts, and what was learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import GOAL, OPENED, SHAPES
from llmserve_lab.validation.kernel_fit import EACH
from llmserve_lab.validation.kernel_form import KernelConstants, kernels_of
from llmserve_lab.validation.latent_rows import LATENT_SHAPES
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.served import PART, served_constants
from llmserve_lab.validation.third_rows import NEW_SHAPES, third_runs
from llmserve_lab.validation.third_trial import KNOWN, NEW

__all__ = [
    "GOAL", "KNOWN", "NEW", "SHAPES", "blind", "constants", "crossed",
    "experts", "kernel_s", "kernels", "latest", "score", "served",
    "third", "tried",
]  # fmt: skip
FIRST, SECOND, THIRD = "experts", "second trial", "third trial"


def score(sort: str, kind: Kind, model: str = EACH) -> Mapping[str, Any]:
    """A score of the first trial's runs: ``"blind"`` or ``"model left out"``.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()[FIRST][sort][model][kind]
    return found


def tried(sort: str, kind: Kind, model: str = EACH) -> Mapping[str, Any]:
    """A score of the second trial: of the ``"mended"`` or the ``"dense"`` predictor.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()[SECOND][sort][model][kind]
    return found


def third(sort: str, name: str = NEW) -> Mapping[str, Any]:
    """A score of TPOT in the third trial: of a model, a sort of models or a source.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()[THIRD][sort][name]["tpot"]
    return found


def crossed(name: str = EACH) -> Mapping[str, Any]:
    """TPOT's score of the last form on the first two trials, each model left out.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()["kernels"]["model left out"][name]
    return found


def constants() -> dict[str, KernelConstants]:
    """The two constants of the last form, by what was left out of their fit."""
    sets = record()["kernels"]["constants"]
    return {name: KernelConstants(**each) for name, each in sets.items()}


def kernel_s() -> float:
    """Seconds of a kernel, fitted to all runs of the three trials."""
    return served_constants().kernel_s


def served(name: str = EACH) -> Mapping[str, Any]:
    """TPOT's score of served mixtures, each model left out.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()[PART]["model left out"][name]["tpot"]
    return found


def kernels() -> tuple[float, float]:
    """The fewest and the most kernels of a layer, of all blind runs."""
    found = [kernels_of(row) for row in blind_rows()]
    return min(found), max(found)


def blind() -> tuple[str, str]:
    """Dense constants' mean error of TPOT in the first trial, and bias, as printed."""
    return _printed(score("blind", "tpot"))


def latest() -> tuple[str, str]:
    """The last form's, of the third trial's new models, in which it was blind."""
    return _printed(third("mended"))


def _printed(found: Mapping[str, Any]) -> tuple[str, str]:
    """A mean error with the ends of its interval, and a bias."""
    ends = found["low"], found["high"]
    return with_ends(found["mean"], ends), signed(found["bias"], 1)


def experts() -> Table:
    """Errors of TPOT by trial: of dense constants, of what was tried, of the last."""
    return Table(
        "Mean error (and bias) of TPOT, three blind trials of mixtures of experts",
        ("trial", "runs", "dense constants", "tried", "last"),
        [*_rows()],
        notes=(
            f"Tried: that trial’s form, blind until {OPENED.date}. Last: the third’s, "
            "cross-validated on the first two.",
            "From aiconfigurator; InferenceX (DeepSeek-R1); SGLang’s cookbook (the "
            "last three, some known; its Kimi-K2.6 has K2.5’s figures).",
        ),
    )


def _rows() -> Iterator[tuple[str, ...]]:
    """Lines by trial; of the third also its parts."""
    first, other = score("blind", "tpot"), tried("mended", "tpot")
    yield _line(f"first: {_names(SHAPES)}", first, None, crossed("first"))
    named = f"second: {_names(LATENT_SHAPES)}"
    yield _line(named, tried("dense", "tpot"), other, crossed("second"))
    new, *rest = NEW_SHAPES
    parts = {
        NEW: "third: four new models",
        new: f"— {_names((new,))}",
        "others": f"— {_names(rest)}",
        KNOWN: "third: known models",
    }
    for name, said in parts.items():
        both = [
            pooled(sort, rest) if name == "others" else third(sort, name)
            for sort in ("dense", "mended")
        ]
        yield _line(said, *both, None)


def pooled(sort: str, models: Iterable[str]) -> Mapping[str, Any]:
    """A score of the third trial's runs of some models together."""
    has = record()[THIRD]
    error = has["mended errors"] if sort == "mended" else has["errors"]["tpot"]
    chosen = {*models}
    own = np.array([row.model in chosen for row in third_runs()])
    mine = np.array(error)[own]
    return {"n": len(mine), "mean": np.abs(mine).mean(), "bias": mine.mean()}


def _names(models: Iterable[str]) -> str:
    """Short names of models, in a list."""
    known = {**SHAPES, **LATENT_SHAPES, **NEW_SHAPES}
    return ", ".join(known[name].name for name in models)


def _line(
    name: str, first: Mapping[str, Any], *others: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """A line of the table; a score that is that of the column before is not given."""
    return name, f"{first['n']}", *map(_said, (first, *others))


def _said(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "the same"
    return f"{per_cent(found['mean'])} ({signed(found['bias'], 0)})"
