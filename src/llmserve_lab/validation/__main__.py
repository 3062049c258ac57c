"""Write the record anew: ``python -m llmserve_lab.validation [--check]``.

Fits all sets of constants, scores each row with what resembles it left out, and writes
``data/record.json``; with ``--check``, compares with it instead. A quarter of an hour.
A fit stops in the fifth digit at another place on another machine: so much may
differ.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from llmserve_lab.validation import kernel_fit, second_trial, served, third_trial
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.coverage import coverage
from llmserve_lab.validation.expert_form import MendedPredictor
from llmserve_lab.validation.expert_scores import recorded
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.fit import FREE, START, WITH_EXPONENT, fit
from llmserve_lab.validation.mixtures import covered
from llmserve_lab.validation.prediction import KINDS, Predictor, errors
from llmserve_lab.validation.rows import SHA256, dense_rows, every
from llmserve_lab.validation.scores import (
    LEFT_OUT,
    ErrorScore,
    left_out,
    per_engine,
    permuted,
    scaled,
    score,
    scores,
)
from llmserve_lab.validation.terms import ladder

RECORD = Path(__file__).parent / "data" / "record.json"
SAMPLE = 16  # every sixteenth row
PERMUTATIONS = 20
# That a number of the record may differ by; an error near zero by so much of a share.
RELATIVE, ABSOLUTE = 1e-3, 1e-5


def main() -> None:
    """Write the record, or compare with it."""
    found = written()
    if "--check" not in sys.argv[1:]:
        RECORD.write_text(found + "\n", "utf8")
    elif places := [*apart(json.loads(found), json.loads(RECORD.read_text("utf8")))]:
        sys.exit(f"{RECORD.name} is not what the fit gives now: {', '.join(places)}")


def apart(now: Any, recorded: Any, at: str = "") -> Iterator[str]:
    """Where two records differ by more than the last digits of a fit, as paths."""
    if isinstance(now, dict) and isinstance(recorded, dict):
        yield from (f"{at}/{name}" for name in now.keys() ^ recorded.keys())
        for name in now.keys() & recorded.keys():
            yield from apart(now[name], recorded[name], f"{at}/{name}")
    elif isinstance(now, list) and isinstance(recorded, list):
        if len(now) != len(recorded):
            yield at
        for place, pair in enumerate(zip(now, recorded, strict=False)):
            yield from apart(*pair, f"{at}/{place}")
    elif isinstance(now, float) and isinstance(recorded, float):
        least = 0.0 if "/constants" in at else ABSOLUTE
        if not math.isclose(now, recorded, rel_tol=RELATIVE, abs_tol=least):
            yield at
    elif now != recorded:
        yield at


def written() -> str:
    """The record as JSON, its numbers to five digits, a line for each list."""
    rows = Predictor(dense_rows())
    sample = Predictor(every(dense_rows(), SAMPLE))
    reached = fit(rows)
    parts: dict[str, Any] = {
        "status": "seen: the form of the model was chosen with all rows in view",
        "rows_sha256": SHA256["dense_rows.csv"],
        "constants": {
            "all": _numbers(reached, FREE),
            "sample": _numbers(fit(sample), FREE),
            **_sets(rows.subset(rows.public)),
        },
        **_scored(rows, reached),
        "experts": recorded(
            MendedPredictor(stored_runs()), permutations=PERMUTATIONS, nth=SAMPLE
        ),
        "second trial": second_trial.recorded(),
        "kernels": kernel_fit.recorded(),
        "third trial": third_trial.recorded(),
        served.PART: served.recorded(),
        "mixtures": covered(served.all_runs()),
    }
    return as_text(parts)


def as_text(parts: Mapping[str, Any]) -> str:
    """Parts of a record as JSON, a line for each."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(_short(part), ensure_ascii=False)}"
        for name, part in parts.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def _scored(rows: Predictor, reached: ServingConstants) -> dict[str, Any]:
    public = rows.subset(rows.public)
    times = {by: left_out(rows, by) for by in LEFT_OUT}
    table = {by: scores(rows, each) for by, each in times.items()}
    table["in sample"] = scores(rows, rows.predict(reached))
    table["one set per engine and generation"] = scores(public, per_engine(public))
    plain = {
        by: {kind: each.plain() for kind, each in found.items()}
        for by, found in table.items()
    }
    by_model = {
        kind: errors(times["model"], rows.measured, kind).tolist() for kind in KINDS
    }
    return {
        "scores": plain,
        "ladder": [
            (name, tpot.mean, ttft.mean, *_ends(tpot), *_ends(ttft))
            for name, tpot, ttft in ladder(rows, reached)
        ],
        "forms": _forms(rows),
        "yardstick": _yardstick(rows),
        "coverage": coverage(rows),
        "permuted": permuted(rows, times=PERMUTATIONS).tolist(),
        "errors": by_model,
    }


def _yardstick(rows: Predictor) -> dict[str, dict[str, float]]:
    """Scores of the datasheet times one fitted factor for each kind of time."""
    found = scores(rows, scaled(rows, "model"))
    return {kind: each.plain() for kind, each in found.items()}


def _ends(found: ErrorScore) -> list[float]:
    return list(found.interval or ())


# What else the form could have been: free constants, and numbers set otherwise.
FORMS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "as chosen": (FREE, {}),
    "exponent fitted": (WITH_EXPONENT, {}),
    "nothing hidden": (FREE, {"overlap": 0.0}),
    "the shorter bill hidden": (FREE, {"overlap": 1.0}),
    "no launches": (FREE, {"prompt_layers": 1.0}),
    "six constants alone": (WITH_EXPONENT, {"overlap": 1.0, "prompt_layers": 1.0}),
}


def _forms(rows: Predictor) -> dict[str, dict[str, Any]]:
    """TPOT and TTFT with other forms, the model or the engine left out.

    The mean error of each, and under ``"intervals"`` the ends of its interval.
    """
    found = {}
    for name, (free, values) in FORMS.items():
        start = replace(START, **values)
        times = {
            by: left_out(rows, by, free=free, start=start) for by in ("model", "engine")
        }
        made = {
            f"{kind}, {by}": score(rows, each, kind)
            for by, each in times.items()
            for kind in KINDS
            if kind != "e2e"
        }
        means: dict[str, Any] = {key: each.mean for key, each in made.items()}
        ends = {key: _ends(each) for key, each in made.items()}
        found[name] = means | {"intervals": ends}
    return found


def _sets(public: Predictor) -> dict[str, dict[str, float]]:
    label = np.char.add(public.label("engine"), public.label("generation"))
    sets = {}
    for name in np.unique(label):
        own = public.subset(label == name)
        title = f"{own.rows[0].engine}, {own.rows[0].generation}"
        sets[title] = _numbers(fit(own, free=WITH_EXPONENT), WITH_EXPONENT)
    return sets


def _numbers(reached: ServingConstants, names: tuple[str, ...]) -> dict[str, float]:
    return {name: getattr(reached, name) for name in names}


def _short(part: Any) -> Any:
    """Numbers to five digits, at every depth."""
    if isinstance(part, float):
        return float(f"{part:.5g}")
    if isinstance(part, dict):
        return {name: _short(each) for name, each in part.items()}
    if isinstance(part, list | tuple):
        return [_short(each) for each in part]
    return part


if __name__ == "__main__":
    main()
