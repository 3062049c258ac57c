"""Write the chapter's record anew: ``python -m llmserve_lab.how_wrong``.

Errors of every row with each label left out, the constants of each fold, the ladder's
switches, what each line of the benchmark's script is worth, and bands whose power was
chosen without a name. About four minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from llmserve_lab.afd.experiments.random_settings import rule_errors
from llmserve_lab.how_wrong.record import (
    ALL_SEEN,
    FOLDS,
    PLACES,
    RECORD,
    SERVER,
    SHEET,
    SWITCHES,
    switched,
)
from llmserve_lab.how_wrong.script import LINES, retold, with_all_slots
from llmserve_lab.validation import DATASHEET, Predictor, Times, achieved, dense_rows
from llmserve_lab.validation.bands import stretch
from llmserve_lab.validation.coverage import Trials, nested, trials
from llmserve_lab.validation.fit import FREE, fit
from llmserve_lab.validation.prediction import KINDS, errors
from llmserve_lab.validation.rows import SHA256
from llmserve_lab.validation.scores import left_out, score

AFD_NUMBERS, AFD_REQUESTS = range(24), 4000  # settings, and requests of each run


def main() -> None:
    """Write the record."""
    RECORD.write_text(written() + "\n", "utf8")


def written() -> str:
    """The record as JSON, a line for each part."""
    rows = Predictor(dense_rows())
    folds, times = _folded(rows)
    times[SERVER] = left_out(rows, SERVER)
    times[ALL_SEEN] = rows.predict(achieved())
    times[SHEET] = rows.predict(DATASHEET)
    found = trials(rows)
    parts: dict[str, Any] = {
        "rows_sha256": SHA256["dense_rows.csv"],
        "folds": folds,
        "errors": {
            by: {kind: _whole(rows, found, kind) for kind in KINDS}
            for by, found in times.items()
        },
        "switches": _switches(rows),
        "script": _script(rows),
        "slots": _slots(rows),
        "together": _together(rows, found),
        "nested": _nested(rows, found),
        "afd": _afd(),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in parts.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _whole(rows: Predictor, times: Times, kind: Any) -> list[int]:
    """Signed errors in ten-thousandths."""
    found = errors(times, rows.measured, kind) / PLACES
    return [int(each) for each in np.rint(found)]


def _folded(rows: Predictor) -> tuple[dict[str, Any], dict[str, Times]]:
    """Each name left out in turn: its constants, and the times of its rows."""
    folds, times = dict[str, Any](), dict[str, Times]()
    for by in FOLDS:
        label = rows.label(by)
        found = {kind: np.empty(len(label)) for kind in KINDS}
        folds[by] = {}
        for name in np.unique(label):
            tested = label == name
            reached = fit(rows.subset(~tested))
            own = rows.subset(tested).predict(reached)
            for kind in KINDS:
                found[kind][tested] = getattr(own, kind)
            values = {each: float(f"{getattr(reached, each):.5g}") for each in FREE}
            folds[by][str(name)] = values
        times[by] = Times(**found)
    return folds, times


def _switches(rows: Predictor) -> dict[str, list[float]]:
    """TPOT and TTFT, for every setting of the switches; see :func:`_with_ends`."""
    found = {}
    for on in product((0, 1), repeat=len(SWITCHES)):
        times = rows.predict(switched(achieved(), on))
        found["".join(map(str, on))] = _with_ends(rows, times)
    return found


def _with_ends(rows: Predictor, times: Times) -> list[float]:
    """Mean errors of TPOT and TTFT, then low and high ends of each one's interval."""
    both = score(rows, times, "tpot"), score(rows, times, "ttft")
    numbers = [each.mean for each in both]
    numbers += [end for each in both for end in each.interval or ()]
    return [float(f"{each:.5g}") for each in numbers]


def _script(rows: Predictor) -> dict[str, list[float]]:
    """TPOT and TTFT of the rows with a public protocol, one line of it forgotten."""
    public = rows.subset(rows.public)
    told = {"as it was run": public}
    told |= {line: retold(public, line) for line in LINES}
    found = {}
    for line, predictor in told.items():
        found[line] = _with_ends(predictor, predictor.predict(achieved()))
    return found


def _slots(rows: Predictor) -> dict[str, list[float]]:
    """Mean size and bias of TTFT's error on Llama-3.1-8B, by its number of slots."""
    own = rows.subset(rows.label("model") == "llama-3-8b")
    protocols = [with_all_slots(row) for row in own.rows]
    told = {"one fewer": own, "all": Predictor(own.rows, protocols=protocols)}
    found = {}
    for slots, predictor in told.items():
        error = errors(predictor.predict(achieved()), predictor.measured, "ttft")
        found[slots] = [float(f"{np.mean(each):.5g}") for each in (abs(error), error)]
    return found


def _nested(rows: Predictor, found: Trials) -> dict[str, Any]:
    """The power of a band chosen without a name, and the share of it that it holds."""
    return {
        by: {
            name: {
                kind: [power, float(f"{held:.5g}")]
                for kind, (power, held) in kinds.items()
            }
            for name, kinds in names.items()
        }
        for by, names in nested(rows, found).items()
    }


def _together(rows: Predictor, found: Trials) -> dict[str, Any]:
    """Bands of TPOT and TTFT held together."""
    return {
        "both": {
            by: {
                name: [len(both), float(f"{both.mean():.5g}"), float(f"{kept:.5g}")]
                for name, both, kept in _held(rows, found[by], by)
            }
            for by in ("engine", "system")
        },
    }


def _held(rows: Predictor, found: Any, by: str) -> Iterator[tuple[str, Any, float]]:
    """Of each name: which rows lie in both bands, what share keeps both promises."""
    for name, first in found["ttft"].items():
        public = rows.public[rows.label(by) == name]
        signed = (
            found["tpot"][name].needed(signed=True)[public] / stretch("tpot"),
            first.needed(signed=True) / stretch("ttft"),
        )
        inside = (np.abs(signed[0]) <= 1) & (np.abs(signed[1]) <= 1)
        kept = (signed[0] >= -1) & (signed[1] >= -1)
        yield name, inside, float(kept.mean())


def _afd() -> dict[str, Any]:
    """Errors of two rules of Attention–FFN disaggregation, bundles drawn at random."""
    found = rule_errors(numbers=AFD_NUMBERS, n_requests=AFD_REQUESTS)
    rules = {
        each.name: {name: float(f"{size:.5g}") for name, size in each.sizes.items()}
        | {
            "best off by": each.best_off_by,
            "median, low": float(f"{each.median.low:.5g}"),
            "median, high": float(f"{each.median.high:.5g}"),
        }
        for each in found.rules
    }
    return {"drawn": found.drawn, "rules": rules}


if __name__ == "__main__":
    main()
