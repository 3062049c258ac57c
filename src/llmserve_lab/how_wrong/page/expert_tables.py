"""Table of the blind trials of mixtures of experts, and what was learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import mean
from typing import Any

from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.table import Table
from llmserve_lab.validation import fifth_trial
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import GOAL, SHAPES
from llmserve_lab.validation.fourth_rows import UNSEEN_SHAPES
from llmserve_lab.validation.fourth_trial import UNSEEN, fourth_record
from llmserve_lab.validation.kernel_fit import EACH
from llmserve_lab.validation.latent_rows import LATENT_SHAPES
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.served import PART
from llmserve_lab.validation.served_sources import PROVIDER
from llmserve_lab.validation.third_rows import NEW_SHAPES
from llmserve_lab.validation.third_trial import KNOWN, NEW

__all__ = [
    "GOAL", "KNOWN", "NEW", "SHAPES", "experts", "fifth", "fourth", "held",
    "new_to_both", "score", "served", "span", "third", "tried", "without_oldest",
]  # fmt: skip
FIRST, SECOND, THIRD = "experts", "second trial", "third trial"
FOURTH, FIFTH = "fourth trial", "fifth trial"
OLDEST = "Qwen/Qwen2-57B-A14B"  # the fifth trial's run of a vLLM of May 2024


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


def fourth(sort: str, name: str = UNSEEN) -> Mapping[str, Any]:
    """A score of TPOT in the fourth trial: of a model, or a sort of models.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = fourth_record()[FOURTH][sort][name]["tpot"]
    return found


def fifth(sort: str, name: str = fifth_trial.UNSEEN) -> Mapping[str, Any]:
    """A score of TPOT in the fifth trial: of a model, or a sort of models.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = fifth_trial.fifth_record()[FIFTH][sort][name]["tpot"]
    return found


def without_oldest() -> tuple[float, float]:
    """Error of the fifth trial's one run of an old vLLM; mean error of the others.

    Both are of new models.
    """
    new, old = fifth("mended"), fifth("mended", OLDEST)
    others = (new["n"] * new["mean"] - old["mean"]) / (new["n"] - 1)
    return float(old["bias"]), others


def span() -> tuple[float, float]:
    """The least and the largest mean error that was made blind of new models."""
    means = [
        each["mean"]
        for each in (
            score("blind", "tpot"),
            tried("mended", "tpot"),
            third("mended"),
            fourth("mended"),
            fifth("mended"),
        )
    ]
    return min(means), max(means)


def served(name: str = EACH) -> Mapping[str, Any]:
    """TPOT's score of served mixtures, each model left out.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = record()[PART]["model left out"][name]["tpot"]
    return found


def new_to_both() -> float:
    """TPOT's mean error with a model and its source left out, each of these alike."""
    found = record()[PART]["model and source left out"]
    return float(mean(each["mean"] for each in found.values()))


def held(kind: Kind) -> tuple[int, float]:
    """Runs of the fourth trial's source, and the share inside bands made without it."""
    runs, share = record()["mixtures"]["held"]["source"][kind][PROVIDER]
    return int(runs), float(share)


def experts() -> Table:
    """Errors of TPOT by trial: of dense constants, and of the form that was tried."""
    return Table(
        "Mean error (and bias) of TPOT, five blind trials of mixtures of experts",
        ("trial", "runs", "dense constants", "that trial’s form"),
        [*_rows()],
        notes=(
            "From aiconfigurator; InferenceX (DeepSeek-R1); SGLang’s cookbook (the "
            "third’s last three; its Kimi-K2.6 has K2.5’s figures); cloudrift-ai/"
            "deplodock (the fourth); it, Massed Compute, Qwen (the fifth).",
        ),
    )


def _rows() -> Iterator[tuple[str, ...]]:
    """Lines by trial: of new models, and of the last three also of known ones."""
    yield _line(f"first: {_names(SHAPES)}", score("blind", "tpot"), None)
    named = f"second: {_names(LATENT_SHAPES)}"
    yield _line(named, tried("dense", "tpot"), tried("mended", "tpot"))
    of = {
        "third": (third, NEW_SHAPES),
        "fourth": (fourth, UNSEEN_SHAPES),
        "fifth": (fifth, fifth_trial.NEW_SHAPES),
    }
    for trial, (found, models) in of.items():
        for name, said in ((NEW, _names(models)), (KNOWN, KNOWN)):
            both = found("dense", name), found("mended", name)
            yield _line(f"{trial}: {said}", *both)


def _names(models: Iterable[str]) -> str:
    """Short names of models, in a list."""
    earlier = {**SHAPES, **LATENT_SHAPES, **NEW_SHAPES, **UNSEEN_SHAPES}
    known = {**earlier, **fifth_trial.NEW_SHAPES}
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
